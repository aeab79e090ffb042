"""Decimals as their digits: without a point, in the size of their column, or as text."""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache

from frazil_verify.values.bad import BadRecordError, bad


def unscaled(raw: bytes) -> int:
    """A number without its point, of the bytes that Java's BigInteger has; raises BadRecordError for none."""
    return int.from_bytes(raw or bad("a decimal without bytes"), "big", signed=True)


def fitted(number: int, scale: int, want: str) -> int:
    """A number of `scale` digits behind the point, without one, as the column has it.

    Raises:
        BadRecordError: It has more digits than the column, before the point or behind it.
    """
    more, fewer, limit = _factors(scale, want)
    whole, rest = divmod(number * more, fewer)
    if rest or abs(whole) >= limit:
        raise BadRecordError("a decimal of more digits than its column")
    return whole


def written(number: int, scale: int) -> str:
    """A number of `scale` digits behind the point as text: `wide_decimals: text`, docs/formats.md."""
    digits = f"{Decimal(abs(number)):f}".zfill(scale + 1)  # int writes 4,300 at most
    text = f"{digits[:-scale]}.{digits[-scale:]}" if scale else digits
    return f"-{text}" if number < 0 else text


@lru_cache(1024)
def _factors(scale: int, want: str) -> tuple[int, int, int]:
    """By what digits are multiplied and divided, and where a column of this size ends."""
    digits, wanted = (int(part) for part in want.removeprefix("decimal(").removesuffix(")").split(","))
    return int(10 ** max(wanted - scale, 0)), int(10 ** max(scale - wanted, 0)), int(10**digits)
