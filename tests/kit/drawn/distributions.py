"""Whether values are drawn from what they are said to be drawn from, each as often as the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable
from math import sqrt

__all__ = ["assert_uniform", "chi_square_bound"]

_ONE_IN_A_MILLION = 4.75
"""Standard deviations of a normal distribution that one value in a million exceeds."""

_LEAST = 5
"""Expected of each value, so that the sum of squares is distributed as chi-square is."""


def assert_uniform(values: Iterable[Hashable], expected: Collection[Hashable]) -> None:
    """Checks that no value is another, and that the counts differ as by chance.

    The seed decides the outcome, so the test does not flicker; the bound says how strange a seed one
    would have to meet for a right generator to fail.
    """
    counts = Counter(values)
    assert set(counts) <= set(expected), f"not expected: {sorted(map(str, set(counts) - set(expected)))[:5]}"
    mean = counts.total() / len(expected)
    assert mean >= _LEAST, f"{counts.total()} values are too few for {len(expected)} different ones"
    off = sum((counts[value] - mean) ** 2 for value in expected) / mean
    assert off <= chi_square_bound(len(expected) - 1), f"chi-square is {off:.0f}"


def chi_square_bound(freedom: int) -> float:
    """What chi-square exceeds once in a million, by Wilson and Hilferty's approximation."""
    part = 2 / (9 * freedom)
    return float(freedom * (1 - part + _ONE_IN_A_MILLION * sqrt(part)) ** 3)
