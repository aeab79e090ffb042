"""Iceberg's FileIO upon PyArrow, imported with the first file: a look at a table's metadata opens none.

PyArrow, with the NumPy that it takes, is a second of CPU: a third of `frazil tables`.
"""

from __future__ import annotations

from functools import cached_property

from pyiceberg.io import FileIO, InputFile, OutputFile


class LateFileIO(FileIO):
    """PyIceberg's own FileIO of the properties, made when a file is first asked for."""

    @cached_property
    def _files(self) -> FileIO:
        from pyiceberg.io.pyarrow import PyArrowFileIO

        return PyArrowFileIO(self.properties)

    def new_input(self, location: str) -> InputFile:
        """See `FileIO.new_input`."""
        return self._files.new_input(location)

    def new_output(self, location: str) -> OutputFile:
        """See `FileIO.new_output`."""
        return self._files.new_output(location)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        """See `FileIO.delete`."""
        self._files.delete(location)
