"""What a look at real tables finds, whoever wrote them, and how few requests it costs."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.table import Table

from frazil.checks.run import run_check
from frazil.clients import Clients
from frazil.connections import Connections
from frazil.errors import PartDownError
from frazil.landing.land import land
from frazil.settings.profile import Settings
from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec
from frazil.spec.upkeep import Upkeep
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.commits.commit import set_properties
from frazil.tables.spark.session import spark_name
from frazil.upkeep.census import census_of
from frazil.upkeep.due import Memory, look_for_work
from frazil.upkeep.kind import Order
from frazil.upkeep.kinds import KINDS
from frazil.upkeep.run import do_work
from frazil.upkeep.work import LastWork, remembered
from kit.records.topics import MakeTopic, Topic

NAMESPACE = "upkeep_tests"
SCHEMA = pa.schema([("side", pa.string()), ("quantity", pa.int64())])
ROWS = pa.Table.from_pylist([{"side": "BUY", "quantity": n} for n in range(10)], schema=SCHEMA)
DAY = 86400.0


def spec_of(name: str, **more: Any) -> TableSpec:
    return TableSpec(topic=name, namespace=NAMESPACE, **more)


@contextmanager
def requests_counted(lake: Connections) -> Iterator[list[str]]:
    """Every request to the catalog while the context lasts."""
    seen: list[str] = []
    if lake.settings.catalog == "glue":
        events = lake.catalog.glue.meta.events  # type: ignore[attr-defined]
        events.register("before-call.glue", lambda model, **_: seen.append(model.name), unique_id="count")
        yield seen
        events.unregister("before-call.glue", unique_id="count")
        return
    hooks = lake.catalog._session.hooks["response"]  # type: ignore[attr-defined]
    hooks.append(lambda response, **_: seen.append(response.url))
    yield seen
    hooks.clear()


MakeTables = Callable[[Connections, int], list[TableSpec]]


@pytest.fixture
def make_tables(fresh_name: str) -> Iterator[MakeTables]:
    """Makes tables as another tool does: the first two have two files each, the others none."""
    made: list[Table] = []

    def make(lake: Connections, count: int) -> list[TableSpec]:
        names = [f"{fresh_name}_{n}" for n in range(count)]
        lake.catalog.create_namespace_if_not_exists(NAMESPACE)
        made.extend(lake.catalog.create_table((NAMESPACE, name), SCHEMA) for name in names)
        for table in made[:2]:
            table.append(ROWS)
            table.append(ROWS)
        return [spec_of(name) for name in names]

    yield make
    for table in made:
        table.catalog.drop_table(table.name())


def test_a_look_at_thirty_tables_asks_a_rest_catalog_for_each_once(
    connections: Connections, make_tables: MakeTables
) -> None:
    tables, memory, now = make_tables(connections, 30), Memory(), time.time()

    with requests_counted(connections) as first:
        seen = look_for_work(tables, connections, now, memory)
    with requests_counted(connections) as second:
        again = look_for_work(tables, connections, now, memory)
    connections.catalog.load_table((NAMESPACE, tables[5].topic)).append(ROWS)
    with requests_counted(connections) as third:
        moved = look_for_work(tables, connections, now, memory)

    assert len(first) == 30 + 2  # the two that have files are loaded whole, to look into them
    assert (seen.looked_at, seen.changed, seen.looked_into, seen.waiting) == (30, 30, 2, 0)
    assert [w.kind.name for w in seen.due] == ["compaction", "compaction"]
    assert len(second) == len(third) == 30
    assert (again.changed, again.looked_into, again.due) == (0, 0, seen.due)
    assert (moved.changed, moved.looked_into, moved.due) == (1, 0, seen.due)


def test_glue_tells_what_moved_in_a_request_per_hundred_tables(
    stack: Settings, make_tables: MakeTables
) -> None:
    lake = Clients(stack.with_changes(catalog="glue"))
    tables, memory, now = make_tables(lake, 20), Memory(), time.time()

    with requests_counted(lake) as first:
        seen = look_for_work(tables, lake, now, memory)
    with requests_counted(lake) as second:
        again = look_for_work(tables, lake, now, memory)
    lake.catalog.load_table((NAMESPACE, tables[5].topic)).append(ROWS)
    with requests_counted(lake) as third:
        moved = look_for_work(tables, lake, now, memory)

    pages = first.count("GetTables")
    assert pages < 20
    assert len(first) == pages + 2, "the two that have files are loaded whole, to look into them"
    assert (seen.looked_at, seen.changed, seen.looked_into) == (20, 20, 2)
    assert len(second) == pages
    assert len(third) == pages
    assert [w.kind.name for w in seen.due] == ["compaction", "compaction"]
    assert seen.due == again.due == moved.due


def test_a_look_reads_the_manifests_of_few_tables_and_the_next_one_goes_on(
    connections: Connections, make_tables: MakeTables
) -> None:
    tables, memory, now = make_tables(connections, 2), Memory(), time.time()

    hurried = look_for_work(tables, connections, now, memory, patience=0.0)
    first = look_for_work(tables, connections, now, memory, most=1)
    second = look_for_work(tables, connections, now, memory, most=1)

    assert (hurried.looked_into, hurried.waiting, hurried.due) == (0, 2, ())
    assert (first.looked_into, first.waiting, len(first.due)) == (1, 1, 1)
    assert (second.looked_into, second.waiting, len(second.due)) == (1, 0, 2)


def test_the_first_look_works_on_a_table_that_spark_wrote(connections: Connections, fresh_name: str) -> None:
    connections.catalog.create_namespace_if_not_exists(NAMESPACE)
    name = TableName(NAMESPACE, fresh_name)
    made = connections.catalog.create_table(name.identifier, SCHEMA)
    with made.update_spec() as update:
        update.add_identity("side")
    spark, table = connections.spark, spark_name(name)
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')")
    for _ in range(2):
        spark.sql(f"INSERT INTO {table} VALUES ('BUY', 1), ('BUY', 2), ('SELL', 3)")
    spark.sql(f"DELETE FROM {table} WHERE quantity = 1")

    spec = spec_of(fresh_name)
    seen = look_for_work([spec], connections, time.time())
    census = census_of(spec, TableHandle(connections.catalog, name).load(), time.time())

    assert [(w.kind.name, w.numbers["files_saved"]) for w in seen.due] == [("compaction", 2)]
    assert (census.files, census.ideal, census.records, census.deletes.rows) == (4, 2, 6, 2)
    assert {(p.partition, p.files, p.deleted_rows, p.gain.over) for p in census.partitions} == {
        ("side=BUY", 2, 2, 2),
        ("side=SELL", 2, 0, 0),
    }
    assert census.deleted_share == pytest.approx(1 / 3)


def test_a_broken_table_is_told_and_does_not_hide_the_others(
    connections: Connections, make_tables: MakeTables
) -> None:
    broken, sound = make_tables(connections, 2)
    table = connections.catalog.load_table((NAMESPACE, broken.topic))
    head = table.current_snapshot()
    assert head
    table.io.delete(head.manifest_list)

    seen = look_for_work([broken, sound], connections, time.time())

    assert [work.spec for work in seen.due] == [sound]
    assert seen.failed.keys() == {f"{NAMESPACE}.{broken.topic}"}
    assert "Path does not exist" in seen.failed[f"{NAMESPACE}.{broken.topic}"]


def test_a_catalog_that_is_down_is_one_clear_error(stack: Settings) -> None:
    nobody = Clients(stack.with_changes(rest={"uri": "http://127.0.0.1:1"}))

    with pytest.raises(PartDownError, match="catalog does not answer"):
        look_for_work([spec_of("any")], nobody, time.time())


def test_tables_that_are_missing_are_told_and_do_not_disturb(connections: Connections) -> None:
    seen = look_for_work([spec_of("nobody_made_this")], connections, time.time())

    assert seen.missing == (f"{NAMESPACE}.nobody_made_this",)
    assert (seen.looked_at, seen.due, seen.failed) == (0, (), {})


def test_landings_make_work_and_a_remembered_compaction_gives_rest(topic: Topic) -> None:
    catalog, name = topic.connections.catalog, topic.things.table
    for _ in range(2):
        topic.trades(5)
        land(topic.spec, topic.connections)
    memory, now = Memory(), float(round(time.time()))
    due = {w.kind.name: w.reason for w in look_for_work([topic.spec], topic.connections, now, memory).due}

    for kind in KINDS:
        set_properties(TableHandle(catalog, name), remembered(kind, LastWork(now + 1, "done", None)))
    topic.trades(5)
    land(topic.spec, topic.connections)
    resting = look_for_work([topic.spec], topic.connections, now + 900, memory)
    later = look_for_work([topic.spec], topic.connections, now + 901, memory)

    assert due.keys() == {"compaction"}
    assert re.fullmatch(
        r"2 files of [\d.]+ K(i)?B can become 1: there was no compaction yet\.", due["compaction"]
    )
    assert (resting.due, resting.looked_into) == ((), 0)
    assert len(later.due) == 1
    assert later.due[0].reason.startswith("3 files of ")
    assert later.due[0].reason.endswith(" can become 1: last compaction 900 s ago, 900 s are enough.")


@pytest.mark.nightly
def test_work_that_is_done_is_not_due_again_until_something_comes(topic: Topic) -> None:
    for _ in range(2):
        topic.trades(5)
        land(topic.spec, topic.connections)
    memory, now = Memory(), time.time()
    before = look_for_work([topic.spec], topic.connections, now, memory)
    for work in before.due:
        do_work(work.kind, work.spec, topic.connections, now, Order(work.reason))

    after = look_for_work([topic.spec], topic.connections, now + DAY, memory)
    topic.trades(5)
    land(topic.spec, topic.connections)
    later = look_for_work([topic.spec], topic.connections, now + DAY, memory)

    assert {w.kind.name for w in before.due} == {"compaction"}
    assert "compaction" not in {w.kind.name for w in after.due}
    assert [w.numbers["files_saved"] for w in later.due if w.kind.name == "compaction"] == [1]


@pytest.mark.parametrize("names", ["tableflow", "portable"])
def test_rows_past_their_time_are_found_by_the_files_own_statistics(
    make_topic: MakeTopic, names: str
) -> None:
    topic = make_topic(keep_rows_for=timedelta(days=30), metadata_names=names)
    topic.trades(5)
    land(topic.spec, topic.connections)
    now = time.time()

    young = look_for_work([topic.spec], topic.connections, now + 29 * DAY)
    old = look_for_work([topic.spec], topic.connections, now + 31 * DAY)

    assert "row_expiry" not in {w.kind.name for w in young.due}
    assert "row_expiry" in {w.kind.name for w in old.due}
    assert "rows are kept for 2592000 s" in next(w.reason for w in old.due if w.kind.name == "row_expiry")


def test_time_alone_makes_expiry_and_orphans_due(topic: Topic) -> None:
    for _ in range(3):
        topic.trades(1)
        land(topic.spec, topic.connections)
    now, memory = time.time(), Memory()
    settled = topic.spec.model_copy(update={"upkeep": Upkeep(min_snapshots=2)})

    look_for_work([settled], topic.connections, now, memory)
    week = look_for_work([settled], topic.connections, now + 7 * DAY + 60, memory)

    kinds = {w.kind.name: w for w in week.due}
    assert kinds.keys() == {"compaction", "expiry", "orphans"}
    assert int(kinds["expiry"].numbers["expirable"]) > 1


def test_file_health_passes_a_fresh_table_and_warns_where_upkeep_does_not_keep_up(topic: Topic) -> None:
    for _ in range(4):
        topic.trades(2)
        land(topic.spec, topic.connections)
    slack = topic.spec.model_copy(update={"upkeep": Upkeep(small_bytes=1, max_snapshots=1)})  # type: ignore[arg-type]

    sound = run_check("file_health", topic.spec, topic.connections)
    poor = run_check("file_health", slack, topic.connections)

    assert sound.passed
    assert (sound.numbers["files"], sound.numbers["files_after_compaction"]) == (4, 1)
    assert (poor.passed, poor.severity) == (False, "WARN")
    assert "small files to be compacted hold" in poor.text
    assert "snapshots, 4 allowed" in poor.text
    name = topic.things.table
    assert poor.text.endswith(f": `frazil compact {name}`, `frazil expire {name}` fixes it.")
