"""Deletion vectors, as another library writes their bitmaps, are read position by position."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from random import Random

import pytest
from pyroaring import BitMap

from frazil_verify.findings import UnverifiableError
from frazil_verify.table.vectors import positions


def written(*parts: tuple[int, Iterable[int]]) -> bytes:
    """The blob of bitmaps, each with the number that its positions begin with."""
    bitmaps = b""
    for high, low in parts:
        bitmap = BitMap(low)
        bitmap.run_optimize()
        bitmaps += high.to_bytes(4, "little") + bitmap.serialize()
    body = b"\xd1\xd3\x39\x64" + len(parts).to_bytes(8, "little") + bitmaps
    return len(body).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")


@pytest.mark.parametrize(
    "low",
    [
        [], [0], [5, 65_535, 65_536, 2**31 + 7, 2**32 - 1], range(10_000),
        [*range(3), *range(70_000, 90_000)],
        range(0, 200_000, 3), [at << 16 for at in range(9)], [*range(5), *(at << 16 for at in range(1, 9))],
        Random(1).sample(range(1_000_000), 20_000),
    ],
    ids=["none", "one", "far", "a run", "runs", "bits", "arrays", "both", "drawn"],
)  # fmt: skip
def test_all_positions_come_back(low: Iterable[int]) -> None:
    assert positions(written((0, low)), "v") == sorted(low)


def test_positions_beyond_32_bits_have_a_bitmap_of_their_own() -> None:
    assert positions(written((0, [1]), (2, [3])), "v") == [1, 2 * 2**32 + 3]


@pytest.mark.parametrize("at", [0, 5, 20, -1])
def test_a_byte_that_is_another_one_is_noticed(at: int) -> None:
    blob = bytearray(written((0, range(100))))
    blob[at] ^= 1

    with pytest.raises(UnverifiableError):
        positions(bytes(blob), "v")
