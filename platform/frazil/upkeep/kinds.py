"""All kinds of upkeep. A new one is a module of its own and a line here (docs/architecture.md)."""

from __future__ import annotations

from collections.abc import Mapping

from frazil.upkeep.compaction.kind import Compaction
from frazil.upkeep.expiry.expiry import Expiry
from frazil.upkeep.kind import Kind
from frazil.upkeep.land_interval import LandInterval
from frazil.upkeep.orphans import Orphans
from frazil.upkeep.row_expiry.run import RowExpiry
from frazil.upkeep.statistics import Statistics

KINDS: Mapping[str, Kind] = {
    kind.name: kind for kind in (Compaction(), Expiry(), Orphans(), RowExpiry(), LandInterval(), Statistics())
}
"""By name."""
