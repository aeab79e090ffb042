"""mode: upsert: one row per key, the newest; and nothing that is replayed, late or at once changes that."""

from __future__ import annotations

import signal
import time
from datetime import UTC, datetime

import pytest

from frazil.checks.run import run_check
from frazil.connections import Connections
from frazil.errors import DifferentError, SuspendedError, UsageError
from frazil.landing.land import land
from frazil.landing.repairs.redrive import redrive
from frazil.landing.repairs.rollback import roll_back
from frazil.upkeep.compaction.run import compact
from frazil.upkeep.kind import Order
from kit.readers.opened import data_files, table_of
from kit.records.topics import TRADE, MakeTopic, Topic, topic_maker
from kit.records.upserts import Upserts, upserts
from kit.runs.waiting import PATIENCE
from kit.wires.killed import upsert_process

EVERYTHING = Order(everything=True)


@pytest.fixture
def make_one(connections: Connections, fresh_name: str) -> MakeTopic:
    """Makes topics whose tables the REST catalog has: what is tested does not depend on the catalog."""
    return topic_maker(connections, fresh_name, "landing_tests")


@pytest.fixture
def changing(make_one: MakeTopic) -> Upserts:
    """A table of a hundred keys."""
    return hundred(make_one)


def hundred(make_topic: MakeTopic, **spec: object) -> Upserts:
    made = upserts(make_topic, **spec)
    made.send((f"k{n}", n) for n in range(100))
    land(made.topic.spec, made.topic.connections)
    return made


def sound(topic: Topic) -> bool:
    """Whether all checks of the rows pass."""
    results = [run_check(check, topic.spec, topic.connections) for check in ("row_count", "row_count_deep")]
    assert all(f.passed for f in results), [f.text for f in results]
    return True


def test_the_newest_change_of_each_key_is_its_row_and_a_null_value_ends_it(make_topic: MakeTopic) -> None:
    changing = hundred(make_topic)
    changing.send([("k1", 1000), ("k1", 1001), ("k2", None), ("new", 7), ("gone at once", 1)])
    changing.send([("gone at once", None), ("never there", None)])

    report = land(changing.topic.spec, changing.topic.connections)

    assert changing.rows_by_key() == changing.rows
    assert len(changing.rows) == 100
    assert (report.records, report.inserted, report.updated, report.deleted) == (7, 1, 1, 1)
    assert sound(changing.topic)
    assert run_check("schema", changing.topic.spec, changing.topic.connections).passed
    assert land(changing.topic.spec, changing.topic.connections).records == 0


@pytest.mark.nightly
def test_only_files_that_hold_a_changed_key_are_written_anew_and_by_the_lane(
    make_one: MakeTopic, monkeypatch: pytest.MonkeyPatch
) -> None:
    changing = hundred(make_one, partition_by=["bucket(16, key)"])
    monkeypatch.setattr("frazil.landing.land.write_upserts", None)  # Spark's own way
    before = data_files(changing.topic)
    changing.send([("k5", 5000)])

    land(changing.topic.spec, changing.topic.connections)

    assert len(before) == 16
    assert len(before & data_files(changing.topic)) == 15
    assert changing.rows_by_key() == changing.rows


@pytest.mark.nightly
@pytest.mark.parametrize(("layout", "files"), [({}, 1), ({"partition_by": ["bucket(16, key)"]}, 16)])
def test_rows_that_come_go_into_the_files_that_are_written_anew(
    make_one: MakeTopic, layout: dict[str, object], files: int
) -> None:
    changing = hundred(make_one, **layout)
    topic = changing.topic
    for number in range(3):
        changing.send([(f"k{n}", 1000 * number + n) for n in range(100)] + [(f"new {number}", 1)])
        changing.send([(f"k{number}", None)])
        land(topic.spec, topic.connections)

        assert len(data_files(topic)) == files
        assert changing.rows_by_key() == changing.rows
    assert sound(topic)


@pytest.mark.nightly
def test_a_table_that_has_grown_large_is_divided_and_its_rows_move_as_they_change(
    changing: Upserts, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = changing.topic
    monkeypatch.setattr("frazil.landing.upsert.divisions.LARGE_BYTES", 1)
    monkeypatch.setattr("frazil.landing.land.write_upserts", None)  # Spark's own way
    changing.send([("k1", 1000), ("k2", None), ("new", 7)])
    land(topic.spec, topic.connections)

    assert [str(f.transform) for f in table_of(topic).spec().fields] == ["bucket[16]"]
    assert len(data_files(topic)) == 16
    assert changing.rows_by_key() == changing.rows
    changing.send([("k1", None), ("k3", 5)])
    land(topic.spec, topic.connections)
    assert changing.rows_by_key() == changing.rows
    assert sound(topic)


def test_a_key_whose_partition_moves_leaves_the_one_that_it_was_in(make_one: MakeTopic) -> None:
    changing = hundred(make_one, partition_by=["truncate(10, quantity)"])
    changing.send([("k1", 95), ("k50", 2), ("k99", None)])

    land(changing.topic.spec, changing.topic.connections)

    assert changing.rows_by_key() == changing.rows
    assert sound(changing.topic)


@pytest.mark.nightly
def test_between_partitions_the_timestamp_decides_and_within_one_the_offset(make_one: MakeTopic) -> None:
    changing = upserts(make_one, partitions=3)
    changing.send([("a", 1), ("b", 1), ("c", 1), ("d", 1)], partition=0, timestamp=2000)
    land(changing.topic.spec, changing.topic.connections)
    changing.send([("a", 2), ("b", None)], partition=1, timestamp=1000)  # older than the rows: left out
    changing.send([("c", 3)], partition=1, timestamp=3000)
    changing.send([("d", 4)], partition=0, timestamp=500)  # a clock that went back
    changing.send([("e", 1)], partition=2, timestamp=7000)
    changing.send([("e", 2)], partition=1, timestamp=6000)

    report = land(changing.topic.spec, changing.topic.connections)

    assert changing.rows_by_key() == {"a": 1, "b": 1, "c": 3, "d": 4, "e": 1}
    assert (report.inserted, report.updated, report.deleted) == (1, 2, 0)
    assert (report.median_timestamp, report.max_timestamp) == (1000, 7000)
    assert (report.task_seconds or 0) > 0
    assert sound(changing.topic)


def test_a_key_may_have_any_name(make_one: MakeTopic) -> None:
    spec = {"mode": "upsert", "key_fields": ["wins", "met"]}
    topic = make_one(partitions=2, trades=False, config={"retention.ms": "-1"}, **spec)
    fields = [{"name": name, "type": "string"} for name in ("wins", "met", "held")]
    topic.register({**TRADE, "fields": fields})
    for value_held, partition, timestamp in (("first", 0, 2000), ("older", 1, 1000)):
        value = topic.encode({"wins": "a", "met": "b", "held": value_held})
        topic.send([value], partition, timestamp=timestamp)
        land(topic.spec, topic.connections)

    assert [row["held"] for row in topic.rows()] == ["first"]


@pytest.mark.nightly
def test_a_range_that_is_replayed_after_a_rollback_gives_the_same_rows(changing: Upserts) -> None:
    snapshot = table_of(changing.topic).metadata.current_snapshot_id
    changing.send(
        [("k1", None), ("k2", 2000), ("k1", 7), ("k1", None), ("k3", None)], plain="each landing takes one"
    )
    land(changing.topic.spec, changing.topic.connections)
    assert changing.rows_by_key() == changing.rows
    roll_back(changing.topic.spec, changing.topic.connections, snapshot or 0)
    assert changing.rows_by_key() == {f"k{n}": n for n in range(100)}

    for _ in range(5):  # one record after the other
        land(changing.topic.spec, changing.topic.connections, max_records=1)

    assert changing.rows_by_key() == changing.rows
    assert sound(changing.topic)


@pytest.mark.nightly
@pytest.mark.parametrize("step", ["planned", "written", "audited", "published"])
def test_a_landing_killed_after_any_step_changes_nothing_or_everything(
    make_one: MakeTopic, step: str
) -> None:
    changing = hundred(make_one)
    changing.send([("k1", None), ("k2", 2000), ("new", 1)])
    process = upsert_process(changing.topic.spec, changing.topic.connections.settings, step)
    assert process.wait(PATIENCE) == -signal.SIGKILL, process.stderr and process.stderr.read()

    again = land(changing.topic.spec, changing.topic.connections)

    assert again.records == (0 if step == "published" else 3)
    assert changing.rows_by_key() == changing.rows
    assert sound(changing.topic)


def test_what_dies_once_it_is_published_is_not_merged_again(changing: Upserts) -> None:
    topic = changing.topic
    changing.send([("k1", None), ("k2", 2000), ("new", 1)])

    def die(done: str) -> None:
        if done == "published":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        land(topic.spec, topic.connections, on_step=die)

    assert land(topic.spec, topic.connections).records == 0
    assert changing.rows_by_key() == changing.rows
    assert sound(topic)


@pytest.mark.nightly
def test_a_compaction_meanwhile_costs_a_second_merge_and_no_update(make_one: MakeTopic) -> None:
    changing = hundred(make_one, partition_by=[])
    topic = changing.topic
    changing.send([(f"k{n}", n + 1000) for n in range(50)] + [(f"k{n}", None) for n in range(90, 100)])
    land(topic.spec, topic.connections)
    changing.send([(f"k{n}", n + 2000) for n in range(60)])
    compacted = []

    def compact_once(step: str) -> None:
        if step == "written" and not compacted:
            compacted.append(compact(topic.spec, topic.connections, time.time(), EVERYTHING))

    report = land(topic.spec, topic.connections, on_step=compact_once)

    assert compacted[0].done
    assert (report.updated, report.records) == (60, 60)
    assert changing.rows_by_key() == changing.rows
    assert sound(topic)


@pytest.mark.nightly
def test_a_compaction_of_files_that_a_landing_replaced_is_dropped(make_one: MakeTopic) -> None:
    changing = hundred(make_one, partition_by=[])
    topic = changing.topic
    changing.send([("another", 1)])
    land(topic.spec, topic.connections)
    changing.send([(f"k{n}", n + 1000) for n in range(100)])

    def land_once(step: str) -> None:
        if step == "written":
            land(topic.spec, topic.connections)

    report = compact(topic.spec, topic.connections, time.time(), EVERYTHING, on_step=land_once)

    assert report.numbers["overtaken"] == 1
    assert changing.rows_by_key() == changing.rows
    assert not [ref for ref in table_of(topic).metadata.refs if ref.startswith("compaction_")]
    assert sound(topic)


def test_a_record_without_a_key_is_bad_and_a_dead_letter_is_not_redriven(make_one: MakeTopic) -> None:
    changing = hundred(make_one, on_bad_record="dead_letter")
    topic = changing.topic
    schema_id = topic.register(TRADE)
    producer_value = changing.value(1, schema_id)
    changing.send([("k1", 1)])
    topic.send_keyed([(None, producer_value), (None, None), (b"\xff", producer_value)])

    assert land(topic.spec, topic.connections).dead_letters == 3
    letters = topic.connections.catalog.load_table(("landing_tests", f"{topic.name}__dead_letters"))
    rows = letters.scan().to_arrow().to_pylist()
    assert sorted(row["reason_code"] for row in rows) == ["key_utf8", "null_key", "null_key"]
    assert changing.rows_by_key() == changing.rows
    assert sound(topic)
    with pytest.raises(UsageError, match="can't be redriven"):
        redrive(topic.spec, topic.connections)


def test_a_bad_record_suspends_and_what_is_before_it_is_merged(changing: Upserts) -> None:
    topic = changing.topic
    changing.send([("k1", 11)], partition=0)
    topic.send([b"bad"], partition=0)

    with pytest.raises(SuspendedError):
        land(topic.spec, topic.connections)

    assert changing.rows_by_key()["k1"] == 11


def test_columns_evolve_and_old_records_have_null_in_the_new_ones(changing: Upserts) -> None:
    topic = changing.topic
    more = {"name": "note", "type": ["null", "string"], "default": None}
    changing.send([("k1", 11)])
    topic.register({**TRADE, "fields": [*TRADE["fields"], more]})
    value = topic.encode({"side": "BUY", "quantity": 12, "symbol": "Z", "note": "later"})
    topic.send_keyed([(b"k2", value)])

    land(topic.spec, topic.connections)

    rows = {row["key"]: (row["quantity"], row["note"]) for row in topic.rows()}
    assert (rows["k1"], rows["k2"], rows["k3"]) == ((11, None), (12, "later"), (3, None))


@pytest.mark.nightly
def test_a_table_keeps_the_key_that_it_was_made_with(changing: Upserts, make_one: MakeTopic) -> None:
    spec, connections = changing.topic.spec, changing.topic.connections
    appended = make_one()
    appended.trades(3)
    land(appended.spec, connections)

    for changed in (
        spec.model_copy(update={"mode": "append", "on_null_value": "bad"}),
        spec.model_copy(update={"key_fields": ("key", "symbol")}),
        appended.spec.model_copy(update={"mode": "upsert", "key_fields": ("symbol",)}),
    ):
        with pytest.raises(DifferentError, match="told apart in another way"):
            land(changed, connections)


@pytest.mark.nightly
def test_rows_expire_by_their_newest_change(make_one: MakeTopic) -> None:
    from frazil.upkeep.row_expiry.run import expire_rows

    changing = upserts(make_one, keep_rows_for="1d")
    old = int((datetime.now(UTC).timestamp() - 3 * 86400) * 1000)
    changing.send([("a", 1), ("b", 1), ("c", 1)], timestamp=old)
    land(changing.topic.spec, changing.topic.connections)
    changing.send([("a", 2)])
    land(changing.topic.spec, changing.topic.connections)

    expire_rows(changing.topic.spec, changing.topic.connections, time.time())
    changing.send([("b", 3), ("c", None)])
    land(changing.topic.spec, changing.topic.connections)

    assert changing.rows_by_key() == {"a": 2, "b": 3}
    assert sound(changing.topic)
