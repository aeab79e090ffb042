"""Branches of landings, redrives and compactions: who may be at work on a table right now."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from frazil.landing.write import started_at

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata

__all__ = ["at_work"]

_BRANCH = re.compile(r"[a-z]+_\d{13}_[0-9a-f]{8}")
"""As `landing.write.new_branch` names them."""


def at_work(metadata: TableMetadata) -> dict[str, float]:
    """When each of the works began that have a branch, in seconds since the epoch.

    One that died counts as long as nobody dropped its branch.
    """
    return {ref: started_at(ref) for ref in metadata.refs if _BRANCH.fullmatch(ref)}
