"""`frazil sample` and `frazil query` on tables that were landed."""

from __future__ import annotations

from frazil.landing.land import land
from kit.shell import Command
from kit.topics import Topic


def test_a_query_reads_tables_as_they_are_and_as_they_were(frazil: Command, topic: Topic, name: str) -> None:
    before = land(topic.spec, topic.connections)
    topic.trades(3, partition=1)
    land(topic.spec, topic.connections)
    sql = f'SELECT count(*) AS rows, max("$$partition") AS last FROM {name} WHERE quantity < 11'

    now = frazil("query", sql, "--json")
    then = frazil("query", sql, "--as-of", str(before.snapshot_id), "--json")

    assert (now.code, now.document["rows"]) == (0, [{"rows": 11, "last": 1}])
    assert (then.code, then.document["rows"]) == (0, [{"rows": 10, "last": 0}])


def test_a_sample_shows_some_rows(frazil: Command, topic: Topic, name: str) -> None:
    land(topic.spec, topic.connections)

    sample = frazil("sample", name, "--rows", "3", "--json").document

    assert ([row["quantity"] for row in sample["rows"]], sample["more"]) == ([0, 1, 2], True)
    assert "quantity" in frazil("sample", name).out


def test_a_query_of_no_table_of_a_pipeline_names_the_nearest(
    frazil: Command, topic: Topic, name: str
) -> None:
    answer = frazil("query", f"SELECT * FROM {name}s")

    assert answer.is_clear
    assert f"Did you mean {name}?" in answer.err
