"""Manifests and their lists that a process has read or written: it asks its store for each of them once.

Iceberg never changes such a file, so what is kept can't be stale: https://iceberg.apache.org/spec/#file-system-operations
A landing reads the list of its table's manifests five times. A request for one takes 5 ms of the store's CPU.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from io import BytesIO
from threading import Lock

from pyiceberg.io import InputFile, InputStream, OutputFile, OutputStream

from frazil.tables.catalogs.requests import REQUESTED, Requests

MOST_BYTES = 32 * 2**20
LARGEST = 2**20
"""A longer file is not kept: there are few of them, and each would drive out many."""


class KeptMetadata:
    """What is kept of the files of all tables, the latest used; safe for threads.

    Args:
        most: Bytes of all of them together.
    """

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most, self._size = most, 0
        self._files: OrderedDict[str, bytes] = OrderedDict()
        self._lock = Lock()

    def get(self, location: str) -> bytes | None:
        """All that is in a file; None where it is not kept."""
        with self._lock:
            if location in self._files:
                self._files.move_to_end(location)
            return self._files.get(location)

    def keep(self, location: str, content: bytes) -> None:
        """Keeps it, and lets others go for it."""
        if len(content) > LARGEST:
            return
        self.forget(location)
        with self._lock:
            self._files[location] = content
            self._size += len(content)
            while self._size > self._most:
                self._size -= len(self._files.popitem(last=False)[1])

    def forget(self, location: str) -> None:
        """Lets it go: it is removed."""
        with self._lock:
            self._size -= len(self._files.pop(location, b""))


def is_kept(location: str) -> bool:
    """Whether a file is a manifest or a list of them, by its name."""
    return location.endswith(".avro") and "/metadata/" in location


class KeptInput(InputFile):
    """A file that is read from the store by the first who opens it.

    Args:
        opened: Makes PyIceberg's own, which opens the store.
    """

    def __init__(self, location: str, opened: Callable[[str], InputFile], kept: KeptMetadata) -> None:
        super().__init__(location)
        self._opened, self._kept = opened, kept

    def __len__(self) -> int:
        return len(self._content())

    def exists(self) -> bool:
        """See `InputFile.exists`; the store is asked."""
        return self._opened(self.location).exists()

    def open(self, seekable: bool = True) -> InputStream:
        """See `InputFile.open`."""
        return BytesIO(self._content())

    def _content(self) -> bytes:
        content = self._kept.get(self.location)
        if content is None:
            with self._opened(self.location).open() as stream:
                content = stream.read()
            self._kept.keep(self.location, content)
        return content


class KeptOutput(OutputFile):
    """A file that is kept once the store has all of it."""

    def __init__(self, own: OutputFile, kept: KeptMetadata) -> None:
        super().__init__(own.location)
        self._own, self._kept = own, kept

    def __len__(self) -> int:
        content = self._kept.get(self.location)
        return len(self._own) if content is None else len(content)

    def exists(self) -> bool:
        """See `OutputFile.exists`."""
        return self._own.exists()

    def to_input_file(self) -> InputFile:
        """See `OutputFile.to_input_file`; what it reads comes from the store."""
        return self._own.to_input_file()

    def create(self, overwrite: bool = False) -> OutputStream:
        """See `OutputFile.create`."""
        return _KeptStream(self._own.create(overwrite), self.location, self._kept)


class _KeptStream:
    def __init__(self, own: OutputStream, location: str, kept: KeptMetadata) -> None:
        self._own, self._location, self._kept = own, location, kept
        self._content: BytesIO | None = BytesIO()
        self._failed = False

    def write(self, b: bytes) -> int:
        if self._content is not None and self._content.tell() + len(b) <= LARGEST:
            self._content.write(b)
        else:
            self._content = None
        return self._own.write(b)

    def tell(self) -> int:
        return self._own.tell()

    def close(self) -> None:
        size = self._own.tell()
        self._own.close()
        if not self._failed:
            REQUESTED.of_file(self._location, Requests(puts=1, bytes=size))
        if self._content is not None:
            self._kept.keep(self._location, self._content.getvalue())

    def __enter__(self) -> OutputStream:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._content, self._failed = None, True
        self.close()
