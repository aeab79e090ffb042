"""Decimals as their digits without a point, in the size of their column."""

from __future__ import annotations

from frazil_verify.values.bad import BadRecordError


def size_of(want: str) -> tuple[int, int]:
    """The digits of a type `decimal(p, s)`, and those behind the point."""
    digits, scale = want.removeprefix("decimal(").removesuffix(")").split(",")
    return int(digits), int(scale)


def fitted(unscaled: int, scale: int, want: str) -> int:
    """A number of `scale` digits behind the point, without one, as the column has it.

    Raises:
        BadRecordError: It has more digits than the column, before the point or behind it.
    """
    digits, wanted = size_of(want)
    more, fewer = int(10 ** max(wanted - scale, 0)), int(10 ** max(scale - wanted, 0))
    number, rest = divmod(unscaled * more, fewer)
    if rest or abs(number) >= 10**digits:
        raise BadRecordError("a decimal of more digits than its column")
    return number
