"""What others do to a table (upkeep, rollbacks) costs no landing a record, and no landing costs them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyiceberg.table import Table
from pyspark.sql.functions import lit

from frazil.checks.run import run_check
from frazil.landing.arrivals import look_for_arrivals
from frazil.landing.land import Step, land
from frazil.landing.position.ledger import Ledger, ledger_of, read_ledger
from frazil.landing.position.state import table_states
from frazil.landing.publication import Landed
from frazil.spec.freshness import LandWhen
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.commits.stage import StagedFiles, publish
from frazil.tables.spark.session import spark_name
from kit.readers.stored import files_under
from kit.records.producing import BESIDE
from kit.records.topics import Topic
from kit.tables.branches import make_branch

pytestmark = pytest.mark.also("glue", why="its commit is another one", nightly=True)

LONG_AGO = "2001-01-01 00:00:00"


def call(topic: Topic, procedure: str, **arguments: Any) -> dict[str, Any]:
    """Calls one of Iceberg's procedures on the topic's table; its first row."""
    rows = calls(topic, procedure, **arguments)
    return rows[0] if rows else {}


def calls(topic: Topic, procedure: str, **arguments: Any) -> list[dict[str, Any]]:
    given = {"table": f"'{topic.things.table}'", **arguments}
    arguments_sql = ", ".join(f"{name} => {value}" for name, value in given.items())
    rows = topic.connections.spark.sql(f"CALL frazil.system.{procedure}({arguments_sql})").collect()
    return [row.asDict() for row in rows]


def compact(topic: Topic) -> int:
    """Rewrites all files of `main` into one; returns how many there were."""
    options = "map('rewrite-all', 'true')"
    return int(call(topic, "rewrite_data_files", options=options)["rewritten_data_files_count"])


def expire(topic: Topic) -> dict[str, Any]:
    """Expires every snapshot but the head of `main`."""
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
    return call(topic, "expire_snapshots", older_than=f"TIMESTAMP '{now}'", retain_last=1)


def remove_orphans(topic: Topic, files: Iterable[str]) -> set[str]:
    """Removes those of the files that no snapshot holds, as if they were old; returns which.

    Iceberg takes no margin under 24 hours from a listing of its own, but believes a listing it is given.
    """
    view = f"listing_{topic.name}"
    rows = ", ".join(f"('{file}', TIMESTAMP '{LONG_AGO}')" for file in files)
    topic.connections.spark.sql(
        f"CREATE OR REPLACE TEMPORARY VIEW {view} AS "
        f"SELECT * FROM VALUES {rows} AS t(file_path, last_modified)"
    ).collect()
    removed = calls(
        topic, "remove_orphan_files", older_than="TIMESTAMP '2002-01-01 00:00:00'", file_list_view=f"'{view}'"
    )
    return {row["orphan_file_location"] for row in removed}


def table_of(topic: Topic) -> Table:
    return TableHandle(topic.connections.catalog, topic.things.table).load()


def data_files(table: Table) -> set[str]:
    """What the head of `main` holds."""
    return {task.file.file_path for task in table.scan().plan_files()}


def stored_files(topic: Topic) -> set[str]:
    """What lies under the table's location in S3."""
    return set(files_under(table_of(topic)))


def head(topic: Topic) -> int:
    snapshot = table_of(topic).current_snapshot()
    assert snapshot
    return snapshot.snapshot_id


def quantities(topic: Topic) -> list[int]:
    return sorted(row["quantity"] for row in topic.rows())


def is_sound(topic: Topic) -> bool:
    names = ("row_count", "row_count_deep")
    return all(run_check(name, topic.spec, topic.connections).passed for name in names)


def after(step: str, action: Any) -> Step:
    return lambda done: action() if done == step else None


@pytest.fixture
def landed(topic: Topic) -> Topic:
    """Two landings of five records each."""
    for _ in range(2):
        topic.trades(5)
        land(topic.spec, topic.connections)
    return topic


@pytest.mark.nightly
@pytest.mark.parametrize("step", ["planned", "audited"])
def test_a_compaction_in_the_middle_disturbs_no_landing(landed: Topic, step: str) -> None:
    landed.trades(5)
    rewritten: list[int] = []

    report = land(
        landed.spec, landed.connections, on_step=after(step, lambda: rewritten.append(compact(landed)))
    )

    snapshot = table_of(landed).snapshot_by_id(report.snapshot_id or 0)
    assert snapshot
    parent = table_of(landed).snapshot_by_id(snapshot.parent_snapshot_id or 0)
    assert parent
    assert parent.summary
    assert (rewritten, parent.summary.operation.value) == ([2], "replace")
    assert (report.records, quantities(landed)) == (5, list(range(15)))
    assert len(data_files(table_of(landed))) == 2
    assert is_sound(landed)


@pytest.mark.nightly
def test_a_strangers_append_in_the_middle_disturbs_no_landing(landed: Topic) -> None:
    landed.trades(5)
    name = spark_name(landed.things.table)

    def append() -> None:
        rows = landed.connections.spark.table(name).limit(1).withColumn("quantity", lit(-1))
        rows.writeTo(name).append()

    report = land(landed.spec, landed.connections, on_step=after("audited", append))

    assert (report.records, head(landed)) == (5, report.snapshot_id)
    assert quantities(landed) == list(range(-1, 15))
    assert (
        f"{15 + 3 * BESIDE} offsets of 1 partitions landed != 16 rows"
        in run_check("row_count", landed.spec, landed.connections).text
    )


@dataclass(frozen=True)
class Interrupted(Landed):
    """A landing before whose commits others commit, one each."""

    others: list[Callable[[], object]] = field(default_factory=list)

    def next_entry(self, table: Table) -> Ledger:
        ledger = super().next_entry(table)
        if self.others:
            self.others.pop()()
        return ledger


@pytest.mark.nightly
def test_how_often_publishing_was_tried_again_is_counted(landed: Topic) -> None:
    before = read_ledger(table_of(landed).metadata)
    assert before
    entry = replace(before, spans={0: (before.position[0],) * 2}, gaps={}, records=0, landing="one more")
    others = [lambda: touch(landed), lambda: compact(landed)]

    published = publish(
        TableHandle(landed.connections.catalog, landed.things.table),
        Interrupted(StagedFiles(), entry, before, others=others),
    )

    assert (published.conflicts, published.snapshot_id) == (2, head(landed))
    assert is_sound(landed)
    landed.trades(1)
    assert land(landed.spec, landed.connections).conflicts == 0


def touch(topic: Topic) -> None:
    """What changes nothing but the head."""
    with table_of(topic).transaction() as tx, tx.update_snapshot().fast_append():
        pass


def test_the_position_outlives_the_snapshot_that_said_it(landed: Topic) -> None:
    compact(landed)
    expire(landed)
    assert [ledger_of(s) for s in table_of(landed).snapshots()] == [None]
    landed.trades(5)

    state = table_states([landed.spec], landed.connections)[0]
    report = land(landed.spec, landed.connections)

    assert (state.state, state.lag) == ("behind", 5 + BESIDE)
    assert (report.records, report.spans) == (5, {0: (10 + 2 * BESIDE, 15 + 3 * BESIDE)})
    assert quantities(landed) == list(range(15))
    assert is_sound(landed)


@pytest.mark.nightly
def test_a_table_whose_landings_are_expired_still_knows_when_it_was_landed(landed: Topic) -> None:
    before = table_states([landed.spec], landed.connections)[0].landed_at
    compact(landed)
    expire(landed)
    landed.trades(1)

    state = table_states([landed.spec], landed.connections)[0]

    assert before
    assert state.landed_at == pytest.approx(before, abs=60)
    assert state.freshness is not None
    patient = landed.spec.model_copy(update={"land_when": LandWhen(age=timedelta(days=1))})
    assert look_for_arrivals([patient], landed.connections).due == ()
    assert (
        f"Records waiting: {1 + BESIDE}, last landing"
        in run_check("freshness", landed.spec, landed.connections).text
    )


@pytest.mark.nightly
def test_expiry_and_orphan_removal_take_no_file_that_main_holds(landed: Topic) -> None:
    stray = f"{table_of(landed).location()}/data/written-by-a-landing-that-died.parquet"
    with table_of(landed).io.new_output(stray).create() as file:
        file.write(b"never committed")
    named = data_files(table_of(landed))

    expired = expire(landed)
    removed = remove_orphans(landed, stored_files(landed))

    assert expired["deleted_data_files_count"] == 0
    assert removed == {stray}
    assert data_files(table_of(landed)) == named
    assert named < stored_files(landed)
    assert quantities(landed) == list(range(10))
    assert is_sound(landed)


@pytest.mark.nightly
@pytest.mark.parametrize("work", ["landing", "redrive", "replay"])
def test_what_an_older_release_left_in_the_middle_goes(topic: Topic, work: str) -> None:
    """Its works named their files by a branch until these were published."""
    topic.trades(5)
    land(topic.spec, topic.connections)
    branch = f"{work}_{int((time.time() - 7 * 3600) * 1000)}_0a1b2c3d"
    make_branch(topic.connections.catalog, topic.things.table, branch)
    table_of(topic).append(table_of(topic).scan().to_arrow(), branch=branch)
    table = table_of(topic)
    scan = table.scan(snapshot_id=table.metadata.refs[branch].snapshot_id)
    dead = {task.file.file_path for task in scan.plan_files()} - data_files(table)
    topic.trades(5)
    land(topic.spec, topic.connections)

    expired = expire(topic)
    remove_orphans(topic, stored_files(topic))

    assert len(dead) == expired["deleted_data_files_count"] == 1
    assert not dead & stored_files(topic)
    assert list(table_of(topic).metadata.refs) == ["main"]
    assert quantities(topic) == list(range(10))
    assert is_sound(topic)


@pytest.mark.nightly
def test_a_rollback_takes_the_position_back_and_its_records_are_landed_again_once(topic: Topic) -> None:
    topic.trades(5)
    first = land(topic.spec, topic.connections)
    topic.trades(5)
    land(topic.spec, topic.connections)
    call(topic, "rollback_to_snapshot", snapshot_id=first.snapshot_id)
    topic.trades(5)

    metadata = table_of(topic).metadata
    rolled_back = read_ledger(metadata)
    again = land(topic.spec, topic.connections)

    each = 5 + BESIDE
    assert (
        metadata.properties["frazil.spans"] == f'{{"0":[{each},{2 * each}]}}'
    )  # only a copy: the summary wins
    assert rolled_back
    assert rolled_back.position == {0: each}
    assert (again.records, again.spans) == (10, {0: (each, 3 * each)})
    assert quantities(topic) == list(range(15))
    assert is_sound(topic)
