"""Moments with a zone that are written as text, many at once: the same as one by one."""

from __future__ import annotations

import random
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from frazil.exact import values_of
from frazil.formats.batches.zoned import micros, moments


def read(*texts: str | None) -> list[int | None]:
    return values_of(moments(pa.array(texts, pa.string())))


def since_1970(*of: int) -> int:
    delta = datetime(*of, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)  # type: ignore[arg-type, misc]
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2025-10-09T08:53:20.5+02:00", since_1970(2025, 10, 9, 6, 53, 20, 500_000)),
        ("1969-12-31T23:59:59Z", -1_000_000),
        ("2025-01-01T00:00:00.123456789-18:00", since_1970(2025, 1, 1, 18, 0, 0, 123_456)),
        ("0001-01-01T00:00:00Z", since_1970(1, 1, 1)),
        ("9999-12-31T23:59:59.999999Z", since_1970(9999, 12, 31, 23, 59, 59, 999_999)),
        ("2024-02-29T12:00:00+05:30", since_1970(2024, 2, 29, 6, 30)),
        ("2025-02-29T12:00:00Z", None),
        ("2025-10-09T24:00:00Z", None),
        ("2025-10-09T08:53:60Z", None),
        ("2025-10-09T08:53:20+18:01", None),
        ("2025-10-09T08:53:20+01:60", None),
        ("2025-10-09T08:53:20", None),
        ("2025-10-09 08:53:20Z", None),
        ("0000-10-09T08:53:20Z", None),
        ("2025-10-09", None),
        ("yesterday", None),
        ("", None),
        (None, None),
    ],
)
def test_a_text_is_a_moment_alone_and_among_others(text: str | None, expected: int | None) -> None:
    usual = "1970-01-01T00:00:01+00:00"

    assert read(text) == [expected]
    assert read(usual, text, None, usual) == [1_000_000, expected, None, 1_000_000]


def drawn(chance: random.Random) -> str:
    """A text that is nearly a moment, or one."""
    year, month, day = chance.choice([0, 1, 99, 1582, 2025, 9999]), chance.randrange(14), chance.randrange(33)
    hour, minute, second = (
        chance.choice([0, 12, 23, 24]),
        chance.choice([0, 59, 60]),
        chance.choice([0, 59, 60]),
    )
    part = chance.choice(["", ".", ".5", "." + "123456789012"[: chance.randrange(1, 12)]])
    zone = chance.choice(["Z", "z", "", "+00:00", "-00:00", "+17:59", "-18:00", "+18:01", "+14:60", "+1400"])
    mark = chance.choice("TTTTTt ")
    return f"{year:04}-{month:02}-{day:02}{mark}{hour:02}:{minute:02}:{second:02}{part}{zone}"


@pytest.mark.parametrize("seed", range(20))
def test_many_at_once_are_read_as_each_by_itself(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(50):
        texts = [drawn(chance) for _ in range(chance.choice([1, 2, 10]))]

        assert read(*texts) == [micros(text) for text in texts], texts
