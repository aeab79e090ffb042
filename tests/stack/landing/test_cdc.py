"""mode: cdc: Debezium's changes become rows, as the source's table has them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from frazil.checks.run import VERIFIED, run_check
from frazil.connections import Connections
from frazil.discovery.findings import discover
from frazil.errors import SchemaRefusedError
from frazil.landing.land import land
from frazil.spec.migrations import Migration
from kit.records.envelopes import AT, FIELDS, Captured, Written, avro_envelope, captured
from kit.records.topics import MakeTopic, topic_maker


@pytest.fixture
def make_one(connections: Connections, fresh_name: str) -> MakeTopic:
    """Makes topics whose tables the REST catalog has: what is tested does not depend on the catalog."""
    return topic_maker(connections, fresh_name, "landing_tests")


def ten(make_topic: MakeTopic, written: Written = "avro", **spec: object) -> Captured:
    """A table of ten keys."""
    made = captured(make_topic, written, **spec)
    made.send((f"k{n}", n) for n in range(10))
    land(made.topic.spec, made.topic.connections)
    return made


def sound(made: Captured) -> bool:
    """Whether all checks of the rows and the columns pass."""
    checks = ("row_count", "row_count_deep", "schema")
    results = [run_check(check, made.topic.spec, made.topic.connections) for check in checks]
    assert all(f.passed for f in results), [f.text for f in results]
    return True


def live(made: Captured) -> dict[str, int]:
    """The rows that are not deleted."""
    return {row["key"]: row["quantity"] for row in made.topic.rows() if not row["$$deleted"]}


@pytest.mark.each_time("avro")
@pytest.mark.parametrize("written", ["avro", "json", "embedded"])
def test_rows_are_what_the_source_has(make_one: MakeTopic, written: Written) -> None:
    checks = [{"name": "few", "expect": "quantity < 1000"}, {"name": "whole", "expect": "note is not null"}]
    made = ten(make_one, written, checks=checks)
    made.send([("k1", 1000), ("k2", None), ("new", 7), ("gone at once", 1), ("gone at once", None)])

    report = land(made.topic.spec, made.topic.connections)

    assert made.rows_by_key() == made.rows
    assert (report.records, report.inserted, report.updated, report.deleted) == (7, 1, 1, 1)
    assert [(c.name, c.failing, c.rows) for c in report.checks] == [("few", 1, 3), ("whole", 0, 3)]
    row = next(r for r in made.topic.rows() if r["key"] == "k1")
    moment = datetime.fromtimestamp(AT / 1e6, UTC)
    assert (row["quantity"], row["note"], row["at"]) == (1000, "n1000", moment.replace(tzinfo=None))
    assert row["seen"] == datetime(2025, 10, 9, 6, 53, 20, 500_000, UTC)
    assert (row["$$op"], row["$$source-lsn"] > 1000) == ("u", True)
    assert row["$$source-time"] == moment.replace(microsecond=123_000)
    assert sound(made)


@pytest.mark.nightly
def test_a_row_whose_key_changes_goes_and_comes_again_under_the_new_one(make_one: MakeTopic) -> None:
    made = ten(make_one)
    made.send([("k1", None), ("k11", 1)])

    report = land(made.topic.spec, made.topic.connections)

    assert made.rows_by_key() == made.rows
    assert (report.inserted, report.deleted) == (1, 1)
    assert sound(made)


def test_a_soft_delete_keeps_the_row_as_it_was_last_and_says_since_when(make_one: MakeTopic) -> None:
    made = ten(make_one, delete="soft")
    topic, headers = made.topic, [("by", b"\x00\xff")]
    made.send([("k1", None)], headers=headers)  # its values are in the table
    made.send([("k2", 22), ("k2", None)])  # they come with it
    made.send([("new", 7), ("new", None), ("never there", None), ("k3", None), ("k3", 33)])
    topic.send_keyed([(made.key("k4"), None)], partition=1)  # a compaction of the topic took the delete
    made.rows.pop("k4")

    report = land(topic.spec, topic.connections)

    gone = {row["key"]: row for row in topic.rows() if row["$$deleted"]}
    assert {key: (row["quantity"], row["note"]) for key, row in gone.items()} == {
        "k1": (1, "n1"), "k2": (22, "n22"), "k4": (4, "n4"), "new": (7, "n7"),
    }  # fmt: skip
    assert {row["$$op"] for row in gone.values()} == {"d"}
    at = datetime.fromtimestamp(AT // 1000 / 1e3, UTC)
    assert [gone[key]["$$deleted-at"] for key in ("k1", "k2", "new")] == [at, at, at]
    assert gone["k4"]["$$deleted-at"] == gone["k4"]["$$timestamp"]
    assert gone["k1"]["$$headers"] == headers
    assert live(made) == made.rows
    assert (report.inserted, report.updated, report.deleted) == (1, 1, 3)
    assert sound(made)
    other = run_check("schema", topic.spec.model_copy(update={"delete": "hard"}), topic.connections)
    assert (other.passed, "Write delete: soft" in other.text) == (False, True)


@pytest.mark.nightly
def test_a_row_that_was_deleted_softly_lives_again_and_a_late_tombstone_changes_nothing(
    make_one: MakeTopic,
) -> None:
    made = ten(make_one, delete="soft", partitions=1)
    topic = made.topic
    made.send([("k1", None), ("k2", None), ("k3", 33)], plain="landings take some")
    land(topic.spec, topic.connections, max_records=3)  # k2's tombstone waits
    before = {row["key"]: row for row in topic.rows()}

    late = land(topic.spec, topic.connections, max_records=1)
    assert (late.records, late.deleted, late.updated) == (1, 0, 0)
    assert {row["key"]: row for row in topic.rows()} == before

    made.send([("k1", 11)])
    report = land(topic.spec, topic.connections)

    again = next(row for row in topic.rows() if row["key"] == "k1")
    assert (again["quantity"], again["$$deleted"], again["$$deleted-at"]) == (11, False, None)
    assert live(made) == made.rows
    assert len(topic.rows()) == 10
    assert (report.inserted, report.updated, report.deleted) == (0, 2, 0)
    assert sound(made)


@pytest.mark.nightly
def test_the_sources_log_says_what_is_later_whatever_partition_and_clock_say(make_one: MakeTopic) -> None:
    made = captured(make_one, delete="soft", order_by="source.lsn")
    topic = made.topic

    def send(key: str, quantity: int | None, lsn: int, partition: int, timestamp: int) -> None:
        made.lsn = lsn - 8
        made.send([(key, quantity)], partition=partition, timestamp=timestamp)

    for key in "abc":
        send(key, 1, 100, 0, 9000)
    send("late", None, 300, 1, 10)  # its insert waits in the other partition
    land(topic.spec, topic.connections)
    send("a", 2, 50, 1, 9999)  # sent once more
    send("b", None, 200, 1, 10)
    send("c", 3, 150, 1, 20)
    send("e", 1, 10, 1, 10)
    send("e", 2, 5, 0, 9999)
    land(topic.spec, topic.connections)
    assert live(made) == {"a": 1, "c": 3, "e": 1}

    send("late", 1, 250, 0, 9000)
    send("b", 4, 190, 0, 9000)
    send("c", None, 400, 0, 10)
    send("e", 5, 600, 0, 1)
    report = land(topic.spec, topic.connections)

    assert live(made) == {"a": 1, "e": 5}
    gone = {row["key"]: row["quantity"] for row in topic.rows() if row["$$deleted"]}
    assert gone == {"b": 1, "c": 3, "late": None}
    assert (report.inserted, report.updated, report.deleted) == (0, 1, 1)
    send("b", 5, 500, 0, 1)
    land(topic.spec, topic.connections)
    assert live(made) == {"a": 1, "b": 5, "e": 5}
    assert sound(made)
    assert run_check(VERIFIED, topic.spec, topic.connections).status == "passed"


@pytest.mark.nightly
@pytest.mark.parametrize("written", ["avro", "json"])
def test_an_envelope_that_says_no_row_is_a_bad_record(make_one: MakeTopic, written: Written) -> None:
    made = ten(make_one, written, on_bad_record="dead_letter")
    topic, row = made.topic, made.row("k1", 5) or {}
    mark = {**row, "note": "__debezium_unavailable_value"}
    values = [
        (made.key("k1"), made.value("u", None, None)),
        (made.key("k1"), made.value("x", None, row)),
        (made.key("k1"), made.value("u", None, mark)),
        (made.key("k1"), made.value("u", None, row)[:-1]),
        (made.key("k1"), made.value("u", None, {**row, "seen": "yesterday"})),
        (None, made.value("u", None, row)),
        (made.key("k1"), made.value("d", mark, None)),
    ]
    topic.send_keyed(values)
    made.rows.pop("k1")

    assert land(topic.spec, topic.connections).dead_letters == 6
    letters = topic.connections.catalog.load_table(("landing_tests", f"{topic.name}__dead_letters"))
    rows = letters.scan().to_arrow().sort_by("offset").to_pylist()
    codes = [row["reason_code"] for row in rows]
    assert codes[:3] == ["no_row", "operation", "unavailable_value"]
    assert codes[5:] == ["null_key"]
    assert "'yesterday' is no moment with a zone" in rows[4]["reason"]
    assert "op is x" in rows[1]["reason"]
    assert "note holds" in rows[2]["reason"]
    assert made.rows_by_key() == made.rows
    assert sound(made)


@pytest.mark.nightly
def test_a_truncate_ends_the_rows_before_it_and_none_behind_it(make_one: MakeTopic) -> None:
    made = ten(make_one)
    topic = made.topic
    made.send([("k1", 11)], partition=0)
    made.send([("k2", 12), ("k3", None)], partition=1)
    topic.send_keyed([(None, made.value("t", None, None))], partition=1)
    made.send([("k2", 22), ("new", 1)], partition=1)
    made.send([("k5", 55)], partition=0)

    report = land(topic.spec, topic.connections)

    assert made.rows_by_key() == {"k2": 22, "new": 1, "k5": 55}
    assert (report.records, report.inserted, report.updated, report.deleted) == (8, 1, 2, 8)
    assert sound(made)
    topic.send_keyed([(None, made.value("t", None, None))])
    assert land(topic.spec, topic.connections).deleted == 3
    assert made.rows_by_key() == {}
    assert sound(made)


@pytest.mark.nightly
def test_a_truncate_marks_rows_where_deleted_ones_stay(make_one: MakeTopic) -> None:
    made = ten(make_one, delete="soft", order_by="source.lsn", partitions=1)
    topic = made.topic
    made.send([("k1", None), ("k2", 12), ("gone", 1)])
    topic.send_keyed([(None, made.value("t", None, None))])
    made.send([("k3", 33), ("k4", None)])

    report = land(topic.spec, topic.connections)

    rows = {row["key"]: row for row in topic.rows()}
    assert live(made) == {"k3": 33}
    assert {key: row["$$op"] for key, row in rows.items() if key in ("k1", "k2", "k4", "k5", "gone")} == {
        "k1": "d", "k2": "t", "k4": "d", "k5": "t", "gone": "t",
    }  # fmt: skip
    assert (rows["k2"]["quantity"], rows["k5"]["quantity"], rows["gone"]["quantity"]) == (12, 5, 1)
    assert all(row["$$deleted-at"] for key, row in rows.items() if key != "k3")
    assert (report.inserted, report.updated, report.deleted) == (1, 1, 9)
    assert sound(made)


def test_columns_follow_the_source_and_migrations_speak_of_the_row(make_one: MakeTopic) -> None:
    made = ten(make_one)
    topic = made.topic
    made.send([("k1", 11)])
    more = {"name": "price", "type": {"type": "int", "connect.default": 0}, "default": 0}
    named = [{**f, "name": "remark"} if f["name"] == "note" else f for f in FIELDS]
    made.register("value", avro_envelope([*named, more]))
    row = {"key": "k2", "quantity": 12, "remark": "later", "at": None, "seen": None, "price": 3}
    topic.send_keyed([(made.key("k2"), made.value("u", None, row))])

    with pytest.raises(SchemaRefusedError, match="does not fit"):
        land(topic.spec, topic.connections)
    rename = Migration.model_validate({"id": "one", "rename": {"from": "note", "to": "remark"}})
    land(topic.spec.model_copy(update={"migrations": (rename,)}), topic.connections)

    rows = {row["key"]: (row["quantity"], row["remark"], row["price"]) for row in topic.rows()}
    assert rows["k1"] == (11, "n11", 0)
    assert rows["k2"] == (12, "later", 3)
    assert rows["k3"] == (3, "n3", None)


def test_discover_tells_which_topics_hold_changes(make_one: MakeTopic) -> None:
    made, plain = captured(make_one, partitions=1), make_one()
    made.send([("k1", 1)])
    plain.trades(1)

    findings = discover([made.topic.name, plain.name], made.topic.connections, ())

    assert [p.table.get("mode") for finding in findings for p in finding.proposals] == ["cdc", None]


def test_a_value_that_is_no_envelope_is_refused_with_its_fields(make_one: MakeTopic) -> None:
    topic = make_one(mode="cdc", key_format="string")
    topic.trades(1)

    with pytest.raises(SchemaRefusedError, match="there is no field after") as refused:
        land(topic.spec, topic.connections)

    assert "side, quantity, symbol" in refused.value.where
