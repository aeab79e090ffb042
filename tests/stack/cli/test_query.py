"""`frazil sample` and `frazil query` on tables that were landed."""

from __future__ import annotations

from frazil.connections import Connections
from frazil.landing.land import land
from frazil.spec.topic import TableSpec
from kit.records.topics import Topic, create_topic
from kit.records.upserts import Upserts
from kit.runs.shell import Command, Shell


def test_a_query_reads_tables_as_they_are_and_as_they_were(frazil: Command, topic: Topic, name: str) -> None:
    before = land(topic.spec, topic.connections)
    topic.trades(3, partition=1)
    land(topic.spec, topic.connections)
    sql = f'SELECT count(*) AS rows, max("$$partition") AS last FROM {name} WHERE quantity < 11'

    now = frazil("query", sql, "--json")
    sample = frazil("sample", name, "--rows", "3", "--json").document
    then = frazil("query", sql, "--as-of", str(before.snapshot_id), "--json")

    assert (now.code, now.document["rows"]) == (0, [{"rows": 11, "last": 1}])
    assert (then.code, then.document["rows"]) == (0, [{"rows": 10, "last": 0}])
    assert (len(sample["rows"]), sample["more"]) == (3, True)
    assert "quantity" in sample["columns"]


def test_dead_letters_are_a_table_of_their_own(
    frazil: Command, shell: Shell, connections: Connections, fresh_name: str
) -> None:
    create_topic(connections.admin, fresh_name, 1, {})
    topic = Topic(fresh_name, connections, TableSpec(topic=fresh_name, on_bad_record="dead_letter"))
    topic.trades(2)
    topic.send([b"not Avro"])
    shell.write({"topic": fresh_name, "namespace": "local", "on_bad_record": "dead_letter"})
    land(topic.spec, topic.connections)
    sql = f"SELECT (SELECT count(*) FROM {fresh_name}), reason_code FROM local.{fresh_name}__dead_letters"

    assert [list(row.values()) for row in frazil("query", sql, "--json").document["rows"]] == [
        [2, "magic_byte"]
    ]


def test_the_newest_records_of_an_appended_table_are_a_table_of_their_own(
    frazil: Command, shell: Shell, connections: Connections, fresh_name: str
) -> None:
    create_topic(connections.admin, fresh_name, 1, {})
    document = {"topic": fresh_name, "namespace": "local", "key_format": "string", "current_by": ["key"]}
    made = Upserts(Topic(fresh_name, connections, TableSpec.model_validate(document)))
    made.send([("a", 1), ("b", 1), ("a", 2)])
    shell.write(document)
    land(made.topic.spec, connections)
    sql = f"SELECT n.key, n.quantity FROM {fresh_name}_current n JOIN {fresh_name} o USING (key) ORDER BY ALL"

    rows = frazil("query", sql, "--json").document["rows"]
    nearest = frazil("query", f"SELECT * FROM {fresh_name}s_current")

    assert [tuple(row.values()) for row in rows] == [("a", 2), ("a", 2), ("b", 1)]
    assert nearest.is_clear
    assert f"Did you mean local.{fresh_name}?" in nearest.err


def test_a_query_of_no_table_of_a_pipeline_names_the_nearest(
    frazil: Command, topic: Topic, name: str
) -> None:
    answer = frazil("query", f"SELECT * FROM {name}s")

    assert answer.is_clear
    assert f"Did you mean {name}?" in answer.err
