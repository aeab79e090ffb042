"""Decimals as their digits: without a point, in the size of their column, or as text."""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache

from frazil_verify.values.bad import BadRecordError


def fitted(unscaled: int, scale: int, want: str) -> int:
    """A number of `scale` digits behind the point, without one, as the column has it.

    Raises:
        BadRecordError: It has more digits than the column, before the point or behind it.
    """
    more, fewer, limit = _factors(scale, want)
    number, rest = divmod(unscaled * more, fewer)
    if rest or abs(number) >= limit:
        raise BadRecordError("a decimal of more digits than its column")
    return number


def written(unscaled: int, scale: int) -> str:
    """A number of `scale` digits behind the point as text: `wide_decimals: text`, docs/formats.md."""
    digits = f"{Decimal(abs(unscaled)):f}".zfill(scale + 1)  # int writes 4,300 at most
    text = f"{digits[:-scale]}.{digits[-scale:]}" if scale else digits
    return f"-{text}" if unscaled < 0 else text


@lru_cache(1024)
def _factors(scale: int, want: str) -> tuple[int, int, int]:
    """By what digits are multiplied and divided, and where a column of this size ends."""
    digits, wanted = (int(part) for part in want.removeprefix("decimal(").removesuffix(")").split(","))
    return int(10 ** max(wanted - scale, 0)), int(10 ** max(scale - wanted, 0)), int(10**digits)
