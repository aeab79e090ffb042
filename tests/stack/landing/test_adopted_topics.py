"""Topics that were deleted and recreated, once their table's owner takes the new one for the old."""

from __future__ import annotations

import pytest

from frazil.checks.run import run_check
from frazil.errors import TopicChangedError
from frazil.landing.land import land
from frazil.landing.position.ledger import ledgers
from frazil.landing.position.state import TableState, table_states
from frazil.landing.repairs.dead_letters import DeadLetter
from frazil.landing.repairs.redrive import redrive
from frazil.landing.repairs.rollback import roll_back
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.spark.session import spark_name
from kit.records.topics import MakeTopic, Topic, make_anew


def mended(letter: DeadLetter) -> bytes:
    assert letter.raw_value
    return letter.raw_value + b"Z"


def state_of(topic: Topic) -> TableState:
    return table_states([topic.spec], topic.connections)[0]


def adds_up(topic: Topic) -> bool:
    return all(run_check(c, topic.spec, topic.connections).passed for c in ("row_count", "row_count_deep"))


@pytest.fixture
def anew(topic: Topic) -> Topic:
    """Five records are landed; the topic is another one by now, and holds three."""
    topic.trades(5)
    land(topic.spec, topic.connections)
    make_anew(topic)
    topic.trades(3)
    return topic


@pytest.mark.plain(why="positions are exact")
def test_the_new_topic_is_landed_beside_the_rows_of_the_old_one_and_all_add_up(anew: Topic) -> None:
    with pytest.raises(TopicChangedError, match=f"frazil land {anew.things.table} --adopt-topic"):
        land(anew.spec, anew.connections)

    adopted = land(anew.spec, anew.connections, adopt_topic=True)

    assert (adopted.records, adopted.spans) == (3, {0: (0, 3)})
    assert sorted(row["quantity"] for row in anew.rows()) == list(range(8))
    assert adds_up(anew)
    assert "those of 1 earlier log included" in run_check("row_count", anew.spec, anew.connections).text
    assert (state_of(anew).state, state_of(anew).position) == ("current", {0: 3})


@pytest.mark.plain(why="positions are exact")
def test_the_next_landings_go_on_in_the_new_topic(anew: Topic) -> None:
    land(anew.spec, anew.connections, adopt_topic=True)
    anew.trades(4)
    anew.grow(2)
    anew.trades(1, partition=1)

    assert (state_of(anew).state, state_of(anew).lag) == ("behind", 5)
    assert land(anew.spec, anew.connections).spans == {0: (3, 7), 1: (0, 1)}
    assert adds_up(anew)


@pytest.mark.nightly
def test_a_new_topic_without_a_record_is_adopted_all_the_same(topic: Topic) -> None:
    topic.trades(5)
    land(topic.spec, topic.connections)
    make_anew(topic)

    assert land(topic.spec, topic.connections, adopt_topic=True).records == 0
    topic.trades(2)

    assert land(topic.spec, topic.connections).records == 2
    assert adds_up(topic)


def test_a_record_that_is_there_twice_is_found_among_the_offsets_of_two_topics(anew: Topic) -> None:
    land(anew.spec, anew.connections, adopt_topic=True)
    name = spark_name(anew.things.table)
    anew.connections.spark.sql(f"INSERT INTO {name} SELECT * FROM {name} WHERE quantity = 6")

    deep = run_check("row_count_deep", anew.spec, anew.connections)

    assert (deep.passed, deep.numbers["duplicates"]) == (False, 1)


@pytest.mark.nightly
def test_dead_letters_of_two_topics_at_one_offset_are_told_apart(make_topic: MakeTopic) -> None:
    topic = make_topic(on_bad_record="dead_letter")
    good = topic.encode({"side": "BUY", "quantity": 1, "symbol": "Z"})
    topic.trades(1)
    topic.send([good[:-1]])
    land(topic.spec, topic.connections)
    make_anew(topic)
    topic.send([good[:-1], good[:-1]])

    land(topic.spec, topic.connections, adopt_topic=True)
    done = redrive(
        topic.spec, topic.connections, repair=lambda letter: (letter.raw_value or b"") + b"\2Z"[1:]
    )

    assert (done.chosen, done.already_in, done.redriven) == (2, 0, 2)
    assert redrive(topic.spec, topic.connections).redriven == 0
    assert adds_up(topic)


@pytest.mark.nightly
@pytest.mark.plain(why="positions are exact")
def test_a_rollback_past_the_adoption_says_that_the_old_topic_is_gone(anew: Topic) -> None:
    first = next(ledgers(TableHandle(anew.connections.catalog, anew.things.table).load().metadata))[
        0
    ].snapshot_id
    land(anew.spec, anew.connections, adopt_topic=True)

    done = roll_back(anew.spec, anew.connections, first)

    assert (done.offsets_again, done.records_lost, done.rows) == (3, 0, 5)
    assert state_of(anew).state == "topic changed"
    assert land(anew.spec, anew.connections, adopt_topic=True).records == 3
    assert adds_up(anew)
