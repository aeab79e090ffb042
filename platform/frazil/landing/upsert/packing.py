"""Which files that go become one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Packed(Generic[T]):
    """Files of one partition: those that are written anew by themselves, and those that become one."""

    alone: tuple[T, ...]
    together: tuple[T, ...] = ()
    takes: bool = False  # whether the rows that came go into that one, too


def pack(
    files: Iterable[T], size: Callable[[T], int], new_bytes: int, small: float, most: float
) -> Packed[T]:
    """Puts the small ones together with what came, as long as they fit.

    Args:
        size: Bytes of a file.
        new_bytes: Bytes of what came.
        small: Of fewer bytes than these a file is small.
        most: Bytes that one may have.
    """
    ordered = sorted(files, key=size, reverse=True)
    few = [f for f in ordered if size(f) < small]
    if not few:
        return Packed(tuple(ordered))
    alone = ordered[: -len(few)]
    if sum(map(size, few)) + new_bytes > most:  # then the smallest takes them
        alone, few = ordered[:-1], ordered[-1:]
    return Packed(tuple(alone), tuple(few), sum(map(size, few)) + new_bytes <= most)
