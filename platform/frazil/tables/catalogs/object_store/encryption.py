"""Files that S3 encrypts with a key that the writer names: SSE-KMS.

PyArrow's client of S3 sends no such headers: files are written by object_store's, and read by PyArrow's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileSystemHandler, PyFileSystem

from frazil.tables.catalogs.object_store.access import S3Access

if TYPE_CHECKING:
    from obstore import WritableFile

_CODE = re.compile(r"<Code>(\w+)</Code>")
_STATUS = re.compile(r"status code: (\d{3})")


def encrypting(files: FileSystem, properties: Mapping[str, str]) -> FileSystem:
    """The same file system, which writes by the key that the properties name."""
    return PyFileSystem(_Encrypting(files, S3Access.by(properties)))


class _Encrypting(FileSystemHandler):  # type: ignore[misc]
    """PyArrow's own, but for files that are written."""

    def __init__(self, files: FileSystem, access: S3Access) -> None:
        self._files, self._access = files, access

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Encrypting) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(type(self))

    def get_type_name(self) -> str:
        return f"encrypted {self._files.type_name}"

    def open_output_stream(self, path: str, metadata: Mapping[str, str] | None) -> pa.PythonFile:
        """A file that is there once it is closed."""
        from obstore import open_writer

        bucket, _, key = path.partition("/")
        with _as_arrow_says(bucket, key):
            writer = open_writer(self._access.store(bucket), key)
        return pa.PythonFile(_Written(writer, bucket, key), mode="w")

    def open_append_stream(self, path: str, metadata: Mapping[str, str] | None) -> pa.NativeFile:
        raise NotImplementedError("S3 appends to no file")

    def open_input_stream(self, path: str) -> pa.NativeFile:
        return self._files.open_input_stream(path)

    def open_input_file(self, path: str) -> pa.NativeFile:
        return self._files.open_input_file(path)

    def get_file_info(self, paths: Sequence[str]) -> list[FileInfo]:
        infos: list[FileInfo] = self._files.get_file_info(paths)
        return infos

    def get_file_info_selector(self, selector: FileSelector) -> list[FileInfo]:
        infos: list[FileInfo] = self._files.get_file_info(selector)
        return infos

    def create_dir(self, path: str, recursive: bool) -> None:
        self._files.create_dir(path, recursive=recursive)

    def delete_dir(self, path: str) -> None:
        self._files.delete_dir(path)

    def delete_dir_contents(self, path: str, missing_dir_ok: bool = False) -> None:
        self._files.delete_dir_contents(path, missing_dir_ok=missing_dir_ok)

    def delete_root_dir_contents(self) -> None:
        self._files.delete_dir_contents("/", accept_root_dir=True)

    def delete_file(self, path: str) -> None:
        self._files.delete_file(path)

    def move(self, src: str, dest: str) -> None:
        raise NotImplementedError("a moved file would not be encrypted by the key")

    def copy_file(self, src: str, dest: str) -> None:
        raise NotImplementedError("a copied file would not be encrypted by the key")

    def normalize_path(self, path: str) -> str:
        normal: str = self._files.normalize_path(path)
        return normal


class _Written:
    """A file that is written, as PyArrow asks for it."""

    def __init__(self, writer: WritableFile, bucket: str, key: str) -> None:
        self._writer, self._of = writer, (bucket, key)
        self.closed = False

    def write(self, data: Any) -> int:
        with _as_arrow_says(*self._of):
            return self._writer.write(memoryview(data).cast("B"))

    def flush(self) -> None:
        """Nothing is there before the end."""

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            with _as_arrow_says(*self._of):
                self._writer.close()


@contextmanager
def _as_arrow_says(bucket: str, key: str) -> Iterator[None]:
    """Turns errors of object_store into PyArrow's, whose words tell an outage from a refusal."""
    from obstore.exceptions import BaseError

    try:
        yield
    except (BaseError, OSError) as e:
        raise OSError(f"When writing key '{key}' in bucket '{bucket}': {_in_words_of_arrow(str(e))}") from e


def _in_words_of_arrow(text: str) -> str:
    code, status = _CODE.search(text), _STATUS.search(text)
    name = f"UNKNOWN (HTTP status {status[1]})" if status else "NETWORK_CONNECTION"
    if status and status[1] == "403" and (code is None or code[1] == "AccessDenied"):
        name = "ACCESS_DENIED"
    named = f"Unable to parse ExceptionName: {code[1]} " if code else ""
    return f"AWS Error {name} during PutObject operation: {named}Message: {text:.1000}"
