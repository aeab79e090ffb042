"""`frazil check T --values N`: rows against their records, by a decoder that lands nothing."""

from __future__ import annotations

import pytest

from frazil.checks.run import run_values
from frazil.connections import Connections
from frazil.landing.land import land
from frazil.spec.derived import DerivedSpec
from frazil.tables.spark.session import spark_name
from kit.records.envelopes import Written, captured
from kit.records.topics import MakeTopic, Topic, topic_maker
from kit.records.upserts import upserts


@pytest.fixture(scope="module", autouse=True)
def compared() -> None:
    """Not here, where rows are made wrong by hand."""


@pytest.fixture
def make_topic(lake: Connections, fresh_name: str) -> MakeTopic:
    return topic_maker(lake, fresh_name, "landing_tests")


@pytest.fixture
def landed(make_topic: MakeTopic) -> Topic:
    topic = make_topic(partitions=2)
    topic.trades(10)
    topic.trades(5, partition=1)
    land(topic.spec, topic.connections)
    return topic


def test_rows_that_are_their_records_pass_and_no_more_are_compared_than_asked_for(landed: Topic) -> None:
    every = run_values(landed.spec, landed.connections, 100)
    few = run_values(landed.spec, landed.connections, 3)

    assert (every.status, every.numbers["rows"]) == ("passed", 15), every.text
    assert (few.status, few.numbers["rows"]) == ("passed", 6)


def test_a_value_that_another_engine_changed_is_named_with_its_place(landed: Topic) -> None:
    name = spark_name(landed.things.table)
    landed.connections.spark.sql(
        f"UPDATE {name} SET symbol = 'WRONG' WHERE `$$partition` = 0 AND `$$offset` = 7"
    ).collect()

    result = run_values(landed.spec, landed.connections, 100)

    assert (result.status, result.numbers["different"]) == ("failed", 1)
    assert "partition 0, offset 7, symbol: the record has 'ZTEST', the row 'WRONG'" in result.text


@pytest.mark.nightly
def test_records_that_are_gone_are_counted_and_not_compared(landed: Topic) -> None:
    landed.delete_records_before(4)

    result = run_values(landed.spec, landed.connections, 100)

    assert (result.status, result.numbers["rows"], result.numbers["gone"]) == ("passed", 11, 4)


def test_a_row_of_an_upsert_is_compared_with_the_record_that_it_is_of(make_topic: MakeTopic) -> None:
    made = upserts(make_topic)
    made.send([("a", 1), ("b", 2), ("a", 3), ("c", 4), ("c", None)])
    land(made.topic.spec, made.topic.connections)

    result = run_values(made.topic.spec, made.topic.connections, 100)

    assert (result.status, result.numbers["rows"]) == ("passed", 2), result.text


@pytest.mark.each_time("rest-embedded")
@pytest.mark.parametrize("written", ["avro", "embedded"])
def test_a_row_of_a_database_is_compared_with_the_change_that_it_is_of(
    make_topic: MakeTopic, written: Written
) -> None:
    made = captured(make_topic, written, delete="soft")
    made.send([("a", 1), ("b", 2), ("a", 3), ("c", 4), ("c", None)])
    topic = made.topic
    land(topic.spec, topic.connections)
    right = run_values(topic.spec, topic.connections, 100)

    sql = f"UPDATE {spark_name(topic.things.table)} SET quantity = 7 WHERE key = 'a'"
    topic.connections.spark.sql(sql).collect()
    wrong = run_values(topic.spec, topic.connections, 100)

    assert (right.status, right.numbers["rows"]) == ("passed", 3), right.text
    assert wrong.failed
    assert "quantity" in wrong.text


def test_what_has_no_record_of_its_own_is_skipped_and_says_why(landed: Topic) -> None:
    derived = DerivedSpec.model_validate({"table": "d", "namespace": "n", "sql": "d.sql"})

    assert run_values(derived, landed.connections, 1).text.startswith("Skipped, because the table is made of")
