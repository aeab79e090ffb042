"""A table made of others, its inputs written by plain PyIceberg, as tests of derivations want it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from frazil.connections import Connections
from frazil.derive.derive import DeriveReport, derive
from frazil.derive.positions.ledger import DerivedLedger
from frazil.formats.logical import Field, Primitive
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import TableName, things
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.creation import create_table
from frazil.tables.metadata.snapshots import ancestors

NAMESPACE = "derive_tests"

TRADES = (
    Field("symbol", Primitive("string"), optional=True),
    Field("quantity", Primitive("int"), optional=True),
    Field("at", Primitive("timestamptz"), optional=True),
)
"""Columns of an input, unless a test has others."""

Row = Mapping[str, Any]


@dataclass
class Source:
    """An input: a table with a head, as a landing makes it."""

    catalog: Catalog
    name: TableName

    @property
    def table(self) -> Table:
        """As it is now."""
        return TableHandle(self.catalog, self.name).load()

    @property
    def head(self) -> int:
        """The newest snapshot of `main`."""
        return next(ancestors(self.table.metadata)).snapshot_id

    def append(self, rows: Iterable[Row]) -> None:
        """Adds rows in a snapshot of their own."""
        table = self.table
        table.append(pa.Table.from_pylist([dict(r) for r in rows], schema=table.schema().as_arrow()))

    def trades(self, *quantities: int) -> None:
        """Adds trades of these quantities."""
        self.append([{"symbol": "ZTEST", "quantity": q, "at": None} for q in quantities])

    def roll_back(self, snapshot_id: int) -> None:
        """Makes an older snapshot the head."""
        self.table.manage_snapshots().rollback_to_snapshot(snapshot_id).commit()

    def expire(self) -> None:
        """Every snapshot but the head goes."""
        table = self.table
        gone = [s.snapshot_id for s in table.snapshots() if s.snapshot_id != self.head]
        table.maintenance.expire_snapshots().by_ids(gone).commit()


def make_source(catalog: Catalog, table: str, fields: Iterable[Field] = TRADES) -> Source:
    """Makes an input without rows."""
    name = TableName(NAMESPACE, table)
    create_table(TableHandle(catalog, name), fields, (), {"format-version": "2"})
    return Source(catalog, name)


@dataclass
class Made:
    """A derived table and the folder of its query."""

    connections: Connections
    spec: DerivedSpec
    reports: list[DeriveReport] = field(default_factory=list)

    @property
    def name(self) -> TableName:
        """The table."""
        return things(self.spec, self.connections.settings).table

    @property
    def table(self) -> Table:
        """As it is now."""
        return TableHandle(self.connections.catalog, self.name).load()

    @property
    def ledger(self) -> DerivedLedger:
        """What its newest snapshot says."""
        ledger_now = DerivedLedger.newest(self.table.metadata)
        assert ledger_now
        return ledger_now

    def derive(self, **options: Any) -> DeriveReport:
        """Brings it up to date."""
        return derive(self.spec, self.connections, **options)

    def rows(self, *columns: str) -> list[tuple[Any, ...]]:
        """Its rows in order, as PyIceberg reads them."""
        names = columns or tuple(field.name for field in self.table.schema().fields)
        rows = self.table.scan(selected_fields=names).to_arrow().to_pylist()
        return sorted((tuple(row[n] for n in names) for row in rows), key=repr)

    def dead_letters(self) -> list[tuple[Any, ...]]:
        """Reason and row of each row that is apart."""
        letters = (
            TableHandle(self.connections.catalog, self.name).dead_letters.load().scan().to_arrow().to_pylist()
        )
        return sorted((row["reason"], row["row"]) for row in letters)

    def ask(self, sql: str, **changes: Any) -> Made:
        """The same table with another query."""
        assert self.spec.sql
        self.spec.sql.write_text(sql)
        return Made(self.connections, self.spec.model_copy(update=changes))


def make_made(connections: Connections, folder: Path, table: str, sql: str, **spec: Any) -> Made:
    """A derived table that is yet to be made."""
    file = folder / f"{table}.sql"
    file.write_text(sql)
    named = {"namespace": NAMESPACE, "table": table, "sql": file, **spec}
    return Made(connections, DerivedSpec.model_validate(named))


MakeSource = Callable[..., Source]
"""`make_input()`, or `make_input(fields)`."""

MakeTable = Callable[..., Made]
"""`make_table("SELECT ...", kind="full")`: the rest goes into the spec."""
