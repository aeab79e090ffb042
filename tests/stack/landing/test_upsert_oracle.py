"""Random changes, replays, kills, compactions: at every snapshot the table is what a dictionary says.

Plain records, and Debezium's envelopes: those in fewer changes, for the merge is the same. The envelopes in
JSON keep deleted rows, and go by the source's log.
FRAZIL_TEST_UPSERTS is the number of changes, FRAZIL_TEST_SEED says which; `make upserts` takes a million.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from frazil.checks.run import run_check
from frazil.connections import Connections
from frazil.errors import OvertakenError
from frazil.landing.land import land
from frazil.landing.position.ledger import ledgers
from frazil.landing.repairs.rollback import roll_back
from frazil.tables.spark.session import spark_name
from frazil.upkeep.compaction.run import compact
from frazil.upkeep.kind import Order
from kit.readers.duck import duckdb_on
from kit.readers.opened import table_of
from kit.readers.targets import sync_glue, sync_snowflake
from kit.records.envelopes import captured
from kit.records.topics import topic_maker
from kit.records.upserts import Change, Upserts, by_key, upserts
from kit.runs.waiting import PATIENCE
from kit.wires.killed import upsert_process

CHANGES = int(os.environ.get("FRAZIL_TEST_UPSERTS", "20000"))
SEED = int(os.environ.get("FRAZIL_TEST_SEED", "0")) or random.randrange(1, 2**31)
KEYS = max(100, CHANGES // 10)
ROUNDS = 5


class Oracle:
    """What each partition of the topic holds, and what must be left of it at any position."""

    def __init__(self, made: Upserts, seed: int) -> None:
        self.made, self.random = made, random.Random(seed)
        self.logs: dict[int, list[Change]] = {0: [], 1: []}

    def send(self, count: int) -> None:
        for partition in self.logs:
            changes = [self._change(partition) for _ in range(count // 2)]
            again = changes[-self.random.randrange(1, 20) :]  # a producer that starts anew
            self.logs[partition] += self.made.send([*changes, *again], partition, plain="logs are by offset")

    def _change(self, partition: int) -> Change:
        any_key, often = self.random.randrange(KEYS), int(KEYS * self.random.random() ** 4)
        n, gone = self.random.choice([any_key, any_key, often]), self.random.random() < 0.2
        return f"p{partition}k{n}", None if gone else self.random.randrange(10**6)

    def at(self, position: dict[int, int]) -> dict[str, int]:
        """The rows of a table at a position."""
        rows = dict[str, int | None]()
        for partition, end in position.items():
            rows |= dict(self.logs[partition][:end])
        return {key: quantity for key, quantity in rows.items() if quantity is not None}

    def marked_at(self, position: dict[int, int]) -> dict[str, tuple[int | None, bool]]:
        """The same where deleted rows stay: the last quantity of each key, and whether it is deleted."""
        rows = dict[str, tuple[int | None, bool]]()
        for partition, end in position.items():
            for key, quantity in self.logs[partition][:end]:
                was, _ = rows.get(key, (None, False))
                rows[key] = (was, True) if quantity is None else (quantity, False)
        return rows


@pytest.mark.nightly
@pytest.mark.parametrize("written", ["plain", "avro", "json"])
def test_every_kept_snapshot_is_what_the_dictionary_says(
    connections: Connections, fresh_name: str, written: Any
) -> None:
    print(f"FRAZIL_TEST_SEED={SEED}")
    make, layout = topic_maker(connections, fresh_name, "landing_tests"), ["bucket(4, key)"]
    plain = written == "plain"
    soft = {"delete": "soft", "order_by": "source.lsn"} if written == "json" else {}
    small = {"target_file_size": 1_000}  # so that no file is too small for a vector
    own = soft | ({"format_version": 3, "write": small} if written == "avro" else {})
    made = (
        upserts(make, partition_by=layout) if plain else captured(make, written, partition_by=layout, **own)
    )
    oracle, topic = Oracle(made, SEED), made.topic
    changes = CHANGES if plain else CHANGES // 10
    trouble: list[Callable[[Upserts, random.Random], None]] = [_calm, _compacted, _killed, _rolled_back, _two]
    for number in range(ROUNDS):
        oracle.send(changes // ROUNDS)
        trouble[number % len(trouble)](made, oracle.random)
        land(topic.spec, connections)

    table = table_of(topic)
    snapshots = [(s.snapshot_id, ledger.position) for s, ledger in ledgers(table.metadata)]
    assert len(snapshots) >= 3  # a rollback takes up to three of them away
    for snapshot, position in snapshots:
        names = ("key", "quantity", "$$deleted") if soft else ("key", "quantity")
        rows = table.scan(snapshot_id=snapshot, selected_fields=names).to_arrow()
        key, *values = (rows[name].to_pylist() for name in names)
        actual = by_key(zip(key, zip(*values, strict=True) if soft else values[0], strict=True))
        assert actual == (oracle.marked_at(position) if soft else oracle.at(position)), snapshot
    if not soft:
        _read_by_all(made, oracle.at(dict(snapshots[0][1])))
    for check in ("row_count", "row_count_deep"):
        result = run_check(check, topic.spec, connections)
        assert result.passed, result.text


def _calm(made: Upserts, chance: random.Random) -> None:
    """Lands a part of what waits."""
    land(made.topic.spec, made.topic.connections, max_records=chance.randrange(1, made.sent))


def _killed(made: Upserts, chance: random.Random) -> None:
    step = chance.choice(["planned", "written", "audited", "published"])
    process = upsert_process(made.topic.spec, made.topic.connections.settings, step)
    assert process.wait(PATIENCE) == -signal.SIGKILL, process.stderr and process.stderr.read()


def _compacted(made: Upserts, chance: random.Random) -> None:
    """A compaction comes while a landing is under way."""

    def once(step: str) -> None:
        if step == "written" and not done:
            done.append(compact(made.topic.spec, made.topic.connections, time.time(), Order(everything=True)))

    done: list[object] = []
    land(made.topic.spec, made.topic.connections, on_step=once, max_records=chance.randrange(1, made.sent))


def _rolled_back(made: Upserts, chance: random.Random) -> None:
    snapshots = list(ledgers(table_of(made.topic).metadata))
    snapshot, _ = chance.choice(snapshots[1:4])
    roll_back(made.topic.spec, made.topic.connections, snapshot.snapshot_id)


def _two(made: Upserts, chance: random.Random) -> None:
    """Two landings at once: one of them is dropped, or finds nothing."""
    other = upsert_process(made.topic.spec, made.topic.connections.settings)
    with suppress(OvertakenError):
        land(made.topic.spec, made.topic.connections)
    _, output = other.communicate(timeout=PATIENCE)
    assert other.returncode == 0 or "was quicker" in output, output


def _read_by_all(made: Upserts, rows: dict[str, int]) -> None:
    topic, connections = made.topic, made.topic.connections
    query = f"SELECT key, quantity FROM {spark_name(topic.things.table)}"
    assert by_key((r["key"], r["quantity"]) for r in connections.spark.sql(query).collect()) == rows
    with duckdb_on(connections.settings) as duck:
        location = table_of(topic).metadata_location
        assert by_key(duck.sql(f"SELECT key, quantity FROM iceberg_scan('{location}')").fetchall()) == rows
    sync_glue(connections, topic.things)
    shown = sync_snowflake(connections, topic.things)
    assert shown.rows == len(rows)
    with connections.snowflake() as snowflake:
        fetched = snowflake.cursor().execute(f"select key, quantity from {shown.name}").fetchall()
    assert by_key((str(key), int(quantity)) for key, quantity in fetched) == rows
