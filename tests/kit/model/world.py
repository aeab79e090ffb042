"""One round: a topic, its table, and actors who work on both until all are done; then everything settles."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

from pyiceberg.manifest import DataFile
from pyiceberg.table import Table

from frazil.landing.cut.note import notes
from frazil.landing.position.ledger import ledger_of, read_ledger
from frazil.settings.profile import Settings
from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec
from frazil.spec.upkeep import Upkeep
from frazil.tables.commits.leftovers import branches_of_works
from kit.model.conditions import is_of
from kit.model.oracle import Doubled, Lost, Oracle, Stuck, Wrong
from kit.model.parts.catalog import ModelCatalog
from kit.model.parts.stage import Dice, Stage
from kit.model.parts.store import Store
from kit.model.parts.topic import Topic

__all__ = ["NAME", "World"]

NAME = TableName("n", "t")
SPEC = TableSpec(
    topic="t", namespace="n", publish=[], on_bad_record="dead_letter", on_lost_records="record",
    upkeep=Upkeep(min_snapshots=1, keep_snapshots_for=timedelta(0), orphans_after=timedelta(hours=12)),
    keep_rows_for=timedelta(hours=3),
)  # fmt: skip
UPSERTS = TableSpec.model_validate(
    {**SPEC.model_dump(exclude_unset=True), "mode": "upsert", "partition_by": [], "key_fields": ["key"]}
)
_SETTINGS: list[Settings] = []
_BEGUN = 1_800_000_000.0


@dataclass
class World:
    """What a round is made of; the engine's `connections`, too."""

    dice: Dice
    fates: float = 0.1
    turns: float = 0.1
    spoils: float = 0.0
    deaths: Mapping[str, int] = field(default_factory=dict)
    lane: bool = False
    keyed: bool = False
    topic: Topic = field(default_factory=Topic)
    log: list[str] = field(default_factory=list)
    stuck: bool = False  # whether the position is lost, as another engine's rollback may do
    may_lose_its_position: bool = False
    forgets: bool = False  # whether anybody had some records forgotten, as rows and as dead letters

    def __post_init__(self) -> None:
        self.stage = Stage(self.dice, self.turns, self.deaths)
        self.store = Store(self.stage, _BEGUN)
        self.catalog = ModelCatalog(self.stage, self.store, self.fates)
        self.topic.clock = lambda: self.store.now
        self.oracle = Oracle(self.topic, self.store, keyed=self.keyed)
        self.catalog.law.seen = self.oracle.seen
        _SETTINGS[:] = _SETTINGS or [Settings()]
        self.connections: Any = SimpleNamespace(
            settings=_SETTINGS[0], of=lambda _: self.connections, catalog=self.catalog, admin=None,
            registry=None, spark=None, background_spark=None,
        )  # fmt: skip

    def goes_on_from(self, other: World) -> None:
        """Begins with what another world came to."""
        self.store.files, self.store.written = dict(other.store.files), dict(other.store.written)
        self.store.records, self.store.now = dict(other.store.records), other.store.now
        self.catalog.tables = dict(other.catalog.tables)
        self.oracle.heads = dict(other.oracle.heads)
        mine, its = self.topic, other.topic
        mine.first, mine.end, mine.ever = dict(its.first), dict(its.end), dict(its.ever)

    @property
    def spec(self) -> TableSpec:
        """The table's."""
        return UPSERTS if self.keyed else SPEC

    def produce(self, partition: int, own: random.Random | None = None, **how: bool) -> None:
        """One offset more; of a table with a row per key now and then a change that ends one."""
        if not self.keyed:
            self.topic.produce(partition, key=self.topic.end[partition] % 3, **how)
            return
        other, value = self.topic.end[partition] % 2, 0
        if own:
            other, value = own.random() < 0.2, None if own.random() < 0.2 else 0
        self.topic.produce(partition, key=2 * partition + other, value=value, **how)

    def write_rows(self, table: Table, rows: Sequence[list[Any]]) -> DataFile:
        """Writes a data file; one of the topic's table has the bounds of its records' times."""
        if table.name()[-1] != NAME.table:
            return self.store.write_rows(table, rows)
        records = [self.topic.ever.get((log, partition, offset)) for log, partition, offset in rows]
        return self.store.write_rows(table, rows, [record and record.time for record in records])

    def cut(self, rows: list[Any]) -> list[Any]:
        """What a writer may do wrong: a row that was counted is not in its file."""
        cut = self.stage.dice.choose(2, self.spoils) if self.stage.now else 0
        return rows[cut:]

    @property
    def table(self) -> Any:
        """The topic's table as it is; nobody moves."""
        return self.catalog.look(NAME.identifier)

    def marked(self) -> set[Any]:
        """The records to be forgotten that are rows of any table by now, or dead letters that were landed."""
        present = {place for name in self.catalog.tables for place in self.catalog.places(name)}
        ledger = read_ledger(self.table.metadata)
        position = ledger.position if ledger else {}
        return {
            at
            for at in present & self.topic.ever.keys()
            if is_of(self.topic.ever[at]) and at[2] < position.get(at[1], 0)
        }

    @property
    def branches(self) -> list[str]:
        """Those of works, dead or alive."""
        return sorted(branches_of_works(self.table.metadata))

    def named_files_exist(self) -> None:
        """Every file that any kept snapshot names is there."""
        for name in self.catalog.tables:
            table = self.catalog.look(name)
            snapshots = table.metadata.snapshots
            lists = {s.manifest_list for s in snapshots}
            if missing := lists - self.store.files.keys():
                raise Lost(f"{len(missing)} manifest lists that {name} names are gone")
            manifests = [m for s in snapshots for m in self.store.manifests(table, s)]
            named = {m.manifest_path for m in manifests} | {
                e.path for m in manifests for e in self.store.named(m)
            }
            if missing := named - self.store.files.keys():
                raise Lost(f"{len(missing)} files that {name} names are gone")

    def at_rest(self) -> None:
        """No lag, no branch, each dead letter once, each cut reached."""
        ledger = read_ledger(self.table.metadata)
        if not ledger or dict(ledger.position) != self.topic.end:
            raise Stuck(f"behind: {ledger and ledger.position} of {self.topic.end}")
        self.named_files_exist()
        self._cuts()
        self._letters()

    def _cuts(self) -> None:
        """A tag is on just what the cut asked for; each cut has one, if the topic let the table get there."""
        table = self.table
        for note in notes(table.properties).values():
            snapshot = table.metadata.snapshot_by_id(note.snapshot) if note.snapshot else None
            if snapshot and dict(ledger_of(snapshot).position) != note.ends:
                raise Wrong(f"tag {note.tag} is at {ledger_of(snapshot).position}, not {note.ends}")
            gone = self.topic.gone.get(note.log, {})
            could = note.log == self.topic.log and all(gone.get(p, 0) <= end for p, end in note.ends.items())
            if could and note.snapshot is None:
                raise Stuck(f"all is landed, and nobody reached the cut {note}")

    def _letters(self) -> None:
        own, head = NAME.dead_letters.identifier, self.table.metadata.current_snapshot_id
        mended: set[Any] = set()
        if self.topic.mended:
            mended = {*map(tuple, self.store.rows(self.table, head)), *self.oracle.heads[head].deleted}
        rows: list[tuple[Any, ...]] = []
        if own in self.catalog.tables:
            table = self.catalog.look(own)
            rows = [tuple(row) for row in self.store.rows(table, table.metadata.current_snapshot_id)]
        gone = self.topic.gone
        bad = {
            r.at
            for r in self.topic.ever.values()
            if r.bad and r.at not in mended and r.offset >= gone.get(r.log, {}).get(r.partition, 0)
            if not (self.forgets and is_of(r))
        }
        if len(rows) != len({*rows}):
            raise Doubled(f"dead letters {sorted(rows)}")
        if not bad <= {*rows}:
            raise Lost(f"dead letters {sorted(rows)}, bad records {sorted(bad)}")
