"""Metadata that a process has read or written: manifests, their lists, and the heads of tables.

Iceberg never changes such a file, so what is kept can't be stale: https://iceberg.apache.org/spec/#file-system-operations
A landing reads the list of its table's manifests five times. A request for one takes 5 ms of the store's CPU.
To parse the head of a table with a thousand snapshots takes 55 ms.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from io import BytesIO
from threading import Lock
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from pyiceberg.io import InputFile, InputStream, OutputFile, OutputStream

from frazil.tables.catalogs.requests import REQUESTED, Requests

if TYPE_CHECKING:
    from pyiceberg.table import Table

MOST_BYTES = 32 * 2**20
LARGEST = 2**20
"""A longer file is not kept: there are few of them, and each would drive out many."""

MOST_SNAPSHOTS = 8_000
"""Of all heads that are kept; one takes 8 kB of memory."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Kept(Generic[K, V]):
    """The latest used of what has a size; safe for threads.

    Args:
        size: Of one of them.
        most: Size of all of them together.
        largest: What is larger is not kept.
    """

    def __init__(self, size: Callable[[V], int], most: int, largest: int) -> None:
        self._size_of, self._most, self._largest = size, most, largest
        self._size = 0
        self._all: OrderedDict[K, V] = OrderedDict()
        self._lock = Lock()

    def get(self, name: K) -> V | None:
        """What is kept by a name."""
        with self._lock:
            if name in self._all:
                self._all.move_to_end(name)
            return self._all.get(name)

    def keep(self, name: K, value: V) -> None:
        """Keeps it in the place of what had the name, and lets others go for it."""
        self.forget(name)
        if self._size_of(value) > self._largest:
            return
        with self._lock:
            self._put(name, value)
            while self._size > self._most:
                self._take(next(iter(self._all)))

    def forget(self, name: K) -> None:
        """Lets it go: it is removed."""
        with self._lock:
            self._take(name)

    def _put(self, name: K, value: V) -> None:
        self._take(name)  # another thread was quicker
        self._all[name] = value
        self._size += self._size_of(value)

    def _take(self, name: K) -> None:
        if name in self._all:
            self._size -= self._size_of(self._all.pop(name))


KeptFiles: TypeAlias = "Kept[str, bytes]"
KeptHeads: TypeAlias = "Kept[tuple[str, ...], Table]"


def kept_files(most: int = MOST_BYTES) -> KeptFiles:
    """Manifests and their lists, of all tables, by their places."""
    return Kept(len, most, LARGEST)


def kept_heads(most: int = MOST_SNAPSHOTS) -> KeptHeads:
    """The heads that were seen last, by the names of their tables. Who takes one asks whether it still is."""
    return Kept(lambda table: 1 + len(table.metadata.snapshots), most, most)


def is_kept(location: str) -> bool:
    """Whether a file is a manifest or a list of them, by its name."""
    return location.endswith(".avro") and "/metadata/" in location


class KeptInput(InputFile):
    """A file that is read from the store by the first who opens it.

    Args:
        opened: Makes PyIceberg's own, which opens the store.
    """

    def __init__(self, location: str, opened: Callable[[str], InputFile], kept: KeptFiles) -> None:
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

    def __init__(self, own: OutputFile, kept: KeptFiles) -> None:
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
    def __init__(self, own: OutputStream, location: str, kept: KeptFiles) -> None:
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
