"""What a compaction is good for: what it would take, and what it would make of that.

Counting what comes out, not only what goes in, keeps a table that can't get better from being
rewritten for ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from frazil.upkeep.packing import DELETED_SHARE, Bin, Rule

__all__ = ["Gain", "gain_of"]


@dataclass(frozen=True, slots=True)
class Gain:
    """What a compaction is good for; false where it is good for nothing.

    Args:
        files: Files that it would rewrite.
        bytes: Their bytes.
        into: Files that it would make of them.
        large: Files too large, which it would cut.
        deleted: Files of which it would leave out enough deleted rows.
    """

    files: int = 0
    bytes: int = 0
    into: int = 0
    large: int = 0
    deleted: int = 0

    @property
    def saved(self) -> int:
        """Files fewer than before; cutting a large file saves none."""
        return max(0, self.files - self.into)

    def __bool__(self) -> bool:
        return self.files > 0

    def __add__(self, other: Gain) -> Gain:
        return Gain(
            self.files + other.files,
            self.bytes + other.bytes,
            self.into + other.into,
            self.large + other.large,
            self.deleted + other.deleted,
        )


def gain_of(bins: Sequence[Bin], rule: Rule) -> Gain:
    """The gain of rewriting some bins, as they are planned by a rule."""
    taken = [file for bin_ in bins for file in bin_.files]
    return Gain(
        files=len(taken),
        bytes=sum(f.bytes for f in taken),
        into=sum(bin_.into for bin_ in bins),
        large=sum(f.bytes > rule.large for f in taken),
        deleted=sum(f.deleted_share >= DELETED_SHARE for f in taken),
    )
