"""What surrounds each kind of work: the table's memory of it, and what readers are shown."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from frazil.clients import Clients
from frazil.connections import Connections
from frazil.errors import MissingError, PartDownError
from frazil.spec.names import Things, things
from frazil.spec.topic import TableSpec
from frazil.upkeep.kind import Order
from frazil.upkeep.kinds import KINDS
from frazil.upkeep.run import do_work, show
from frazil.upkeep.work import last_works, only_upkeep_since
from kit.readers.targets import read_glue, read_snowflake, sync_glue, sync_snowflake
from kit.tables.foreign import ROWS, foreign_table


@pytest.fixture
def spec(fresh_name: str) -> TableSpec:
    return TableSpec(topic=fresh_name, namespace="upkeep_tests")


@pytest.fixture
def names(lake: Connections, spec: TableSpec) -> Things:
    """A table that some other tool wrote, in four small files, with each catalog."""
    names = things(spec, lake.settings)
    foreign_table(lake.catalog, names.table)
    return names


@pytest.mark.also("glue", why="its commit is another one", nightly=True)
def test_a_table_remembers_when_its_last_work_ended_and_what_it_saw(
    lake: Connections, spec: TableSpec, names: Things
) -> None:
    report = do_work(KINDS["compaction"], spec, lake, 1_000_000.0, Order("a test"))

    metadata = lake.catalog.load_table(names.table.identifier).metadata
    last = last_works(metadata).get("compaction")
    assert last
    assert (last.text, last.snapshot_id) == (report.text, metadata.current_snapshot_id)
    assert last.at == pytest.approx(1_000_000.0 + report.seconds)
    assert "expiry" not in last_works(metadata)


def test_a_dry_run_is_not_remembered(connections: Connections, spec: TableSpec) -> None:
    name = things(spec, connections.settings).table
    before = foreign_table(connections.catalog, name).metadata_location

    report = do_work(KINDS["compaction"], spec, connections, time.time(), Order(dry_run=True))

    assert (report.dry_run, report.done) == (True, True)
    assert connections.catalog.load_table(name.identifier).metadata_location == before


def test_only_upkeep_is_no_news(connections: Connections, spec: TableSpec) -> None:
    name = things(spec, connections.settings).table
    before = foreign_table(connections.catalog, name).metadata
    do_work(KINDS["compaction"], spec, connections, time.time())
    compacted = connections.catalog.load_table(name.identifier).metadata
    connections.catalog.load_table(name.identifier).append(ROWS)
    landed = connections.catalog.load_table(name.identifier).metadata

    head = before.current_snapshot_id
    assert only_upkeep_since(before, head)
    assert only_upkeep_since(compacted, head)
    assert not only_upkeep_since(compacted, head, ["row_expiry"])
    assert not only_upkeep_since(compacted, 1)
    assert not only_upkeep_since(landed, head)
    assert not only_upkeep_since(landed, compacted.current_snapshot_id)


@pytest.mark.also("glue", why="Glue is not behind", nightly=True)
def test_readers_are_shown_what_upkeep_changed_by_either_catalog(
    lake: Connections, spec: TableSpec, names: Things
) -> None:
    sync_glue(lake, names)
    sync_snowflake(lake, names)
    do_work(KINDS["compaction"], spec, lake, time.time())

    shown = list(show(spec, lake, done=True))

    current = lake.catalog.load_table(names.table.identifier).metadata_location
    # Where Glue owns the tables, the commit itself moved the pointer.
    behind = ["glue", "snowflake"] if lake.settings.catalog == "rest" else ["snowflake"]
    assert [s.path[0] for s in shown] == behind
    for seen in (read_glue(lake, names), read_snowflake(lake, names)):
        assert seen
        assert seen.metadata_location == current
    assert list(show(spec, lake, done=True)) == []


def test_nothing_is_shown_where_nobody_showed_the_table_yet(
    connections: Connections, spec: TableSpec
) -> None:
    foreign_table(connections.catalog, things(spec, connections.settings).table)
    do_work(KINDS["compaction"], spec, connections, time.time())

    assert list(show(spec, connections, done=True)) == []


def test_metadata_that_glue_names_is_read_only_beside_the_tables_own(
    connections: Connections, spec: TableSpec, tmp_path: Path
) -> None:
    """Whoever may change the entry must not read the files of this machine by it."""
    names = things(spec, connections.settings)
    foreign_table(connections.catalog, names.table)
    sync_glue(connections, names)
    do_work(KINDS["compaction"], spec, connections, time.time())
    secret = tmp_path / "profile.json"
    secret.write_text('{"password": "told to nobody"}')
    entry = connections.glue.get_table(DatabaseName=names.table.namespace, Name=names.table.table)["Table"]
    wanted = {k: entry[k] for k in ("Name", "TableType", "StorageDescriptor")}
    wanted["Parameters"] = {**entry["Parameters"], "metadata_location": f"file://{secret}"}
    connections.glue.update_table(DatabaseName=names.table.namespace, TableInput=wanted)

    assert list(show(spec, connections, done=True)) == []


def test_a_table_that_is_not_there_is_named(connections: Connections, spec: TableSpec) -> None:
    with pytest.raises(MissingError, match=f"no table upkeep_tests.{spec.topic}"):
        do_work(KINDS["orphans"], spec, connections, time.time())


def test_a_spark_that_is_down_is_said_in_words(connections: Connections, spec: TableSpec) -> None:
    elsewhere = {"upkeep_remote": "sc://127.0.0.1:1"}
    nowhere = Clients(connections.settings.with_changes(spark=elsewhere))
    foreign_table(connections.catalog, things(spec, connections.settings).table)

    with pytest.raises(PartDownError, match=r"Spark does not answer[\s\S]*127.0.0.1:1\b"):
        do_work(KINDS["compaction"], spec, nowhere, time.time())
