"""What the command line says of mistakes and outages: an exit code, words with a next step, no trace."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from frazil.connections import Connections
from frazil.landing.land import land
from frazil.spec.topic import TableSpec
from kit.records.topics import TRADE, Topic, create_topic, make_anew
from kit.runs.shell import NAMESPACE, Command, Shell


def test_a_typo_in_a_spec_is_exit_code_2_with_file_and_line(frazil: Command, shell: Shell) -> None:
    file = shell.write({"topic": "some_topic", "partition_bye": ["symbol"]})

    result = frazil("land", "--all", "--json")

    assert (result.code, "Traceback" in result.err) == (2, False)
    line = next(n for n, text in enumerate(file.read_text().splitlines(), 1) if "bye" in text)
    assert f"{file}:{line}" in result.err
    assert "partition_by" in result.err


@pytest.mark.parametrize("given", [[], ["a.b", "--all"], ["--all", "--max-records", "0"], ["--al"]])
def test_a_command_that_is_no_sentence_is_exit_code_2(frazil: Command, given: list[str]) -> None:
    result = frazil("land", *given)

    assert (result.code, result.out) == (2, "")
    assert "`frazil land --help` tells what it takes." in result.err


@pytest.mark.parametrize("command", ["land", "describe", "check", "sync"])
def test_an_unknown_table_is_answered_with_the_nearest_names(
    frazil: Command, topic: Topic, name: str, command: str
) -> None:
    result = frazil(command, f"{name}x", "--json")

    assert (result.code, result.is_clear) == (2, True)
    assert f"No pipeline has a table {name}x." in result.err
    assert f"Did you mean {name}?" in result.err


def test_a_suspended_table_is_exit_code_3_and_keeps_no_other_from_landing(
    frazil: Command, shell: Shell, topic: Topic, connections: Connections, name: str
) -> None:
    bad = f"{topic.name}_bad"
    create_topic(connections.admin, bad, 1, {})
    broken = Topic(bad, connections, TableSpec(topic=bad, namespace=NAMESPACE))
    broken.register(TRADE)
    broken.send([b"bad"])
    shell.write({"topic": bad}, name="two")

    result = frazil("land", f"{NAMESPACE}.{bad}", name, "--json")
    state = {s["identifier"]: s["state"] for s in frazil("tables", "--json").document}

    assert result.code == 3
    (landed, suspended) = result.document
    assert (landed["table"], landed["records"]) == (name, 10)
    assert (suspended["table"], set(suspended)) == (f"{NAMESPACE}.{bad}", {"table", "error"})
    assert f"Table {NAMESPACE}.{bad} is suspended" in result.err
    assert "partition 0, offset 0: 3 bytes are too short" in result.err
    assert state == {name: "current", f"{NAMESPACE}.{bad}": "suspended"}


def test_what_the_catalog_refuses_is_the_result_of_its_table_and_keeps_no_other_from_landing(
    frazil: Command, shell: Shell, topic: Topic, connections: Connections, name: str
) -> None:
    other = f"{topic.name}_before"
    create_topic(connections.admin, other, 1, {})
    Topic(other, connections, TableSpec(topic=other)).trades(1)
    refused = f"_{topic.name}"  # the catalog takes no such name
    shell.write({"topic": other, "table": refused}, name="before")

    result = frazil("land", "--all", "--json")

    (landed, failed) = result.document
    assert (result.code, landed["table"], landed["records"]) == (1, name, 10)
    assert failed["table"] == f"{NAMESPACE}.{refused}"
    assert failed["error"]["what"].startswith("The Iceberg catalog refuses")
    assert f"{NAMESPACE}.{refused}: The Iceberg catalog refuses" in result.err
    assert "Traceback" not in result.err


def test_a_topic_that_does_not_exist_is_named_and_nothing_is_made(
    frazil: Command, shell: Shell, fresh_name: str
) -> None:
    shell.write({"topic": fresh_name})

    landed = frazil("land", f"{NAMESPACE}.{fresh_name}", "--json")
    states = frazil("tables", "--json").document

    (failed,) = landed.document
    assert (landed.code, failed["table"]) == (1, f"{NAMESPACE}.{fresh_name}")
    assert failed["error"]["what"].startswith(f"Topic {fresh_name} does not exist")
    assert f"Topic {fresh_name} does not exist" in landed.err
    assert "Traceback" not in landed.err
    assert [(s["state"], s["snapshot_id"]) for s in states] == [("topic missing", None)]


@pytest.mark.nightly
def test_what_was_published_before_a_bad_record_is_shown_and_dagster_hears_of_it(
    frazil: Command, topic: Topic, name: str, dagster_home: Path
) -> None:
    topic.send([b"bad"], partition=1)

    result = frazil("land", name, "--json", DAGSTER_HOME=str(dagster_home))
    checks = {c["check"]: c["status"] for c in frazil("check", name, "--json").document}

    assert result.code == 3
    assert (checks["glue_pointer"], checks["snowflake_current"]) == ("passed", "passed")
    with dg.DagsterInstance.from_config(str(dagster_home)) as instance:
        event = instance.get_latest_materialization_event(dg.AssetKey(topic.things.iceberg_path))
    assert event
    assert event.asset_materialization
    assert event.asset_materialization.metadata["rows_landed"].value == 10


def test_a_subject_that_does_not_exist_is_named_and_nothing_is_made(
    frazil: Command, topic: Topic, name: str
) -> None:
    topic.connections.registry.delete_subject(f"{topic.name}-value")

    landed = frazil("land", name, "--json")

    assert (landed.code, [set(row) for row in landed.document]) == (1, [{"table", "error"}])
    assert f"{topic.name}-value" in landed.err
    assert "Traceback" not in landed.err
    assert not topic.connections.catalog.table_exists(topic.things.table.identifier)


@pytest.mark.each_time("land-Topic ")
@pytest.mark.parametrize(("command", "why"), [("land", "Topic "), ("sync", "There is no table ")])
def test_of_all_tables_one_that_nobody_has_fed_yet_is_told_and_no_failure(
    frazil: Command, shell: Shell, topic: Topic, name: str, command: str, why: str
) -> None:
    land(topic.spec, topic.connections)
    shell.write({"topic": f"{topic.name}_later"}, name="later")

    result = frazil(command, "--all", "--json")

    later, done = sorted(result.document, key=lambda row: "awaits" not in row)
    assert (result.code, done["table"], later["table"]) == (0, name, f"{name}_later")
    assert later["awaits"].startswith(why)
    assert f"{name}_later waits: {why}" in result.err


@pytest.mark.nightly
@pytest.mark.plain(why="what commands tell of offsets is exact")
def test_offsets_that_are_gone_are_given_up_as_the_error_says(
    frazil: Command, topic: Topic, name: str
) -> None:
    land(topic.spec, topic.connections)
    topic.trades(5)
    topic.delete_records_before(12)

    (waits, _), stopped = frazil("lag", "--json").document, frazil("land", name)
    nonsense = frazil("land", name, "--accept-loss", "0:10")
    vague = frazil("land", "--all", "--accept-loss", "0:10-12")
    landed = frazil("land", name, "--accept-loss", "0:10-12", "--json")

    assert (stopped.code, f"frazil land {name} --accept-loss 0:10-12" in stopped.err) == (1, True)
    assert (waits["lag"], waits["lost"], waits["state"]) == (3, 2, "records lost")
    assert (nonsense.code, vague.code) == (2, 2)
    assert "write PARTITION:FROM-TO" in " ".join(nonsense.err.split())
    assert "one table" in vague.err
    (report,) = landed.document
    assert (landed.code, report["records"], report["lost"]) == (0, 3, 2)


@pytest.mark.nightly
@pytest.mark.plain(why="what commands tell of offsets is exact")
def test_a_topic_that_was_made_again_is_landed_as_the_error_says(
    frazil: Command, topic: Topic, name: str
) -> None:
    land(topic.spec, topic.connections)
    make_anew(topic)
    topic.trades(3)

    stopped, vague = frazil("land", name), frazil("land", "--all", "--adopt-topic")
    landed = frazil("land", name, "--adopt-topic", "--json")
    (waits,), described = frazil("lag", "--json").document, frazil("describe", name, "--json").document

    assert (stopped.code, f"frazil land {name} --adopt-topic" in stopped.err) == (1, True)
    assert (vague.code, "name that one" in vague.err) == (2, True)
    assert (landed.code, landed.document[0]["records"]) == (0, 3)
    assert (waits["position"], waits["lag"], waits["state"]) == (3, 0, "current")
    assert len({row["log"] for row in described["landings"]}) == 2
    assert (described["state"]["rows"], described["not_guarded"]) == (13, [])


@pytest.fixture
def nowhere(tmp_path: Path) -> dict[str, str]:
    """An environment in which no part of a stack runs."""
    dead = "http://127.0.0.1:1"
    return {
        "FRAZIL_HOME": str(tmp_path / "home"),
        "FRAZIL_KAFKA__BOOTSTRAP_SERVERS": "127.0.0.1:1",
        "FRAZIL_REGISTRY__URL": dead,
        "FRAZIL_REST__URI": dead,
        "FRAZIL_S3__ENDPOINT": dead,
        "FRAZIL_AWS__ACCESS_KEY": "a",
        "FRAZIL_AWS__SECRET_KEY": "b",
        "FRAZIL_GLUE__ENDPOINT": dead,
        "FRAZIL_SPARK__REMOTE": "sc://127.0.0.1:1",
    }


@pytest.mark.each_time("land")
@pytest.mark.parametrize("command", ["land", "tables", "lag", "check", "sync"])
def test_without_a_stack_every_command_says_so_with_exit_code_5(
    frazil: Command, shell: Shell, nowhere: dict[str, str], command: str
) -> None:
    shell.write({"topic": "some_topic"})

    result = frazil(command, *([] if command in ("tables", "lag") else ["--all"]), "--json", **nowhere)

    assert result.code == 5
    assert result.err.count("does not answer") == 1
    assert "`frazil up`" in result.err
    assert "Traceback" not in result.err


@pytest.mark.each_time("Iceberg catalog-FRAZIL_REST__URI")
@pytest.mark.parametrize(
    ("part", "variable"),
    [
        ("schema registry", "FRAZIL_REGISTRY__URL"),
        ("Iceberg catalog", "FRAZIL_REST__URI"),
        ("Spark", "FRAZIL_SPARK__REMOTE"),
    ],
)
def test_one_part_that_is_down_is_named_and_nothing_is_half_done(
    frazil: Command, topic: Topic, nowhere: dict[str, str], name: str, part: str, variable: str
) -> None:
    result = frazil("land", name, "--json", **{variable: nowhere[variable]})
    after = frazil("land", name, "--json")

    assert (result.code, [set(row) for row in result.document]) == (5, [{"table", "error"}])
    assert f"{part} does not answer" in result.err
    assert "Traceback" not in result.err
    assert [r["records"] for r in after.document] == [10]
    refs = topic.connections.catalog.load_table(topic.things.table.identifier).metadata.refs
    assert list(refs) == ["main"]


KAFKA, REGISTRY, CATALOG = "FRAZIL_KAFKA__BOOTSTRAP_SERVERS", "FRAZIL_REGISTRY__URL", "FRAZIL_REST__URI"


@pytest.mark.nightly
@pytest.mark.plain(why="what commands tell of offsets is exact")
def test_without_kafka_the_tables_are_told_and_what_waits_is_not(
    frazil: Command, topic: Topic, nowhere: dict[str, str], name: str
) -> None:
    land(topic.spec, topic.connections)
    silent = {KAFKA: nowhere[KAFKA]}

    tables, lag = frazil("tables", "--json", **silent), frazil("lag", "--json", **silent)

    (state, error), *partitions = tables.document, *lag.document
    assert (tables.code, lag.code, tables.err.count("Kafka does not answer")) == (5, 5, 1)
    assert (state["state"], state["rows"], state["lag"]) == ("unknown", 10, None)
    assert (error["table"], error["error"]["what"]) == (name, "Kafka does not answer.")
    assert [(p["position"], p["end"], p["lag"]) for p in partitions[:-1]] == [
        (10, None, None),
        (0, None, None),
    ]


@pytest.mark.plain(why="what commands tell of offsets is exact")
def test_without_the_catalog_the_ends_of_the_topics_are_told(
    frazil: Command, topic: Topic, nowhere: dict[str, str], name: str
) -> None:
    lag = frazil("lag", "--json", **{CATALOG: nowhere[CATALOG]})

    *partitions, error = lag.document
    assert (lag.code, error["table"]) == (5, name)
    assert [(p["position"], p["end"], p["state"]) for p in partitions] == [
        (None, 10, "unknown"), (None, 0, "unknown"),
    ]  # fmt: skip


def test_without_the_registry_all_checks_are_made_that_can_do_without(
    frazil: Command, topic: Topic, nowhere: dict[str, str], name: str
) -> None:
    land(topic.spec, topic.connections)

    result = frazil("check", name, "--json", **{REGISTRY: nowhere[REGISTRY]})

    status = {row["check"]: row["status"] for row in result.document}
    assert (result.code, result.err.count("schema registry does not answer")) == (5, 1)
    assert (status["row_count"], status["freshness"], status["schema"]) == ("passed", "passed", "skipped")
