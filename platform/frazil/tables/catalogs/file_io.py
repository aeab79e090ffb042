"""Iceberg's FileIO on PyArrow, imported with the first file: a look at a table's metadata opens no file.

PyArrow, with the NumPy that it takes, is a second of CPU: a third of `frazil tables`.
"""

from __future__ import annotations

import atexit
import os
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache, partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from threading import Lock
from typing import TYPE_CHECKING, Any

from pyiceberg.catalog import BOTOCORE_SESSION
from pyiceberg.io import (
    S3_ACCESS_KEY_ID,
    S3_SECRET_ACCESS_KEY,
    S3_SESSION_TOKEN,
    FileIO,
    InputFile,
    InputStream,
    OutputFile,
)

from frazil.settings.identity import keys_of_now
from frazil.tables.catalogs.kept_metadata import KeptInput, KeptOutput, is_kept, kept_files
from frazil.tables.catalogs.requests import DELETED, OPENED, REQUESTED, Requests

if TYPE_CHECKING:
    from botocore.credentials import ReadOnlyCredentials
    from pyarrow.fs import FileSystem
    from pyiceberg.io.pyarrow import PyArrowFileIO

_OF_FILES = ("s3.", "client.", "adls.", "gcs.", "hdfs.", "buffer-size", "DEFAULT_SCHEME", "DEFAULT_NETLOC")
"""How the properties begin that PyArrow's file systems go by; the others change with each commit."""

S3_SCHEMES = ("s3", "s3a", "s3n")
"""How addresses of S3 begin."""

SERVER_SIDE = {"s3": "AES256", "kms": "aws:kms", "dsse-kms": "aws:kms:dsse"}
"""How S3 encrypts what is written: its own words, by the values of Iceberg's `s3.sse.type`. Of `custom` each
reader would have to know the key."""

S3_CA = "s3.ca-pem"
"""The certificate of S3's authority, as text: Spark's workers have no file of it. PyIceberg ignores it."""

_KEPT = 16
"""Ways to reach files that stay open, such as storage of one's own, and keys that a catalog hands out."""


class _OpenFiles:
    """Files that are opened alike are opened once, for all tables.

    Each of PyIceberg's own has up to 25 connections, which go when Python next looks for garbage: it refers
    to itself. Opened for each table that is loaded, they were 2,000 open descriptors within a minute.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._open: OrderedDict[frozenset[tuple[str, Any]], PyArrowFileIO] = OrderedDict()

    def by(self, properties: Mapping[str, Any]) -> PyArrowFileIO:
        """PyIceberg's own, that these properties open."""
        settings = {name: value for name, value in properties.items() if name.startswith(_OF_FILES)}
        key = frozenset(settings.items())
        with self._lock:
            files_open = self._open.get(key)
            if files_open is None:
                _keep_null_containers()
                files_open = self._open[key] = self._opened(settings)
            self._open.move_to_end(key)
            if len(self._open) > _KEPT:
                self._close(self._open.popitem(last=False)[1])
        return files_open

    @staticmethod
    def _opened(properties: Mapping[str, Any]) -> PyArrowFileIO:
        from pyiceberg.io.pyarrow import PyArrowFileIO

        files = PyArrowFileIO(dict(properties))
        files.fs_by_scheme = lru_cache(partial(_putting, files.fs_by_scheme, properties))
        if properties.get("s3.sse.type") in SERVER_SIDE:
            files.fs_by_scheme = lru_cache(partial(_encrypting, files.fs_by_scheme, properties))
        return files

    @staticmethod
    def _close(files: PyArrowFileIO) -> None:
        """Its connections go with the last file that is read by them; a later use opens others."""
        files.fs_by_scheme.cache_clear()  # type: ignore[attr-defined]


def _putting(
    opened: Callable[[str, str | None], FileSystem],
    properties: Mapping[str, Any],
    scheme: str,
    of: str | None = None,
) -> FileSystem:
    """The file system of a scheme and a bucket; one of S3 writes a small file by one request, not by three.

    PyArrow has arguments for that, and for an authority of one's own, which PyIceberg does not hand on.
    """
    files = opened(scheme, of)
    if scheme not in S3_SCHEMES:
        return files
    rebuilt, (arguments,) = files.__reduce__()
    authority = _authority_file(properties[S3_CA]) if S3_CA in properties else None
    again: FileSystem = rebuilt({**arguments, "allow_delayed_open": True, "tls_ca_file_path": authority})
    return again


@lru_cache
def _authority_file(certificate: str) -> str:
    """A file of this process alone, which PyArrow opens with each connection."""
    with NamedTemporaryFile("w", prefix="frazil-ca-", suffix=".pem", delete=False) as file:
        file.write(certificate)
    atexit.register(_remove_own, Path(file.name), os.getpid())
    return file.name


def _remove_own(file: Path, owner: int) -> None:
    """A process that was forked ends as well, and the file is not its own."""
    if os.getpid() == owner:
        file.unlink(missing_ok=True)


def _encrypting(
    opened: Callable[[str, str | None], FileSystem],
    properties: Mapping[str, Any],
    scheme: str,
    of: str | None = None,
) -> FileSystem:
    """The file system of a scheme and a bucket; one of S3 writes by the key that the properties name."""
    from frazil.tables.catalogs.object_store.encryption import encrypting

    files = opened(scheme, of)
    return encrypting(files, properties) if scheme in S3_SCHEMES else files


_open_files = _OpenFiles()
_kept = kept_files()


class CountedInput(InputFile):
    """A file whose reading is counted. One that is read in parts, by others, is counted as read at once."""

    def __init__(self, own: InputFile) -> None:
        super().__init__(own.location)
        self._own = own

    def __len__(self) -> int:
        self._count(1)
        return len(self._own)

    def exists(self) -> bool:
        """See `InputFile.exists`."""
        self._count(1)
        return self._own.exists()

    def open(self, seekable: bool = True) -> InputStream:
        """See `InputFile.open`."""
        self._count(OPENED)
        return self._own.open(seekable)

    def _count(self, reads: int) -> None:
        REQUESTED.of_file(self.location, Requests(reads=reads))


class LateFileIO(FileIO):
    """PyIceberg's own FileIO, made when a file is first asked for.

    S3 is opened by the keys that the session has now, for those of a role end. Keys that a catalog hands
    out with a table come before them.
    """

    def files(self, location: str) -> PyArrowFileIO:
        """PyIceberg's own, for a file or folder."""
        return _open_files.by(self._opened_by(location))

    def new_input(self, location: str) -> InputFile:
        """See `FileIO.new_input`."""
        if is_kept(location):
            return KeptInput(location, self._input, _kept)
        return self._input(location)

    def _input(self, location: str) -> InputFile:
        return CountedInput(self.files(location).new_input(location))

    def new_output(self, location: str) -> OutputFile:
        """See `FileIO.new_output`."""
        output = self.files(location).new_output(location)
        return KeptOutput(output, _kept) if is_kept(location) else output

    def delete(self, location: str | InputFile | OutputFile) -> None:
        """See `FileIO.delete`."""
        place = location if isinstance(location, str) else location.location
        _kept.forget(place)
        REQUESTED.of_file(place, DELETED)
        self.files(place).delete(location)

    def delete_together(self, locations: Sequence[str]) -> Sequence[str]:
        """Deletes files, a thousand of S3 by one request. Gives those that are to be deleted one by one."""
        from frazil.tables.catalogs.object_store.deletion import delete_together

        for location in locations:
            _kept.forget(location)
        return delete_together(self._opened_by(locations[0]), locations) if locations else ()

    def _opened_by(self, location: str) -> dict[str, Any]:
        session = self.properties.get(BOTOCORE_SESSION)
        by_session = session and location.startswith("s3") and S3_ACCESS_KEY_ID not in self.properties
        return {**self.properties, **(_by_keys(keys_of_now(session)) if by_session else {})}


def opened_files(io: FileIO, location: str) -> PyArrowFileIO:
    """A table's files as PyArrow's file systems, which list folders, too."""
    return io.files(location) if isinstance(io, LateFileIO) else _open_files.by(io.properties)


def _by_keys(keys: ReadOnlyCredentials) -> dict[str, str]:
    settings = {S3_ACCESS_KEY_ID: keys.access_key, S3_SECRET_ACCESS_KEY: keys.secret_key}
    return settings | ({S3_SESSION_TOKEN: keys.token} if keys.token else {})


@cache
def _keep_null_containers() -> None:
    """Lets PyIceberg's readers keep lists and maps of structs that are null: 0.12 makes empty ones of them.

    It puts such an array together anew from offsets and values, and leaves out which ones are null
    (`ArrowProjectionVisitor`).
    """
    from pyiceberg.io.pyarrow import ArrowProjectionVisitor

    for name in ("list", "map"):
        setattr(ArrowProjectionVisitor, name, _keeping_nulls(getattr(ArrowProjectionVisitor, name)))


def _keeping_nulls(method: Callable[..., Any]) -> Callable[..., Any]:
    def kept(visitor: Any, kind: Any, array: Any, *parts: Any) -> Any:
        made = method(visitor, kind, array, *parts)
        return made if made is None or made.null_count == array.null_count else _as_null_as(array, made)

    return kept


def _as_null_as(array: Any, made: Any) -> Any:
    import numpy as np
    import pyarrow as pa

    missing = array.is_null().to_numpy(zero_copy_only=False)
    return made.take(pa.array(np.arange(len(made)), mask=missing))
