"""Deletion vectors of format version 3: which rows of a data file are gone.

Sources: https://iceberg.apache.org/puffin-spec/#deletion-vector-v1-blob-type and
https://github.com/RoaringBitmap/RoaringFormatSpec. Read here by hand, for the engine reads by PyIceberg.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from frazil_verify.findings import UnverifiableError
from frazil_verify.table.metadata import DataFile

_MAGIC = b"\xd1\xd3\x39\x64"
_WITH_RUNS, _WITHOUT_RUNS = 12347, 12346
_MOST_IN_ARRAY = 4096
_MOST_WITHOUT_PLACES = 4  # containers, where there are runs

Numbers = npt.NDArray[np.int64]


def vector(source: pa.NativeFile, file: DataFile) -> list[int]:
    """The positions that a deletion vector takes away.

    Raises:
        UnverifiableError: Its bytes are not those that were written, or not as many positions as it claims.
    """
    source.seek(file.at)
    rows = positions(bytes(source.read(file.size)), file.path)
    if len(rows) != file.rows:
        raise UnverifiableError(f"{file.path} deletes {len(rows)} rows, and its manifest says {file.rows}")
    return rows


def positions(blob: bytes, name: str) -> list[int]:
    """The positions of a blob: its length, magic, a bitmap for each 2^32 of them, and a check sum."""
    body, check = blob[4:-4], blob[-4:]
    if int.from_bytes(blob[:4], "big") != len(body) or body[:4] != _MAGIC:
        raise UnverifiableError(f"{name} has no deletion vector where the manifest says")
    if zlib.crc32(body) != int.from_bytes(check, "big"):
        raise UnverifiableError(f"{name} has another check sum than its deletion vector")
    return [int(at) for part in _bitmaps(_Bytes(body[4:])) for at in part]


class _Bytes:
    """Bytes that are read from the front."""

    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0

    def numbers(self, kind: str, count: int) -> Numbers:
        """The next numbers of a type of NumPy's."""
        numbers = np.frombuffer(self._content, kind, count, self._at)
        self._at += numbers.nbytes
        return numbers.astype(np.int64)

    def number(self, kind: str) -> int:
        """The next number."""
        return int(self.numbers(kind, 1)[0])


def _bitmaps(source: _Bytes) -> Iterator[Numbers]:
    for _ in range(source.number("<u8")):
        high = source.number("<u4") << 32
        yield from (high + part for part in _containers(source))


def _containers(source: _Bytes) -> Iterator[Numbers]:
    cookie = source.number("<u4")
    has_runs = cookie & 0xFFFF == _WITH_RUNS
    if not has_runs and cookie != _WITHOUT_RUNS:
        raise UnverifiableError(f"a deletion vector begins with {cookie}")
    count = (cookie >> 16) + 1 if has_runs else source.number("<u4")
    flags = source.numbers("u1", -(-count // 8)) if has_runs else np.zeros(-(-count // 8), np.int64)
    heads = source.numbers("<u2", count * 2).reshape(-1, 2)
    if not has_runs or count >= _MOST_WITHOUT_PLACES:
        source.numbers("<u4", count)  # where each container begins; they follow each other
    for at, (key, size) in enumerate(heads):
        is_run = bool(flags[at // 8] >> (at % 8) & 1)
        yield (int(key) << 16) + (_runs(source) if is_run else _plain(source, int(size) + 1))


def _runs(source: _Bytes) -> Numbers:
    pairs = source.numbers("<u2", source.number("<u2") * 2).reshape(-1, 2)
    return np.concatenate([np.arange(start, start + more + 1) for start, more in pairs])


def _plain(source: _Bytes, size: int) -> Numbers:
    if size <= _MOST_IN_ARRAY:
        return source.numbers("<u2", size)
    bits = source.numbers("u1", 8192).astype(np.uint8)
    return np.flatnonzero(np.unpackbits(bits, bitorder="little"))
