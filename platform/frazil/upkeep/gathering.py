"""Few manifests of many: every landing adds one, and every reader opens those that its filter leaves."""

from __future__ import annotations

from frazil.tables.files import SMALL_MANIFEST
from frazil.tables.manifests import Held
from frazil.tables.rewrite import Replacement

__all__ = ["gathered", "is_crowded"]


def is_crowded(held: Held, limit: int) -> bool:
    """Whether a head has more manifests than it may, and some are small enough to be put together."""
    return len(held.manifests) > limit and len(_small(held)) > 1


def gathered(held: Held, unique: str) -> Replacement:
    """The small manifests in few new ones, which name the same files."""
    gone = _small(held)
    return Replacement(unique, frozenset(gone), kept=tuple(e for path in gone for e in held.named[path]))


def _small(held: Held) -> list[str]:
    """Paths of small data manifests; PyIceberg writes none of delete files."""
    paths = (m.manifest_path for m in held.manifests if m.manifest_length < SMALL_MANIFEST)
    return [path for path in paths if path in held.named]
