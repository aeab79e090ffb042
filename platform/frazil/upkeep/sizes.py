"""Files counted by size: the classes of a census, and how sizes are told."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

__all__ = ["MB", "SizeClass", "by_size", "size_text"]

MB = 2**20
_EDGES = (1, 8, 32, 128, 512)


@dataclass(frozen=True, slots=True)
class SizeClass:
    """Files of about one size.

    Args:
        label: Such as `8-32 MB`.
        files: How many.
        bytes: What they add up to.
    """

    label: str
    files: int = 0
    bytes: int = 0


def by_size(sizes: Iterable[int]) -> tuple[SizeClass, ...]:
    """Sizes in bytes counted by class, every class in order, empty ones too."""
    files, held = [0] * len(_LABELS), [0] * len(_LABELS)
    for size in sizes:
        place = sum(size >= edge * MB for edge in _EDGES)
        files[place] += 1
        held[place] += size
    return tuple(map(SizeClass, _LABELS, files, held))


def size_text(size: int) -> str:
    """`1,234.5 MB`, or `12.3 kB` where it is less than one."""
    return f"{size / MB:,.1f} MB" if size >= MB else f"{size / 1024:.1f} kB"


def _labels() -> tuple[str, ...]:
    between = [f"{low}-{high} MB" for low, high in pairwise(_EDGES)]
    return (f"< {_EDGES[0]} MB", *between, f">= {_EDGES[-1]} MB")


_LABELS = _labels()
