"""Every kind of commit that Frazil makes, upon tables of plain PyIceberg: no Spark, no Kafka.

What this module imports of the engine is all that tests of lost answers know of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from frazil.clients import Clients
from frazil.derive.positions.ledger import DerivedLedger
from frazil.derive.publish import Derived
from frazil.formats.columns.columns import RecordColumns, table_fields
from frazil.formats.logical import Field, Primitive, Struct
from frazil.formats.types import to_iceberg
from frazil.landing.position.ledger import Ledger, read_ledger
from frazil.landing.publication import Landed
from frazil.landing.schema.evolve import evolve
from frazil.settings.profile import Settings
from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec
from frazil.spec.upkeep import Upkeep
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.commits.commit import remove_properties, set_properties
from frazil.tables.commits.leftovers import drop_branch
from frazil.tables.commits.replacement import fitted, same_rows
from frazil.tables.commits.stage import StagedFiles, publish
from frazil.tables.layout import arrange
from frazil.tables.metadata.manifests import HeadReader
from frazil.tables.writing.data_files import write_files
from frazil.upkeep.compaction.run import put_in_place
from frazil.upkeep.expiry.expiry import expire

__all__ = [
    "COLUMNS",
    "COMMITS",
    "NAME",
    "SPEC",
    "Lake",
    "lake_of",
    "lake_on",
    "landed",
    "ledger",
    "position",
]

NAME = TableName("n", "t")
SPEC = TableSpec(topic="t", namespace="n", publish=[])
COLUMNS = RecordColumns(Struct(()), Struct((Field("quantity", Primitive("long")),)))
WIDER = RecordColumns(Struct(()), Struct((*COLUMNS.value, Field("note", Primitive("string"), optional=True))))

Commit = Callable[[], object]


@dataclass
class Lake:
    """A catalog with one table in it.

    Args:
        catalog: Whichever; it may lie.
        lie: The next request of a commit has this fate: dropped, failed, replayed.
    """

    catalog: Catalog
    lie: Callable[[str], None] = field(default=lambda _: None)

    @property
    def table(self) -> Table:
        """As it is now."""
        return self.catalog.load_table(NAME.identifier)

    @property
    def head(self) -> int:
        """The newest snapshot of `main`."""
        snapshot = self.table.current_snapshot()
        assert snapshot
        return snapshot.snapshot_id

    @property
    def quantities(self) -> list[int]:
        """The rows of `main`, as a reader who comes now finds them."""
        return sorted(self.table.scan().to_arrow()["quantity"].to_pylist())

    def prepare(self, kind: str) -> Commit:
        """Prepares a commit of a kind; it is made, and told of, as every work of Frazil is."""
        commit = COMMITS[kind].prepared(self)

        def tell() -> object:
            with catalog_errors(Settings()):
                return commit()

        return tell

    def append(self, *quantities: int, branch: str = "main") -> None:
        """What some other tool does; upon a branch, what Spark does for a landing."""
        self.table.append(rows(self.table, *quantities), branch=branch)


def lake_on(catalog: Catalog, lie: Callable[[str], None] = lambda _: None) -> Lake:
    """Makes the table, with a head and two landings: offsets 0 to 2, and 2 to 4."""
    lake = Lake(catalog, lie)
    catalog.create_namespace_if_not_exists(NAME.namespace)
    catalog.create_table(NAME.identifier, to_iceberg(table_fields(SPEC, COLUMNS)))
    lake.append()
    landed(lake, 0, 1)
    landed(lake, 2, 3)
    return lake


def lake_of(catalog: Catalog, metadata: str, lie: Callable[[str], None] = lambda _: None) -> Lake:
    """Shows a catalog the table that was made elsewhere."""
    catalog.create_namespace_if_not_exists(NAME.namespace)
    catalog.register_table(NAME.identifier, metadata)
    return Lake(catalog, lie)


def rows(table: Table, *quantities: int) -> pa.Table:
    """Rows of the table that say little but their quantity."""
    schema = table.schema().as_arrow()
    filled = {name: pa.nulls(len(quantities), schema.field(name).type) for name in schema.names}
    known: dict[str, list[Any]] = {
        "quantity": list(quantities), "$$offset": list(quantities),
        "$$partition": [0] * len(quantities), "$$topic": ["t"] * len(quantities),
    }  # fmt: skip
    filled |= {n: pa.array(v, schema.field(n).type) for n, v in known.items()}
    for column in schema:
        if not column.nullable and filled[column.name].null_count:
            filled[column.name] = pa.array([0] * len(quantities), pa.int64()).cast(column.type)
    return pa.table([filled[f.name] for f in schema], schema=schema)


def ledger(start: int, to: int, name: str = "") -> Ledger:
    """What a landing of one partition says."""
    return Ledger(
        "t", "id", {0: (start, to)}, {0: 0}, records=to - start, landing=name or f"landing_{start}_{to}"
    )


def position(table: Table) -> Mapping[int, int]:
    """Where the next landing goes on."""
    newest = read_ledger(table.metadata)
    return newest.position if newest else {}


def stage(lake: Lake, name: str, *quantities: int) -> Landed:
    """A landing of these records, ready to be published."""
    at = position(lake.table).get(0, 0)
    entry = ledger(at, at + len(quantities), name)
    return Landed(_files(lake.table, *quantities), entry, read_ledger(lake.table.metadata))


def landed(lake: Lake, *quantities: int) -> int:
    """Lands records; the snapshot that it made."""
    staged = stage(lake, f"landing_{quantities[0]}", *quantities)
    return publish(TableHandle(lake.catalog, NAME), staged).snapshot_id


def _files(table: Table, *quantities: int) -> StagedFiles:
    """Files of such rows, which no snapshot names."""
    return StagedFiles(write_files(table, rows(table, *quantities)))


def _landing(lake: Lake) -> Commit:
    staged = stage(lake, "landing_4", 4, 5)
    return lambda: publish(TableHandle(lake.catalog, NAME), staged)


def _derivation(lake: Lake) -> Commit:
    """All rows made anew."""
    entry = DerivedLedger(inputs={}, query="q", derivation="deriving_4", rows=2)
    staged = Derived(_files(lake.table, 4, 5), entry, "", whole=True)
    return lambda: publish(TableHandle(lake.catalog, NAME), staged)


def _compaction(lake: Lake) -> Commit:
    """The two files of the landings become one."""
    head = HeadReader().read(lake.table)
    assert head
    staged = _files(lake.table, 0, 1, 2, 3)
    what = same_rows(head, head.entries.keys(), staged.files)
    return lambda: put_in_place(
        TableHandle(lake.catalog, NAME), lambda table: fitted(table, what), {}, staged
    )


def _expiry(lake: Lake) -> Commit:
    """Of three snapshots two stay: the heads of the landings."""
    spec = SPEC.model_copy(update={"upkeep": Upkeep(min_snapshots=2, keep_snapshots_for=timedelta(0))})
    clients = Clients(Settings())
    clients.__dict__["catalog"] = lake.catalog
    return lambda: expire(spec, clients, time.time())


def _evolution(lake: Lake) -> Commit:
    table = lake.table
    return lambda: evolve(SPEC, table, WIDER)


def _layout(lake: Lake) -> Commit:
    spec, table = TableSpec(topic="t", namespace="n", partition_by=["quantity"]), lake.table
    return lambda: arrange(spec, table)


def _no_branch(lake: Lake) -> Commit:
    lake.table.manage_snapshots().create_branch(lake.head, "landing_4").commit()
    return lambda: drop_branch(TableHandle(lake.catalog, NAME), "landing_4")


def _properties(lake: Lake) -> Commit:
    return lambda: set_properties(TableHandle(lake.catalog, NAME), {"frazil.suspended": "here"})


def _no_properties(lake: Lake) -> Commit:
    with lake.table.transaction() as tx:
        tx.set_properties({"frazil.suspended": "here"})
    return lambda: remove_properties(TableHandle(lake.catalog, NAME), ["frazil.suspended"])


@dataclass(frozen=True)
class Kind:
    """A kind of commit.

    Args:
        prepared: Prepares one on a lake, and gives what commits it.
        seen: What a reader sees of it when it is done.
        after: That, done once.
        before: That, not done.
    """

    prepared: Callable[[Lake], Commit]
    seen: Callable[[Lake], object]
    after: object
    before: object


def _columns(lake: Lake) -> bool:
    return "note" in lake.table.schema().column_names


def _refs(lake: Lake) -> list[str]:
    return sorted(lake.table.metadata.refs)


def _suspended(lake: Lake) -> str | None:
    return lake.table.properties.get("frazil.suspended")


def _files_and_rows(lake: Lake) -> tuple[int, list[int]]:
    return len(list(lake.table.scan().plan_files())), lake.quantities


COMMITS: dict[str, Kind] = {
    "landing": Kind(_landing, _files_and_rows, (3, [0, 1, 2, 3, 4, 5]), (2, [0, 1, 2, 3])),
    "derivation": Kind(_derivation, _files_and_rows, (1, [4, 5]), (2, [0, 1, 2, 3])),
    "compaction": Kind(_compaction, _files_and_rows, (1, [0, 1, 2, 3]), (2, [0, 1, 2, 3])),
    "expiry": Kind(
        _expiry,
        lambda lake: (len(lake.table.snapshots()), lake.quantities),
        (2, [0, 1, 2, 3]),
        (3, [0, 1, 2, 3]),
    ),
    "evolution": Kind(_evolution, _columns, True, False),
    "layout": Kind(_layout, lambda lake: [f.name for f in lake.table.spec().fields], ["quantity"], []),
    "branch that goes": Kind(_no_branch, _refs, ["main"], ["landing_4", "main"]),
    "property": Kind(_properties, _suspended, "here", None),
    "property that goes": Kind(_no_properties, _suspended, None, "here"),
}
"""By name."""
