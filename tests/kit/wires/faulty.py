"""A topic, its table and tables made of it, on the embedded stack over a wire that loses answers.

Whatever is lost, after each work: no record is lost, none is doubled, every file that the head names is
there, and what was told of it is true.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pyarrow.parquet as pq
from pyiceberg.table import Table

from frazil.checks.result import Subject
from frazil.checks.verification import verify
from frazil.connections import Connections
from frazil.errors import FrazilError, OffsetsLostError, TopicChangedError
from frazil.landing.land import land
from frazil.landing.position.ledger import read_ledger
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.keys import Key
from frazil.upkeep.compaction.run import compact
from frazil.upkeep.expiry.expiry import expire
from frazil.upkeep.kind import Order
from kit.derived.made import NAMESPACE, Made, make_made
from kit.readers.row_ids import identity, live_files
from kit.readers.sound import Looks, refusals_of_java
from kit.records.topics import TRADE, Topic, topic_maker
from kit.wires.wire import Asked, Fate, Wire, commits, creates, puts

__all__ = ["Faulty", "faulty"]

T = TypeVar("T")

_CHANGES: tuple[Fate, ...] = (
    "dropped", "failed", "replayed", "late", "unsent", "halved", "refused", "throttled",
)  # fmt: skip
_LOOKS: tuple[Fate, ...] = ("dropped", "cut", "failed", "late", "trickles", "unsent", "refused", "throttled")
_KAFKA: tuple[Fate, ...] = ("dropped", "cut", "late", "trickles", "hangs", "unsent", "halved")
FATES: dict[str, tuple[float, tuple[Fate, ...]]] = {
    "commit": (0.2, _CHANGES), "file": (0.03, _CHANGES), "look": (0.01, _LOOKS), "kafka": (0.04, _KAFKA),
}  # fmt: skip
"""By kind, the share of requests that meet a fate, and which one."""

BURSTS = (0, 1, 6)
"""How many more requests to a server are throttled after one is; the last is more than clients ask again."""

INVISIBLE = ("is visible", "nothing was landed", "nothing was derived")
"""What a message says where rows and positions are as they were."""

_PLAIN = "each offset of the topic is a row or a letter"

ROW_ID = {2147483540: "_row_id", 2147483539: "_last_updated_sequence_number"}
"""Columns of files of version 3, by the ids that Iceberg's specification reserves for them."""

UNCHANGED = ("nothing was changed", "the table is as it was")
"""What it says where columns are, too."""

ROWS = "SELECT quantity, quantity * 2 AS twice FROM {input}"
TOTALS = (
    "SELECT quantity % 3 AS n, count(*) AS trades, sum(quantity) AS total FROM {input} GROUP BY quantity % 3"
)


@dataclass
class Faulty:
    """A topic of two partitions, and what is made of it.

    Args:
        wire: What lies before the servers.
        topic: With the spec of its table.
        derived: Tables made of it: one of rows, one of totals.
        dice: Of what happens.
        hangs: How many requests may hang until a time limit ends them, but for Kafka's, whose limit is short.
        story: What happened, for a failure.
    """

    wire: Wire
    topic: Topic
    derived: dict[str, Made]
    dice: random.Random
    hangs: int = 0
    story: list[str] = field(default_factory=list)
    throttled: Counter[str] = field(default_factory=Counter)  # by server, how many requests are to be
    columns: int = 0
    ends: dict[int, int] = field(default_factory=lambda: {0: 0, 1: 0})
    bad: set[Key] = field(default_factory=set)
    looks: Looks = field(default_factory=Looks)
    read: dict[str, list[dict[str, Any]]] = field(default_factory=dict)  # rows of each data file, by its path
    ids: dict[Key, int] = field(default_factory=dict)  # of rows of version 3, which keep them
    seen: dict[str, Any] = field(default_factory=dict)  # what a reader saw last; empty: nobody looked since

    def round(self) -> None:
        """Some records come, and two works are done over a wire that loses answers."""
        works: dict[str, Callable[[], object]] = {
            "land": self._land, "compact": self._compact, "derive rows": lambda: self._derive("rows"),
            "derive totals": lambda: self._derive("totals"), "evolve": self._evolve, "expire": self._expire,
            "lay out": self._lay_out,
        }  # fmt: skip
        self._produce()
        for name in self.dice.choices(list(works), weights=[4, 3, 2, 2, 2, 1, 1], k=2):
            if name == "expire" and self._own:
                # What is made of the table sees all of it first: nothing unseen may go.
                for made in self.derived.values():
                    made.derive()
                self.seen = {}
            self._do(name, works[name])

    def settle(self) -> None:
        """On a calm wire everything catches up: each table is what one recomputation gives, and verified."""
        self.story.append("calm")
        land(self.topic.spec, self.topic.connections)
        for made in self.derived.values():
            made.derive()
        self._agrees()
        assert self._quantities() == list(range(self.topic.produced)), self.story
        assert sorted(self.derived["rows"].rows()) == [(q, 2 * q) for q in range(self.topic.produced)], (
            self.story
        )
        assert sorted(self.derived["totals"].rows()) == self._totals(), self.story
        verified = verify(Subject(self.topic.spec, self.topic.things, self.topic.connections))
        assert verified.is_sound, (verified.document, self.story)

    def _do(self, name: str, work: Callable[[], object]) -> None:
        before, met = self.seen or self._seen(self._tables()), self.wire.met.copy()
        message, landed = "", None
        try:
            landed = work()
        except FrazilError as error:
            if isinstance(error, TopicChangedError | OffsetsLostError):
                raise AssertionError("nobody changed the topic") from error
            message = str(error)
        finally:
            fates = ", ".join(f"{what} {fate}" for what, fate in (self.wire.met - met).elements())
            self.story.append(f"{name} ({fates or 'calm'}): ")
        self.story[-1] += " ".join(message.split()) or "done"
        after = self.seen = self._agrees()
        self._is_true(message, before, after)
        assert landed in (None, after["landed"] - before["landed"]), self.story

    def _under_fire(self, work: Callable[[], T]) -> T:
        self.wire.plan = self._fate
        try:
            return work()
        finally:
            self.wire.calm()
            self.throttled.clear()

    def _is_true(self, message: str, before: dict[str, Any], after: dict[str, Any]) -> None:
        """What was told of the data."""
        assert not message or "Next: " in message, self.story
        if any(words in message.lower() for words in INVISIBLE):
            assert _rows_of(after) == _rows_of(before), self.story
        if any(words in message.lower() for words in UNCHANGED):
            assert after == before, self.story

    def _agrees(self) -> dict[str, Any]:
        """Rows are offsets, files are there, clocks go on, in each table that is there; what is seen then."""
        tables = self._tables()
        for name, table in tables.items():
            assert self.looks.unreadable(table) == [], (name, self.story)
            assert refusals_of_java(table) == [], (name, self.story)
        seen = self._seen(tables)
        landed = {(p, n) for p, end in (seen["position"] or {}).items() for n in range(end)}
        rows = sorted((row["$$partition"], row["$$offset"]) for row in self._read(tables.get("")))
        assert rows == sorted(landed - self.bad), self.story
        self._keep_ids(tables.get(""))
        # Dead letters may be ahead of the table's position: they are kept before it is published.
        letters = [(row["partition"], row["offset"]) for row in self._read(tables.get("letters"))]
        assert len(letters) == len({*letters}), self.story
        assert landed & self.bad <= {*letters} <= self.bad, self.story
        return seen

    def _keep_ids(self, table: Table | None) -> None:
        """Each row of version 3 has an id that no other row has, and the one that it had before."""
        if table is None or table.metadata.format_version < 3 or table.current_snapshot() is None:
            return
        ids = {key: identity for file in self._live_files(table) for key, identity in self._ids_in(*file)}
        assert None not in ids.values(), (ids, self.story)
        assert len({*ids.values()}) == len(ids), (ids, self.story)
        assert {key: self.ids.setdefault(key, each) for key, each in ids.items()} == ids, self.story

    def _live_files(self, table: Table) -> Iterator[tuple[dict[str, Any], int]]:
        return live_files(table.metadata_location, lambda path: table.io.new_input(path).open())

    def _ids_in(self, file: dict[str, Any], number: int) -> Iterator[tuple[Key, Any]]:
        for place, row in enumerate(self.read[file["file_path"]]):
            key = row["$$partition"], row["$$offset"]
            yield key, identity(row, place, file["first_row_id"], number).row_id

    def _seen(self, tables: dict[str, Table]) -> dict[str, Any]:
        """What a reader could tell to have changed: positions, columns and rows."""
        table = tables.get("")
        ledger = read_ledger(table.metadata) if table else None
        seen: dict[str, Any] = {"position": dict(ledger.position) if ledger else None}
        seen["landed"] = len(self._read(table))
        seen["columns"] = table.schema().column_names if table else None
        for name in self.derived:
            rows = [tuple(row.values()) for row in self._read(tables.get(name))]
            seen[name] = sorted(rows) if name in tables else None
        return seen

    def _tables(self) -> dict[str, Table]:
        """Those that are there: the topic's, its dead letters, and those made of it."""
        catalog = self.topic.connections.catalog
        names = {"": self.topic.things.table, "letters": self.topic.things.table.dead_letters}
        names |= {name: made.name for name, made in self.derived.items()}
        tables = {each: TableHandle(catalog, name).load_or_none() for each, name in names.items()}
        return {each: table for each, table in tables.items() if table}

    def _read(self, table: Table | None) -> list[dict[str, Any]]:
        """All rows of a table. A file never changes, so each is read once."""
        if table is None:
            return []
        for path in self.looks.files(table):
            if path not in self.read:
                self.read[path] = _rows_in(table, path)
        return [row for path in self.looks.files(table) for row in self.read[path]]

    @property
    def _own(self) -> Table | None:
        """The topic's table, once there is one."""
        return TableHandle(self.topic.connections.catalog, self.topic.things.table).load_or_none()

    def _quantities(self) -> list[int]:
        """As PyIceberg reads them."""
        table = self._own
        return sorted(row["quantity"] for row in table.scan().to_arrow().to_pylist()) if table else []

    def _totals(self) -> list[tuple[int, int, int]]:
        every = range(self.topic.produced)
        thirds = [[q for q in every if q % 3 == third] for third in range(3)]
        return [(n, len(third), sum(third)) for n, third in enumerate(thirds) if third]

    def _fate(self, asked: Asked) -> Fate | None:
        if self.throttled[asked.server]:
            self.throttled[asked.server] -= 1
            return "throttled"
        fate = self._drawn(asked)
        self.throttled[asked.server] = self.dice.choice(BURSTS) if fate == "throttled" else 0
        return fate

    def _drawn(self, asked: Asked) -> Fate | None:
        kind = _kind(asked)
        share, fates = FATES[kind]
        if self.dice.random() >= share:
            return None
        if kind != "kafka" and self.hangs and self.dice.random() < 0.2:
            self.hangs -= 1
            return "hangs"
        fate = self.dice.choice(fates)
        # Iceberg's Java trusts Glue's refusal, and deletes the metadata that its first request put in force.
        replays_java = fate == "replayed" and asked.server == "glue" and "java" in asked.agent.lower()
        return "dropped" if replays_java else fate

    def _produce(self) -> None:
        """Good records, and now and then a bad one behind them."""
        for partition in range(2):
            count = self.dice.choice([1, 3, 20])
            self.topic.trades(count, partition, plain=_PLAIN)
            self.ends[partition] += count
            if self.dice.random() < 0.2:
                self.topic.send([b"bad"], partition, plain=_PLAIN)
                self.bad.add((partition, self.ends[partition]))
                self.ends[partition] += 1

    def _land(self) -> int:
        """How many rows are said to have come."""
        return self._under_fire(lambda: land(self.topic.spec, self.topic.connections)).records

    def _compact(self) -> None:
        if self._own:
            spec, connections = self.topic.spec, self.topic.connections
            self._under_fire(lambda: compact(spec, connections, time.time(), Order(everything=True)))

    def _expire(self) -> None:
        if self._own:
            spec, connections = self.topic.spec, self.topic.connections
            with catalog_errors(connections.settings):  # as whoever orders upkeep is told
                self._under_fire(lambda: expire(spec, connections, time.time() + 60))

    def _derive(self, name: str) -> None:
        if self._own:
            self._under_fire(self.derived[name].derive)

    def _evolve(self) -> int:
        """The topic's records get a field more; the landing that follows gives the table its column."""
        self.columns += 1
        notes = [
            {"name": f"note_{n}", "type": ["null", "string"], "default": None} for n in range(self.columns)
        ]
        self.topic.register({**TRADE, "fields": [*TRADE["fields"], *notes]})
        self._produce()
        return self._land()

    def _lay_out(self) -> int:
        size = self.dice.choice(["64KiB", "1MiB"])
        self.topic.spec = self.topic.spec.model_validate(
            {**self.topic.spec.model_dump(exclude_unset=True), "write": {"page_size": size}}
        )
        self._produce()
        return self._land()


def faulty(wire: Wire, connections: Connections, name: str, folder: Path, dice: random.Random) -> Faulty:
    """A topic that was never landed, and tables that are yet to be made."""
    upkeep = {"keep_snapshots_for": "1s", "min_snapshots": 1}
    make = topic_maker(connections, name, NAMESPACE)
    version = 3 if dice.random() < 0.5 else 2
    topic = make(partitions=2, upkeep=upkeep, on_bad_record="dead_letter", format_version=version)
    queries = {"rows": (ROWS, "rows"), "totals": (TOTALS, "totals")}
    table = topic.things.table.table
    derived = {
        of: make_made(connections, folder, f"{name}_{of}", sql.format(input=table), kind=kind)
        for of, (sql, kind) in queries.items()
    }
    return Faulty(wire, topic, derived, dice)


def _kind(asked: Asked) -> str:
    """What meets fates as often."""
    if asked.server == "kafka":
        return "kafka"
    return "commit" if commits(asked) or creates(asked) else "file" if puts(asked) else "look"


def _rows_in(table: Table, path: str) -> list[dict[str, Any]]:
    """Rows of a data file. Columns go by their ids: Parquet has names of its own where these are odd."""
    with table.io.new_input(path).open() as file:
        table_read = pq.read_table(file)
    ids = (int(column.metadata[b"PARQUET:field_id"]) for column in table_read.schema)
    return table_read.rename_columns(
        [ROW_ID.get(i) or table.schema().find_field(i).name for i in ids]
    ).to_pylist()


def _rows_of(seen: dict[str, Any]) -> dict[str, Any]:
    """What was seen of rows and positions: a table that is made, and empty, shows as little as none."""
    return {name: value or None for name, value in seen.items() if name != "columns"}
