"""Mistakes that a server must be asked to find: the answer is ours, and says what, where and what to do."""

from __future__ import annotations

import json
from shlex import split

import pytest

from frazil.connections import Connections
from frazil.kafka.facts import describe
from frazil.landing.land import land
from frazil.spec.topic import TableSpec
from kit.records.topics import Topic, create_topic
from kit.runs.shell import NAMESPACE, Command, Shell


def schema(*fields: str) -> str:
    return json.dumps(
        {"type": "record", "name": "R", "fields": [{"name": f, "type": "string"} for f in fields]}
    )


@pytest.fixture
def topic(shell: Shell, connections: Connections, fresh_name: str) -> Topic:
    create_topic(connections.admin, fresh_name, 1, {})
    topic = Topic(fresh_name, connections, TableSpec(topic=fresh_name, namespace=NAMESPACE, publish=()))
    topic.trades(3)
    return topic


def test_a_typo_in_a_query_of_a_topic_without_schema_file_is_told_without_javas_frames(
    frazil: Command, shell: Shell, topic: Topic
) -> None:
    land(topic.spec, topic.connections)
    made = {"table": f"{topic.name}_made", "sql": f"SELECT symbl FROM {topic.name}", "publish": []}
    shell.write({"topic": topic.name, "publish": []}, derived=[made])

    result = frazil("derive", f"{NAMESPACE}.{made['table']}")

    assert result.code == 2
    assert result.is_clear
    assert result.err.startswith(
        f"The query of {NAMESPACE}.{made['table']} does not fit its inputs.\n  Where: "
    )
    assert "symbl" in result.err
    assert [sign for sign in ("org.apache", "stacktrace", '"ts"') if sign in result.err] == []


def test_a_topic_is_made_where_that_is_asked_for_with_its_subject(
    frazil: Command, shell: Shell, connections: Connections, fresh_name: str
) -> None:
    file = shell.write({"topic": fresh_name, "partitions": 3, "value_schema": "v.avsc", "publish": []})
    (file.parent / "v.avsc").write_text(schema("id"))

    refused, made = (
        frazil("land", f"{NAMESPACE}.{fresh_name}"),
        frazil("land", f"{NAMESPACE}.{fresh_name}", "--make-topic", "--json"),
    )

    assert refused.code == 1
    assert f"Topic {fresh_name} does not exist." in refused.err
    assert "--make-topic" in refused.err
    assert (made.code, made.document[0]["records"]) == (0, 0)
    assert len(describe(connections.admin, [fresh_name])[fresh_name].partitions) == 3
    assert connections.registry.get_latest_version(f"{fresh_name}-value").version == 1


def test_a_landing_registers_the_schema_file_and_tells_of_one_that_differs(
    frazil: Command, shell: Shell, connections: Connections, fresh_name: str
) -> None:
    create_topic(connections.admin, fresh_name, 1, {})
    file = shell.write({"topic": fresh_name, "value_schema": "v.avsc", "publish": []})
    (file.parent / "v.avsc").write_text(schema("id"))

    first = frazil("land", f"{NAMESPACE}.{fresh_name}")
    (file.parent / "v.avsc").write_text(schema("id", "name"))
    second = frazil("land", f"{NAMESPACE}.{fresh_name}")

    assert (first.code, second.code) == (0, 0)
    assert "holds another schema" not in first.err
    assert f"Subject {fresh_name}-value holds another schema than the spec." in second.err
    assert connections.registry.get_latest_version(f"{fresh_name}-value").version == 1


def test_other_mistakes_that_only_servers_know(frazil: Command, shell: Shell, topic: Topic) -> None:
    land(topic.spec, topic.connections)
    shell.write({"topic": topic.name, "publish": []})
    lines = {
        "rollback {} --to 1": "has no snapshot 1",
        "rollback {} --to 1999-01-01": "1999",
        "resume {} --past 0:77": "does not wait to be landed",
        "accept {} --snapshot 1 --because x": "Snapshot 1 is no commit of others",
        "query 'SELECT nothing FROM {}'": "nothing",
    }

    for line, line_part in lines.items():
        result = frazil(*split(line.format(f"{NAMESPACE}.{topic.name}")))
        assert result.code in (1, 2), line
        assert line_part in result.err, line
        assert result.is_clear, line
