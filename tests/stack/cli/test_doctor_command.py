"""`frazil doctor` on the stack: what is missing comes with what fixes it, and nothing stays behind."""

from __future__ import annotations

from typing import Any

from frazil.connections import Connections
from frazil.doctor.run import SYSTEMS
from kit.records.topics import Topic
from kit.runs.shell import NAMESPACE, Command
from kit.runs.waiting import PATIENCE


def by_right(document: Any) -> dict[tuple[str, str], dict[str, Any]]:
    return {(each["system"], each["right"]): each for each in document["findings"]}


def left(connections: Connections) -> list[str]:
    """The doctor's tables and entries."""
    tables = [table for *_, table in connections.catalog.list_tables(NAMESPACE)]
    pages = connections.glue.get_paginator("get_tables").paginate(DatabaseName=NAMESPACE)
    entries = [entry["Name"] for page in pages for entry in page["TableList"]]
    return [name for name in (*tables, *entries) if name.startswith("frazil_doctor")]


def test_a_stack_that_is_well_lacks_nothing_and_keeps_nothing(
    frazil: Command, topic: Topic, connections: Connections, name: str
) -> None:
    assert frazil("land", name).code == 0  # its table is in Glue and in Snowflake now

    result = frazil("doctor", "--json", "--seconds", str(PATIENCE))

    assert (result.code, result.document["fine"]) == (0, True)
    python, *asked = result.document["findings"]
    assert {each["system"] for each in asked} == set(SYSTEMS)
    assert {each["status"] for each in asked} == {"ok"}
    assert python["system"] == "python"  # pytest compiles tests in a way of its own, which looks slow
    assert ("snowflake", "refresh the table") in by_right(result.document)
    assert left(connections) == []


def test_each_thing_that_is_missing_is_named_beside_all_that_is_there(
    frazil: Command, topic: Topic, connections: Connections, name: str
) -> None:
    wrong = {"FRAZIL_SPARK__REMOTE": "sc://127.0.0.1:1", "FRAZIL_SNOWFLAKE__WAREHOUSE": "NOT_MINE"}

    result = frazil("doctor", "--json", **wrong)
    read = frazil("doctor", "--pipeline", "one", FRAZIL_SNOWFLAKE__USER="NOBODY", **wrong)

    rights = by_right(result.document)
    assert (result.code, result.document["fine"]) == (5, False)
    assert rights["catalog", "drop it"]["status"] == rights["kafka", "read the topic"]["status"] == "ok"
    assert rights["spark", "answer a query"]["status"] == "down"
    assert rights["snowflake", "use the warehouse"]["status"] == "missing"
    assert rights["snowflake", "use the warehouse"]["mend"].startswith(
        'GRANT USAGE ON WAREHOUSE "NOT_MINE" TO ROLE'
    )
    assert (read.code, "reach every broker" in read.out) == (5, True)
    assert "Traceback" not in read.err
    assert "Snowflake refuses the login." in read.err
    assert left(connections) == []


def test_a_pipeline_that_is_not_there_is_named(frazil: Command, topic: Topic) -> None:
    result = frazil("doctor", "--pipeline", "two")

    assert (result.code, result.is_clear) == (2, True)
    assert "There is no pipeline two." in result.err
    assert "Known are one." in result.err
