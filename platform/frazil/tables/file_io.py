"""Iceberg's FileIO upon PyArrow, imported with the first file: a look at a table's metadata opens none.

PyArrow, with the NumPy that it takes, is a second of CPU: a third of `frazil tables`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pyiceberg.catalog import BOTOCORE_SESSION
from pyiceberg.io import (
    S3_ACCESS_KEY_ID,
    S3_SECRET_ACCESS_KEY,
    S3_SESSION_TOKEN,
    FileIO,
    InputFile,
    OutputFile,
)

from frazil.settings.identity import keys_of_now

if TYPE_CHECKING:
    from botocore.credentials import ReadOnlyCredentials
    from pyiceberg.io.pyarrow import PyArrowFileIO


class LateFileIO(FileIO):
    """PyIceberg's own FileIO, made when a file is first asked for.

    S3 is opened by the keys that the session has now, for those of a role end. Keys that a catalog hands
    out with a table come before them.
    """

    def __init__(self, properties: dict[str, Any]) -> None:
        super().__init__(properties)
        self._opened_by = lru_cache(maxsize=2)(self._opened)

    def files(self, location: str) -> PyArrowFileIO:
        """PyIceberg's own, for a file or folder."""
        session = self.properties.get(BOTOCORE_SESSION)
        by_session = session and location.startswith("s3") and S3_ACCESS_KEY_ID not in self.properties
        return self._opened_by(keys_of_now(session) if by_session else None)

    def _opened(self, keys: ReadOnlyCredentials | None) -> PyArrowFileIO:
        from pyiceberg.io.pyarrow import PyArrowFileIO

        if keys is None:
            return PyArrowFileIO(self.properties)
        told = {S3_ACCESS_KEY_ID: keys.access_key, S3_SECRET_ACCESS_KEY: keys.secret_key}
        if keys.token:
            told[S3_SESSION_TOKEN] = keys.token
        return PyArrowFileIO({**self.properties, **told})

    def new_input(self, location: str) -> InputFile:
        """See `FileIO.new_input`."""
        return self.files(location).new_input(location)

    def new_output(self, location: str) -> OutputFile:
        """See `FileIO.new_output`."""
        return self.files(location).new_output(location)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        """See `FileIO.delete`."""
        self.files(location if isinstance(location, str) else location.location).delete(location)


def opened_files(io: FileIO, location: str) -> PyArrowFileIO:
    """A table's files as PyArrow's file systems, which list folders, too."""
    from pyiceberg.io.pyarrow import PyArrowFileIO

    return io.files(location) if isinstance(io, LateFileIO) else PyArrowFileIO(io.properties)
