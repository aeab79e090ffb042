"""The command line, as scripts and people use it: one JSON document on stdout, all else on stderr."""

from __future__ import annotations

from pathlib import Path

import pytest

from frazil.connections import Connections
from frazil.landing.land import land
from frazil.spec.topic import TableSpec
from kit.shell import NAMESPACE, Shell
from kit.topics import TRADE, Topic, create_topic


@pytest.fixture
def frazil(connections: Connections, tmp_path: Path) -> Shell:
    """The command on the shared stack; it knows no table yet."""
    folder = tmp_path / "pipelines"
    folder.mkdir()
    return Shell(folder)


@pytest.fixture
def topic(frazil: Shell, connections: Connections, fresh_name: str) -> Topic:
    """A topic of two partitions with ten records, and a pipeline that names it."""
    create_topic(connections.admin, fresh_name, 2, {})
    topic = Topic(fresh_name, connections, TableSpec(topic=fresh_name, namespace=NAMESPACE))
    topic.trades(10)
    frazil.write({"topic": fresh_name, "freshness": "1h"})
    return topic


@pytest.fixture
def name(topic: Topic) -> str:
    return str(topic.things.table)


def test_land_reports_each_table_and_the_next_one_takes_only_what_is_new(
    frazil: Shell, topic: Topic, name: str
) -> None:
    first = frazil("land", name, "--max-records", "4", "--json")
    rest = frazil("land", "--all", "--json")

    (report,) = first.document
    assert (first.code, rest.code) == (0, 0)
    assert {"table", "snapshot_id", "records", "dead_letters", "spans", "seconds"} <= set(report)
    assert (report["table"], report["records"], report["dead_letters"]) == (name, 4, 0)
    assert report["spans"] == {"0": [0, 4]}
    assert [r["records"] for r in rest.document] == [6]
    assert [row["quantity"] for row in topic.rows()] == list(range(10))


def test_tables_and_lag_tell_where_a_table_stands(frazil: Shell, topic: Topic, name: str) -> None:
    new = frazil("tables", "--json").document
    report = land(topic.spec, topic.connections)
    topic.trades(3, partition=1)

    (state,) = frazil("tables", "--json").document
    lag = frazil("lag", "--json").document

    assert [(s["state"], s["lag"], s["snapshot_id"], s["freshness"]) for s in new] == [
        ("new", 10, None, None)
    ]
    assert (state["identifier"], state["topic"], state["mode"]) == (name, topic.name, "append")
    assert (state["snapshot_id"], state["rows"], state["files"]) == (report.snapshot_id, 10, 1)
    assert (state["position"], state["lag"], state["state"]) == ({"0": 10, "1": 0}, 3, "behind")
    assert state["bytes"] > 0
    assert state["freshness"] > 0
    assert [(r["partition"], r["position"], r["end"], r["lag"]) for r in lag] == [
        (0, 10, 10, 0),
        (1, 0, 3, 3),
    ]


def test_describe_shows_columns_and_landings(frazil: Shell, topic: Topic, name: str) -> None:
    report = land(topic.spec, topic.connections, run_id="run-1")

    told = frazil("describe", name, "--json").document

    assert told["state"]["identifier"] == name
    assert [c["name"] for c in told["columns"]][:4] == ["key", "side", "quantity", "symbol"]
    (landing,) = told["landings"]
    assert (landing["snapshot_id"], landing["records"], landing["run_id"]) == (
        report.snapshot_id,
        10,
        "run-1",
    )
    assert landing["spans"]["0"] == [0, 10]
    assert set(told["shown_in"]) == {"glue", "snowflake"}


def test_a_table_is_shown_everywhere_by_sync_and_then_passes_its_checks(
    frazil: Shell, topic: Topic, name: str
) -> None:
    land(topic.spec, topic.connections)

    before = frazil("check", name, "--json")
    synced = frazil("sync", name, "--json")
    checked = frazil("check", "--all", "--deep", "--json")

    failed = {c["check"] for c in before.document if not c["passed"]}
    assert (before.code, failed) == (1, {"glue_pointer", "snowflake_current"})
    assert "2 of 6 checks failed" in before.err
    (row,) = synced.document
    assert (synced.code, row["table"]) == (0, name)
    assert (row["glue"]["changed"], row["snowflake"]["rows"]) == (True, 10)
    assert (checked.code, len(checked.document)) == (0, 7)
    for check in checked.document:
        assert {"check", "passed", "severity", "text", "numbers"} <= set(check)
        assert check["passed"], check["text"]


@pytest.mark.parametrize("command", ["tables", "lag", "describe", "check", "land", "sync"])
def test_people_read_text_on_stderr_and_scripts_nothing_on_stdout(
    frazil: Shell, topic: Topic, name: str, command: str
) -> None:
    land(topic.spec, topic.connections)

    said = frazil(command, *([] if command in ("tables", "lag") else [name]))

    assert said.out == ""
    assert topic.name in said.err
    assert "\x1b" not in said.err


def test_a_typo_in_a_spec_is_exit_code_2_with_file_and_line(frazil: Shell) -> None:
    file = frazil.write({"topic": "some_topic", "partition_bye": ["symbol"]})

    said = frazil("land", "--all", "--json")

    assert (said.code, said.is_clear) == (2, True)
    line = next(n for n, text in enumerate(file.read_text().splitlines(), 1) if "bye" in text)
    assert f"{file}:{line}" in said.err
    assert "partition_by" in said.err


@pytest.mark.parametrize("given", [[], ["a.b", "--all"], ["--all", "--max-records", "0"], ["--al"]])
def test_a_command_that_is_no_sentence_is_exit_code_2(frazil: Shell, given: list[str]) -> None:
    said = frazil("land", *given)

    assert (said.code, said.out) == (2, "")
    assert "Usage: " in said.err


@pytest.mark.parametrize("command", ["land", "describe", "check", "sync"])
def test_an_unknown_table_is_answered_with_the_nearest_names(
    frazil: Shell, topic: Topic, name: str, command: str
) -> None:
    said = frazil(command, f"{name}x", "--json")

    assert (said.code, said.is_clear) == (1, True)
    assert f"No pipeline has a table {name}x." in said.err
    assert f"Did you mean {name}?" in said.err


def test_a_folder_without_tables_is_no_error(frazil: Shell) -> None:
    assert (frazil("tables", "--json").document, frazil("land", "--all", "--json").document) == ([], [])


def test_a_suspended_table_is_exit_code_3_and_keeps_no_other_from_landing(
    frazil: Shell, topic: Topic, connections: Connections, name: str
) -> None:
    bad = f"{topic.name}_bad"
    create_topic(connections.admin, bad, 1, {})
    broken = Topic(bad, connections, TableSpec(topic=bad, namespace=NAMESPACE))
    broken.register(TRADE)
    broken.send([b"bad"])
    frazil.write({"topic": bad}, name="two")

    said = frazil("land", f"{NAMESPACE}.{bad}", name, "--json")
    state = {s["identifier"]: s["state"] for s in frazil("tables", "--json").document}

    assert said.code == 3
    (landed, suspended) = said.document
    assert (landed["table"], landed["records"]) == (name, 10)
    assert (suspended["table"], set(suspended)) == (f"{NAMESPACE}.{bad}", {"table", "error"})
    assert f"Table {NAMESPACE}.{bad} is suspended" in said.err
    assert "partition 0, offset 0: 3 bytes are too short" in said.err
    assert state == {name: "current", f"{NAMESPACE}.{bad}": "suspended"}


def test_what_nobody_foresaw_is_the_result_of_its_table_and_keeps_no_other_from_landing(
    frazil: Shell, topic: Topic, connections: Connections, name: str
) -> None:
    other = f"{topic.name}_before"
    create_topic(connections.admin, other, 1, {})
    Topic(other, connections, TableSpec(topic=other)).trades(1)
    refused = f"_{topic.name}"  # the catalog takes no such name, and PyIceberg says so in words of its own
    frazil.write({"topic": other, "table": refused}, name="before")

    said = frazil("land", "--all", "--json")

    (landed, failed) = said.document
    assert (said.code, landed["table"], landed["records"]) == (1, name, 10)
    assert failed["table"] == f"{NAMESPACE}.{refused}"
    assert failed["error"]["what"].startswith("BadRequestError: ")
    assert f"{NAMESPACE}.{refused}: BadRequestError: " in said.err
    assert "Traceback" not in said.err


def test_a_suspended_table_resumes_past_the_record_that_is_named(
    frazil: Shell, topic: Topic, name: str
) -> None:
    topic.send([b"bad"], partition=1)
    topic.trades(1, partition=1)
    stopped = frazil("land", name, "--json")

    nonsense = frazil("resume", name, "--past", "1-0")
    resumed = frazil("resume", name, "--past", "1:0", "--json")

    assert (stopped.code, f"frazil resume {name} --past 1:0" in stopped.err) == (3, True)
    assert (nonsense.code, "write PARTITION:OFFSET" in nonsense.err) == (2, True)
    assert [(r["records"], r["skipped"]) for r in resumed.document] == [(1, 1)]


def test_dead_letters_are_redriven_by_a_function_of_the_users(
    frazil: Shell, connections: Connections, fresh_name: str, tmp_path: Path
) -> None:
    create_topic(connections.admin, fresh_name, 1, {})
    frazil.write({"topic": fresh_name, "on_bad_record": "dead_letter"})
    topic = Topic(fresh_name, connections, TableSpec(topic=fresh_name, namespace=NAMESPACE))
    good = topic.encode({"side": "BUY", "quantity": 7, "symbol": "Z"})
    topic.send([good[:-1], b"lost"])
    frazil("land", "--all")
    (tmp_path / "mends.py").write_text("def add_z(letter):\n    return letter.raw_value + b'Z'\n")
    where = "reason_code = 'truncated'"

    given = ("redrive", f"{NAMESPACE}.{fresh_name}", "--where", where, "--with", "mends:add_z", "--json")
    first, second = (frazil(*given, PYTHONPATH=str(tmp_path)).document for _ in range(2))
    landings = frazil("describe", f"{NAMESPACE}.{fresh_name}", "--json").document["landings"]

    assert (first["chosen"], first["redriven"], first["still_bad"]) == (1, 1, {})
    assert (second["redriven"], second["already_in"]) == (0, 1)
    assert [(n["records"], n["dead_letters"], n["redriven"]) for n in landings] == [(1, 0, 1), (0, 2, 0)]
    assert [r["quantity"] for r in topic.rows()] == [7]


def test_a_topic_that_does_not_exist_is_named_and_nothing_is_made(frazil: Shell, fresh_name: str) -> None:
    frazil.write({"topic": fresh_name})

    landed = frazil("land", "--all", "--json")
    states = frazil("tables", "--json").document

    (failed,) = landed.document
    assert (landed.code, failed["table"]) == (1, f"{NAMESPACE}.{fresh_name}")
    assert failed["error"]["what"].startswith(f"Topic {fresh_name} does not exist")
    assert f"Topic {fresh_name} does not exist" in landed.err
    assert "Traceback" not in landed.err
    assert [(s["state"], s["snapshot_id"]) for s in states] == [("topic missing", None)]


def test_a_subject_that_does_not_exist_is_named_and_nothing_is_made(
    frazil: Shell, topic: Topic, name: str
) -> None:
    topic.connections.registry.delete_subject(f"{topic.name}-value")

    landed = frazil("land", name, "--json")

    assert (landed.code, [set(row) for row in landed.document]) == (1, [{"table", "error"}])
    assert f"{topic.name}-value" in landed.err
    assert "Traceback" not in landed.err
    assert not topic.connections.catalog.table_exists(topic.things.table.identifier)


@pytest.fixture
def nowhere(tmp_path: Path) -> dict[str, str]:
    """An environment in which no part of a stack runs."""
    dead = "http://127.0.0.1:1"
    return {
        "FRAZIL_HOME": str(tmp_path / "home"),
        "FRAZIL_BOOTSTRAP_SERVERS": "127.0.0.1:1",
        "FRAZIL_SCHEMA_REGISTRY_URL": dead,
        "FRAZIL_REST_URI": dead,
        "FRAZIL_S3_ENDPOINT": dead,
        "FRAZIL_S3_ACCESS_KEY": "a",
        "FRAZIL_S3_SECRET_KEY": "b",
        "FRAZIL_GLUE_ENDPOINT": dead,
        "FRAZIL_SPARK_REMOTE": "sc://127.0.0.1:1",
    }


@pytest.mark.parametrize("command", ["land", "tables", "lag", "check", "sync"])
def test_without_a_stack_every_command_says_so_with_exit_code_5(
    frazil: Shell, nowhere: dict[str, str], command: str
) -> None:
    frazil.write({"topic": "some_topic"})

    said = frazil(command, *([] if command in ("tables", "lag") else ["--all"]), **nowhere)

    assert said.code == 5
    assert said.err.count("does not answer") == 1
    assert "`frazil up`" in said.err
    assert "Traceback" not in said.err


@pytest.mark.parametrize(
    ("part", "variable"),
    [
        ("schema registry", "FRAZIL_SCHEMA_REGISTRY_URL"),
        ("Iceberg catalog", "FRAZIL_REST_URI"),
        ("Spark", "FRAZIL_SPARK_REMOTE"),
    ],
)
def test_one_part_that_is_down_is_named_and_nothing_is_half_done(
    frazil: Shell, topic: Topic, nowhere: dict[str, str], name: str, part: str, variable: str
) -> None:
    said = frazil("land", name, "--json", **{variable: nowhere[variable]})
    after = frazil("land", name, "--json")

    assert (said.code, [set(row) for row in said.document]) == (5, [{"table", "error"}])
    assert f"{part} does not answer" in said.err
    assert "Traceback" not in said.err
    assert [r["records"] for r in after.document] == [10]
    refs = topic.connections.catalog.load_table(topic.things.table.identifier).metadata.refs
    assert list(refs) == ["main"]
