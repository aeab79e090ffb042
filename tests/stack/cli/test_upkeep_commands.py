"""`frazil compact`, `expire`, `orphans` and `rollback`: upkeep, from a shell."""

from __future__ import annotations

import time
from pathlib import Path

import dagster as dg
import pytest

from frazil.connections import Connections
from frazil.landing.land import land
from frazil.spec.names import Things, things
from frazil.spec.topic import TableSpec
from kit.readers.targets import read_glue, sync_glue
from kit.records.topics import Topic, topic_maker
from kit.runs.shell import NAMESPACE, Command, Shell
from kit.tables.foreign import file_count, foreign_table


@pytest.fixture
def names(shell: Shell, connections: Connections, fresh_name: str) -> Things:
    """A pipeline of one table, which some other tool wrote in four small files."""
    shell.write({"topic": fresh_name, "publish": ["glue"]})
    names = things(TableSpec(topic=fresh_name, namespace=NAMESPACE), connections.settings)
    foreign_table(connections.catalog, names.table)
    return names


def test_compact_says_first_what_it_would_do_then_does_it_and_shows_it(
    frazil: Command, connections: Connections, names: Things, dagster_home: Path
) -> None:
    catalog, before = connections.catalog, sync_glue(connections, names).metadata_location

    planned = frazil("compact", str(names.table), "--dry-run", "--json")
    untouched = catalog.load_table(names.table.identifier).metadata_location
    done = frazil("compact", "--all", "--json", DAGSTER_HOME=str(dagster_home))

    (would,), (did,) = planned.document, done.document
    shown = read_glue(connections, names)
    assert (planned.code, done.code, untouched) == (0, 0, before)
    assert (would["dry_run"], would["done"], would["snapshot_id"]) == (True, True, None)
    assert (did["dry_run"], did["done"], did["kind"]) == (False, True, "compaction")
    assert did["seconds"] > 0
    assert file_count(catalog, names.table) == 1
    assert shown
    assert shown.metadata_location == catalog.load_table(names.table.identifier).metadata_location
    assert heard(dagster_home, names) == did["text"]


def heard(dagster_home: Path, names: Things) -> object:
    """What Dagster was told of the Iceberg asset."""
    with dg.DagsterInstance.from_config(str(dagster_home)) as instance:
        (record,) = instance.fetch_observations(dg.AssetKey(names.iceberg_path), limit=2).records
    assert record.asset_observation
    return record.asset_observation.metadata["text"].value


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        (("expire",), "expiry"),
        (("expire", "--rows"), "row_expiry"),
        (("orphans",), "orphans"),
        (("statistics",), "statistics"),
    ],
)
def test_each_kind_of_work_gives_one_document(
    frazil: Command, names: Things, command: tuple[str, ...], kind: str
) -> None:
    result = frazil(*command, str(names.table), "--dry-run", "--json")

    assert result.code == 0, result.err
    (report,) = result.document
    assert (report["table"], report["kind"], report["dry_run"]) == (str(names.table), kind, True)
    assert report["text"]


@pytest.mark.parametrize("command", [("compact",), ("expire",), ("expire", "--rows"), ("orphans",)])
def test_of_all_tables_one_that_is_not_made_yet_waits_and_is_no_failure(
    frazil: Command, shell: Shell, names: Things, command: tuple[str, ...]
) -> None:
    """A timer runs them for all tables, docs/run.md advises; a table that is named must be there."""
    shell.write({"topic": f"{names.table.table}_later"}, name="later")
    later = f"{names.table}_later"

    every = frazil(*command, "--all", "--dry-run", "--json")
    named = frazil(*command, later, "--dry-run", "--json")

    report, waits = sorted(every.document, key=lambda row: "awaits" in row)
    assert (every.code, named.code) == (0, 1)
    assert (report["table"], waits["table"]) == (str(names.table), later)
    assert f"{later} waits: There is no table {later}" in every.err


@pytest.mark.nightly
def test_each_kind_of_work_goes_through_and_what_spark_does_in_a_process_of_its_own(
    frazil: Command, shell: Shell, connections: Connections, fresh_name: str
) -> None:
    """Where nothing was done before: PySpark makes something else of its functions without a session."""
    topic = topic_maker(connections, fresh_name, NAMESPACE)(publish=())
    shell.write({"topic": topic.name, "publish": [], "keep_rows_for": "30d"})
    name, schema_id = str(topic.things.table), topic.register(topic.schema)
    trade = topic.encode({"side": "BUY", "quantity": 1, "symbol": "Z"}, schema_id)
    for _ in range(2):
        for days in (60, 0):
            topic.send([trade], timestamp=int((time.time() - days * 86400) * 1000))
        land(topic.spec, topic.connections)

    (planned,) = frazil("expire", "--rows", name, "--dry-run", "--json").document
    expired = shell("expire", "--rows", name, "--json")
    others = [
        shell("compact", name, "--json"),
        *(frazil(each, name, "--json") for each in ("expire", "orphans", "statistics")),
    ]

    assert (expired.code, expired.err) == (0, "")
    (report,) = expired.document
    assert (planned["numbers"]["rows"], report["numbers"]["rows"]) == (2, 2)
    assert planned["text"].startswith("Would delete 2 rows older than ")
    assert [result.code for result in others] == [0, 0, 0, 0]
    assert (len(topic.rows()), file_count(connections.catalog, topic.things.table)) == (2, 1)


def test_a_catalog_that_is_down_is_exit_code_5(frazil: Command, names: Things) -> None:
    result = frazil("compact", str(names.table), "--json", FRAZIL_REST__URI="http://127.0.0.1:1")

    assert result.code == 5
    assert "The Iceberg catalog does not answer" in result.err


@pytest.fixture
def topic(connections: Connections, shell: Shell, fresh_name: str) -> Topic:
    """A topic that a pipeline names, landed twice, three trades each."""
    topic = topic_maker(connections, fresh_name, NAMESPACE)(publish=())
    shell.write({"topic": topic.name, "publish": []})
    return topic


def landed(topic: Topic) -> int:
    topic.trades(3)
    return land(topic.spec, topic.connections).snapshot_id or 0


@pytest.mark.plain(why="positions are exact")
def test_a_table_is_rolled_back_and_told_so(frazil: Command, topic: Topic) -> None:
    first, last = landed(topic), landed(topic)
    name = str(topic.things.table)

    by_id = frazil("rollback", name, "--to", str(first), "--json")
    again = frazil("rollback", name, "--to", "2100-01-01")
    unknown = frazil("rollback", name, "--to", "1")
    too_old = frazil("rollback", name, "--to", "2020-01-01T12:00+02:00")
    nonsense = frazil("rollback", name, "--to", "yesterday")

    assert by_id.code == 0, by_id.err
    document = by_id.document
    assert (document["snapshot_id"], document["from_snapshot_id"], document["rows"]) == (
        str(first),
        str(last),
        3,
    )
    assert (document["position"], document["offsets_again"]) == ({"0": 3}, 3)
    assert len(topic.rows()) == 3
    assert (again.code, "is at snapshot" in again.err) == (0, True)
    assert (unknown.code, too_old.code, unknown.is_clear, too_old.is_clear) == (1, 1, True, True)
    assert f"{name} has no snapshot 1" in unknown.err
    assert (nonsense.code, "is neither a snapshot's id nor a time" in nonsense.err) == (2, True)


def test_census_shows_a_table_to_people_and_scripts(frazil: Command, topic: Topic, name: str) -> None:
    topic.trades(10)
    land(topic.spec, topic.connections)

    shown, document = frazil("census", name), frazil("census", "--json").document

    assert shown.code == 0
    assert name in shown.out
    assert "< 1 MiB" in shown.out
    assert [(d["table"], d["files"], d["small_files"]) for d in document] == [(name, 1, 1)]
    assert document[0]["partitions"][0]["records"] == 10
