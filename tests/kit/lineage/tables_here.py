"""Iceberg tables without servers, and reports of work on them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.table import Table

from frazil.landing.report import LandingReport
from frazil.settings.profile import Settings
from frazil.spec.table import AnyTable


@dataclass
class CatalogAlone:
    """Connections of which nothing but the catalog is there."""

    folder: Path
    settings: Settings = field(default_factory=Settings)

    def __post_init__(self) -> None:
        place = f"sqlite:///{self.folder}/catalog.db"  # in a file, for events are made by another thread
        self.catalog = SqlCatalog("unit", uri=place, warehouse=self.folder.as_uri())
        self.catalog.create_namespace("local")

    def of(self, spec: AnyTable) -> CatalogAlone:
        """All tables are of one connection."""
        return self

    def make(self, name: str, schema: Schema, *landings: int) -> Table:
        """A table with a snapshot for each landing of so many rows."""
        table = self.catalog.create_table(f"local.{name}", schema)
        for rows in landings:
            columns = {f.name: pa.nulls(rows, f.type) for f in schema.as_arrow()}
            table.append(pa.table(columns, schema=schema.as_arrow()))
        return table


def landing_of(table: Table, records: int, landings: int = 1, dead_letters: int = 0) -> LandingReport:
    head = table.refresh().current_snapshot()
    assert head
    return LandingReport(
        "local.trades", "trades", snapshot_id=head.snapshot_id, records=records, dead_letters=dead_letters,
        spans={1: (5, 5 + records), 0: (0, 7)}, bytes=4711, files=landings, landings=landings, seconds=2.5,
    )  # fmt: skip
