"""The command line as scripts and people use it: tables or one document on stdout, the rest on stderr."""

from __future__ import annotations

import json
from pathlib import Path

import dagster as dg
import pytest

from frazil.checks.run import run_check
from frazil.connections import Connections
from frazil.landing.land import land
from frazil.publishing.snowflake.connection import open_snowflake, rows
from frazil.publishing.snowflake.tables import Snowflake
from frazil.spec.topic import TableSpec
from kit.graph.graphs import evaluation_of
from kit.readers.targets import snowflake_path
from kit.records.topics import Topic, create_topic
from kit.runs.shell import NAMESPACE, Command, Shell

pytestmark = pytest.mark.plain(why="what commands tell of offsets is exact")


def rows_told(home: Path, path: tuple[str, ...]) -> object:
    """How many rows Dagster was told that an asset has."""
    with dg.DagsterInstance.from_config(str(home)) as instance:
        event = instance.get_latest_materialization_event(dg.AssetKey(path))
    assert event, f"Dagster heard nothing of {path}"
    assert event.asset_materialization
    return event.asset_materialization.metadata["dagster/row_count"].value


def test_land_reports_each_table_and_the_next_one_takes_only_what_is_new(
    frazil: Command, topic: Topic, name: str, dagster_home: Path
) -> None:
    first = frazil("land", name, "--max-records", "4", "--json", DAGSTER_HOME=str(dagster_home))
    rest = frazil("land", "--all", "--json")

    (report,) = first.document
    assert (first.code, rest.code) == (0, 0)
    assert {"table", "snapshot_id", "records", "dead_letters", "spans", "seconds"} <= set(report)
    assert (report["table"], report["records"], report["dead_letters"]) == (name, 4, 0)
    assert report["spans"] == {"0": [0, 4]}
    assert rows_told(dagster_home, topic.things.iceberg_path) == 4
    assert rows_told(dagster_home, snowflake_path(topic.things)) == 4
    assert [r["records"] for r in rest.document] == [6]
    assert run_check("glue_pointer", topic.spec, topic.connections).passed
    assert [row["quantity"] for row in topic.rows()] == list(range(10))


def test_tables_and_lag_tell_where_a_table_stands(frazil: Command, topic: Topic, name: str) -> None:
    new = frazil("tables", "--json").document
    report = land(topic.spec, topic.connections)
    topic.trades(3, partition=1)

    (state,) = frazil("tables", name, "--json").document
    lag = frazil("lag", "--json").document

    assert [(s["state"], s["lag"], s["snapshot_id"], s["freshness"]) for s in new] == [
        ("new", 10, None, None)
    ]
    assert (state["identifier"], state["topic"], state["mode"]) == (name, topic.name, "append")
    assert (state["snapshot_id"], state["rows"], state["files"]) == (str(report.snapshot_id), 10, 1)
    assert (state["position"], state["lag"], state["state"]) == ({"0": 10, "1": 0}, 3, "behind")
    assert state["bytes"] > 0
    assert state["freshness"] > 0
    assert [(r["partition"], r["position"], r["end"], r["lag"]) for r in lag] == [
        (0, 10, 10, 0),
        (1, 0, 3, 3),
    ]


def test_lag_tells_of_a_topic_that_is_missing(frazil: Command, shell: Shell, fresh_name: str) -> None:
    shell.write({"topic": fresh_name, "publish": []})

    (row,) = frazil("lag", "--json").document

    assert (row["topic"], row["lag"], row["state"]) == (fresh_name, None, "topic missing")


def test_describe_shows_columns_and_landings(frazil: Command, topic: Topic, name: str) -> None:
    report = land(topic.spec, topic.connections, run_id="run-1")

    document = frazil("describe", name, "--json").document

    assert document["state"]["identifier"] == name
    assert [c["name"] for c in document["columns"]][:4] == ["key", "side", "quantity", "symbol"]
    (landing,) = document["landings"]
    assert (landing["snapshot_id"], landing["records"], landing["run_id"]) == (
        str(report.snapshot_id),
        10,
        "run-1",
    )
    assert landing["spans"]["0"] == [0, 10]
    assert set(document["shown_in"]) == {"glue", "snowflake"}


def drop_view(topic: Topic) -> None:
    """Somebody drops Snowflake's clean view."""
    with open_snowflake(topic.connections.settings) as connection:
        _, view = Snowflake(topic.spec, topic.connections.settings).relations
        rows(connection, f"DROP VIEW {view}")


def test_a_table_is_shown_everywhere_by_sync_and_then_passes_its_checks(
    frazil: Command, topic: Topic, name: str, dagster_home: Path
) -> None:
    land(topic.spec, topic.connections)

    before = frazil("check", name, "--json")
    synced = frazil("sync", name, "--json", DAGSTER_HOME=str(dagster_home))
    layers = frazil("freshness", name, "--json", DAGSTER_HOME=str(dagster_home))
    checked = frazil("check", "--all", "--deep", "--json")
    compared = frazil("check", name, "--values", "3", "--json").document[-1]
    *_, athena, redshift = frazil(
        "check", name, "--reader", "athena", "--reader", "redshift", "--json"
    ).document

    failed = {c["check"] for c in before.document if not c["passed"]}
    assert (before.code, failed) == (1, {"glue_pointer", "snowflake_current"})
    assert "2 of 6 checks failed" in before.err
    (row,) = synced.document
    assert (synced.code, row["table"]) == (0, name)
    assert (row["glue"]["changed"], row["snowflake"]["rows"]) == (True, 10)
    assert rows_told(dagster_home, snowflake_path(topic.things)) == 10
    values = [(row["layer"], row["seconds"], row["commits"]) for row in layers.document]
    assert (layers.code, values) == (0, [("iceberg", 0, 1), ("glue", 0, 1), ("snowflake", 0, 1)])
    _, glue, snowflake = layers.document
    assert 0 < glue["p50"] < snowflake["p50"] < 600
    assert (checked.code, len(checked.document)) == (0, 8)
    assert (compared["check"], compared["status"], compared["numbers"]["rows"]) == ("values", "passed", 3)
    assert [(each["check"], each["status"]) for each in (athena, redshift)] == [
        ("reader athena", "passed"), ("reader redshift", "passed")
    ]  # fmt: skip
    assert "string: cut at 16,384 bytes" in redshift["text"]
    for check in checked.document:
        assert {"check", "passed", "severity", "text", "numbers"} <= set(check)
        assert check["passed"], check["text"]


def test_drift_names_what_readers_do_not_see_and_repairs_it(frazil: Command, topic: Topic, name: str) -> None:
    glue = topic.connections.glue
    land(topic.spec, topic.connections)

    first = frazil("drift", name)
    made = frazil("drift", name, "--repair", "--json")
    topic.trades(5)
    land(topic.spec, topic.connections)
    drop_view(topic)
    behind = frazil("drift", name, "--rows", "--json")
    followed = frazil("drift", "--repair", "--rows")
    after = frazil("drift", "--json")
    drop_view(topic)
    glue.delete_table(DatabaseName=topic.things.table.namespace, Name=topic.things.table.table)
    dropped = frazil("drift", name, "--json")
    again = frazil("drift", name, "--repair", "--json")

    assert (first.code, first.out.count("missing")) == (1, 2)
    assert "2 of 2 targets of tables are not in step" in first.err
    assert (made.code, [row["repaired"] for row in made.document]) == (0, [True, True])
    values = [(row["target"], row["state"], row["snapshots"]) for row in behind.document]
    assert (behind.code, values) == (1, [("glue", "behind", 1), ("snowflake", "behind", 1)])
    assert [(row["rows"], row["rows_shown"]) for row in behind.document] == [(15, 10), (15, 10)]
    repaired = [line.split() for line in followed.out.splitlines() if "repaired" in line]
    assert [line.count("15") for line in repaired] == [2, 2]
    assert (followed.code, "2 of 2 targets of tables are in step" in followed.err) == (0, True)
    assert (after.code, [row["state"] for row in after.document]) == (0, ["in step", "in step"])
    values = [(row["target"], row["state"]) for row in dropped.document]
    assert (dropped.code, values) == (1, [("glue", "missing"), ("snowflake", "columns")])
    assert (again.code, [row["repaired"] for row in again.document]) == (0, [True, True])


def test_people_read_tables_on_stdout_that_are_plain_in_a_pipe(
    frazil: Command, shell: Shell, topic: Topic, name: str
) -> None:
    results = [
        frazil("land", name),
        shell("tables"),
        frazil("lag"),
        *(frazil(command, name) for command in ("describe", "check", "sync")),
    ]

    for result in results:
        assert topic.name in result.out
        assert "\x1b" not in result.out
        assert "┃" not in result.out


def test_a_suspended_table_resumes_past_the_record_that_is_named(
    frazil: Command, topic: Topic, name: str
) -> None:
    topic.send([b"bad"], partition=1)
    topic.trades(1, partition=1)
    stopped = frazil("land", name, "--json")

    nonsense = frazil("resume", name, "--past", "1-0")
    resumed = frazil("resume", name, "--past", "1:0", "--json")

    assert (stopped.code, f"frazil resume {name} --past 1:0" in stopped.err) == (3, True)
    assert (nonsense.code, "write PARTITION:OFFSET" in nonsense.err) == (2, True)
    assert [(r["records"], r["skipped"]) for r in resumed.document] == [(1, 1)]


@pytest.mark.nightly
def test_a_paused_table_is_left_alone_until_it_is_resumed(frazil: Command, topic: Topic, name: str) -> None:
    frazil("land", name)
    paused = frazil("pause", name, "--because", "the bucket moves", "--json")
    topic.trades(3)

    (state,) = frazil("tables", "--json").document
    named, every = frazil("land", name), frazil("land", "--all", "--json")
    resumed = frazil("resume", name, "--json")

    (report,) = paused.document
    assert (paused.code, report["changed"]) == (0, True)
    assert (state["state"], state["lag"], state["reason"]) == ("paused", 3, report["reason"])
    assert (named.code, "the bucket moves" in named.err, every.code) == (3, True, 0)
    assert [list(row) for row in every.document] == [["table", "awaits"]]
    assert [r["records"] for r in resumed.document] == [3]
    assert run_check("row_count", topic.spec, topic.connections).passed


@pytest.mark.nightly
def test_a_backfill_tells_how_far_it_is(frazil: Command, topic: Topic, name: str) -> None:
    filled = frazil("backfill", name, "--max-records", "4", "--json")

    lines = [json.loads(line) for line in filled.out.splitlines()]
    assert filled.code == 0
    assert [(line["done"], line["left"], line["records"]) for line in lines] == [
        (0, 10, 0), (4, 6, 4), (8, 2, 8), (10, 0, 10)
    ]  # fmt: skip
    assert lines[-1]["bytes"] > 0
    assert [row["quantity"] for row in topic.rows()] == list(range(10))
    assert run_check("glue_pointer", topic.spec, topic.connections).passed


@pytest.mark.nightly
def test_a_backfill_tells_dagster_which_check_stops_the_table_behind_what_it_landed(
    frazil: Command, shell: Shell, connections: Connections, fresh_name: str, dagster_home: Path
) -> None:
    create_topic(connections.admin, fresh_name, 1, {})
    topic = Topic(fresh_name, connections, TableSpec(topic=fresh_name, namespace=NAMESPACE))
    topic.trades(10)
    check = {"name": "few", "expect": "quantity < 6", "on_failure": "stop"}
    shell.write({"topic": fresh_name, "publish": [], "checks": [check]})

    stopped = frazil(
        "backfill", str(topic.things.table), "--max-records", "4", "--json", DAGSTER_HOME=str(dagster_home)
    )

    assert (stopped.code, "heck few" in stopped.err) == (3, True), stopped
    path = topic.things.iceberg_path
    with dg.DagsterInstance.from_config(str(dagster_home)) as instance:
        event = evaluation_of(instance, dg.AssetCheckKey(dg.AssetKey(path), "check_few"))
    assert (event.passed, event.metadata["failing"].value) == (False, 2)
    assert rows_told(dagster_home, path) == 4


@pytest.mark.nightly
def test_offsets_are_replayed_and_nothing_is_there_twice(frazil: Command, topic: Topic, name: str) -> None:
    frazil("land", name)

    looked = frazil("replay", name, "--spans", "0:2-6", "--dry-run", "--json")
    replayed = frazil("replay", name, "--spans", "0:2-6", "--json")
    beyond = frazil("replay", name, "--spans", "0:2-600")

    assert (looked.document["replaced"], looked.document["snapshot_id"]) == (4, None)
    assert (replayed.code, replayed.document["replayed"], replayed.document["made_of_it"]) == (0, 4, [])
    assert (beyond.code, "not within what" in beyond.err) == (2, True)
    assert [row["quantity"] for row in topic.rows()] == list(range(10))
    assert run_check("row_count_deep", topic.spec, topic.connections).passed


def test_dead_letters_are_redriven_by_a_function_of_the_users(
    frazil: Command,
    shell: Shell,
    connections: Connections,
    fresh_name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    create_topic(connections.admin, fresh_name, 1, {})
    shell.write({"topic": fresh_name, "on_bad_record": "dead_letter"})
    topic = Topic(fresh_name, connections, TableSpec(topic=fresh_name, namespace=NAMESPACE))
    good = topic.encode({"side": "BUY", "quantity": 7, "symbol": "Z"})
    topic.send([good[:-1], b"lost"])
    frazil("land", "--all")
    (tmp_path / "mends.py").write_text("def add_z(letter):\n    return letter.raw_value + b'Z'\n")
    where = "reason_code = 'truncated'"

    given = ("redrive", f"{NAMESPACE}.{fresh_name}", "--where", where, "--with", "mends:add_z", "--json")
    first, second = frazil(*given).document, frazil(*given).document
    landings = frazil("describe", f"{NAMESPACE}.{fresh_name}", "--json").document["landings"]

    assert (first["chosen"], first["redriven"], first["still_bad"]) == (1, 1, {})
    assert (second["redriven"], second["already_in"]) == (0, 1)
    assert [(n["records"], n["dead_letters"], n["redriven"]) for n in landings] == [(1, 0, 1), (0, 2, 0)]
    assert [r["quantity"] for r in topic.rows()] == [7]


def test_a_folder_without_tables_is_no_error(frazil: Command) -> None:
    assert (frazil("tables", "--json").document, frazil("land", "--all", "--json").document) == ([], [])
