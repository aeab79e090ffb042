"""All tables that readers read."""

from __future__ import annotations

from kit.engines.tables.changes import CHANGES
from kit.engines.tables.layouts import LAYOUTS
from kit.engines.tables.made import Feature
from kit.engines.tables.schemas import SCHEMAS
from kit.engines.tables.types import TYPES

__all__ = ["FEATURES"]

FEATURES: tuple[Feature, ...] = (*TYPES, *SCHEMAS, *LAYOUTS, *CHANGES)
