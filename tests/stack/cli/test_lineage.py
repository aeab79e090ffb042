"""What a lineage collector hears of commands: landing, derivation, publication, check; then it is down."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from frazil.connections import Connections
from frazil.spec.topic import TableSpec
from kit.lineage.collecting import Collecting, sending
from kit.records.topics import Topic, create_topic
from kit.runs.shell import NAMESPACE, Command, Shell


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collecting]:
    with sending(monkeypatch) as server:
        yield server


@pytest.fixture
def topic(connections: Connections, fresh_name: str) -> Topic:
    create_topic(connections.admin, fresh_name, 2, {})
    topic = Topic(fresh_name, connections, TableSpec(topic=fresh_name, namespace=NAMESPACE))
    topic.trades(10)
    return topic


@pytest.fixture
def made(shell: Shell, topic: Topic) -> str:
    """A table of the topic that Glue and Snowflake show, and one made of it; the name of the latter."""
    made = f"{topic.name}_twice"
    query = {"namespace": NAMESPACE, "table": made, "publish": []}
    shell.write(
        {"topic": topic.name, "publish": ["glue", "snowflake"]},
        derived=[{**query, "sql": f"SELECT symbol, quantity * 2 AS twice FROM {topic.name}"}],
    )
    return f"{NAMESPACE}.{made}"


def test_commands_send_valid_events_that_join_from_the_topic_to_snowflake_and_an_outage_fails_none(
    frazil: Command, topic: Topic, name: str, made: str, collector: Collecting, connections: Connections,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    codes = [frazil(*words).code for words in (("land", name), ("derive", made), ("check", name))]

    assert codes == [0, 0, 0]
    assert collector.refused == []
    jobs = [event["job"]["name"] for event in collector.ended()]
    published = [f"publish.{target}.{name}" for target in ("glue", "snowflake")]
    assert jobs == [f"land.{name}", *published, f"derive.{made}", f"check.{name}"]
    table, twice = (connections.catalog.load_table(tuple(n.split("."))) for n in (name, made))
    landed, glue, snowflake, derived, checked = collector.ended()
    (written,) = landed["outputs"]
    assert f"{written['namespace']}/{written['name']}" == table.location().rstrip("/")
    snapshots = [t.current_snapshot().snapshot_id for t in (table, twice)]  # type: ignore[union-attr]
    versions = [e["outputs"][0]["facets"]["version"]["datasetVersion"] for e in (landed, derived)]
    assert versions == list(map(str, snapshots))
    assert glue["outputs"][0]["namespace"].startswith("arn:aws:glue:us-east-1:")
    assert glue["outputs"][0]["namespace"].rpartition(":")[2].isdecimal()
    assert snowflake["outputs"][0]["name"].split(".")[2] == topic.name.upper()
    for event in (glue, snowflake, derived, checked):
        assert [i["name"] for i in event["inputs"]] == [written["name"]]
    assert origins(derived) == {"symbol": ["symbol"], "twice": ["quantity"]}
    read = table.inspect.files()["file_size_in_bytes"].to_pylist()
    assert written["outputFacets"]["outputStatistics"]["size"] == sum(read)
    of_commands = [event["run"]["facets"]["parent"]["run"]["runId"] for event in collector.ended()]
    assert len({*of_commands[:3]}) == 1
    assert len({*of_commands}) == 3
    assert len(checked["inputs"][0]["inputFacets"]["dataQualityAssertions"]["assertions"]) > 3

    refused = frazil("sync", name, FRAZIL_GLUE__ENDPOINT="http://127.0.0.1:1")
    failed = collector.ended()[-1]
    assert (refused.code, failed["eventType"], failed["job"]["name"]) == (5, "FAIL", f"publish.glue.{name}")
    assert "Glue does not answer." in failed["run"]["facets"]["errorMessage"]["message"]

    collector.is_down = True
    topic.trades(5)
    with caplog.at_level(logging.WARNING, "frazil_lineage"):
        result = frazil("land", name, "--json")

    assert (result.code, [r["records"] for r in result.document]) == (0, [5])
    warnings = [r for r in caplog.records if "The collector of lineage took no events." in r.getMessage()]
    assert len(warnings) == 1


def origins(event: dict[str, Any]) -> dict[str, list[str]]:
    fields = event["outputs"][0]["facets"]["columnLineage"]["fields"]
    return {name: [each["field"] for each in field["inputFields"]] for name, field in fields.items()}
