"""`frazil verify`: a program that shares no code says what does not agree between a topic and its table."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.schema_registry import Schema

from frazil.checks.result import Subject
from frazil.checks.run import VERIFIED, run_check
from frazil.checks.verification import Verified, kafka_config, verify
from frazil.landing.land import land
from frazil_verify.log.records import Log
from kit.readers.opened import table_of
from kit.records.topics import MakeTopic, Topic, make_anew
from kit.wires.judged import judge_in_a_process

Change = Callable[[pa.Table], pa.Table]


@pytest.fixture(scope="module")
def compared() -> None:
    """Rows are made wrong here by hand."""


@pytest.fixture
def as_users_do(judged: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The verifier is a process of its own, by day too."""
    judge_in_a_process(monkeypatch)


def verified(topic: Topic) -> Verified:
    return verify(Subject(topic.spec, topic.things, topic.connections))


def kinds(topic: Topic) -> dict[str, int]:
    document = verified(topic).document
    assert "unverifiable" not in document, document
    return dict(document["counts"])


def tamper(topic: Topic, change: Change) -> None:
    """Puts other rows in place of the table's, as another engine would that knows no ledger."""
    table = table_of(topic)
    rows = change(table.scan().to_arrow())
    table.overwrite(rows)


def with_column(rows: pa.Table, name: str, values: Any) -> pa.Table:
    at = rows.schema.get_field_index(name)
    return rows.set_column(at, rows.schema.field(at), pa.array(values, rows.schema.field(at).type))


@pytest.mark.usefixtures("as_users_do")
def test_a_table_that_holds_its_topic_agrees(landed: Topic) -> None:
    document = verified(landed).document

    assert document["sound"]
    assert (document["records"], document["rows"]) == (10, 10)
    assert document["not_compared"] == {}


def gone(rows: pa.Table) -> pa.Table:
    return rows.slice(1)


def doubled(rows: pa.Table) -> pa.Table:
    return pa.concat_tables([rows, rows.slice(3, 1)])


def last_digit(rows: pa.Table) -> pa.Table:
    return with_column(rows, "quantity", [n + (n == 4) for n in rows["quantity"].to_pylist()])


def emptied(rows: pa.Table) -> pa.Table:
    return with_column(
        rows, "symbol", ["" if i == 2 else v for i, v in enumerate(rows["symbol"].to_pylist())]
    )


def swapped(rows: pa.Table) -> pa.Table:
    side, symbol = rows["side"].to_pylist(), rows["symbol"].to_pylist()
    return with_column(with_column(rows, "side", symbol), "symbol", side)


def an_hour_later(rows: pa.Table) -> pa.Table:
    times = pc.add(rows["$$timestamp"], pa.scalar(3_600_000_000, pa.duration("us")))
    return with_column(rows, "$$timestamp", times.to_pylist())


def of_later_offsets(rows: pa.Table) -> pa.Table:
    return with_column(rows, "$$offset", [at + 1 for at in rows["$$offset"].to_pylist()])


def of_another_partition(rows: pa.Table) -> pa.Table:
    return with_column(rows, "$$partition", [7] * len(rows))


def without_headers(rows: pa.Table) -> pa.Table:
    return with_column(rows, "$$headers", [None] * len(rows))


@pytest.mark.each_time("rest-last_digit--")
@pytest.mark.parametrize(
    ("change", "expected", "columns"),
    [
        (gone, {"missing": 1}, ()),
        (doubled, {"doubled": 1}, ()),
        (last_digit, {"altered": 1}, ("quantity",)),
        (emptied, {"altered": 1}, ("symbol",)),
        (swapped, {"altered": 10}, ("side", "symbol")),
        (an_hour_later, {"altered": 10}, ("$$timestamp",)),
        (of_another_partition, {"missing": 10, "outside": 10}, ()),
        (without_headers, {"altered": 10}, ("$$headers",)),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_rows_that_another_engine_changed_are_named(
    landed: Topic, change: Change, expected: dict[str, int], columns: tuple[str, ...]
) -> None:
    tamper(landed, change)

    document = verified(landed).document

    assert document["counts"] == expected
    assert {tuple(each["columns"]) for each in document["samples"]} == {columns}


@pytest.mark.nightly
def test_a_shift_by_one_offset_misses_the_first_and_is_baseless_at_the_end(landed: Topic) -> None:
    tamper(landed, of_later_offsets)

    result = run_check(VERIFIED, landed.spec, landed.connections)

    assert (result.status, result.severity) == ("failed", "ERROR")
    assert {**result.numbers} | {"missing": 1, "altered": 9, "baseless": 1} == {**result.numbers}
    assert result.text.startswith("10 records were compared with 10 rows, all values: ")
    assert " baseless: partition 0, offset " in result.text or " altered: partition 0, offset " in result.text


def test_what_the_table_counts_as_bad_has_to_be_bad(make_topic: MakeTopic) -> None:
    topic = make_topic(on_bad_record="skip")
    topic.trades(3)
    topic.send([b"\0\0\0\0\0no record"])
    land(topic.spec, topic.connections)

    document = verified(topic).document

    assert document["sound"]
    assert (document["records"], document["rows"], document["bad_records"]) == (4, 3, 1)


def keyed_topic(make_topic: MakeTopic) -> Topic:
    topic = make_topic(mode="upsert", key_format="string", partition_by=())
    schema_id = topic.register(topic.schema)
    values = [topic.encode({"side": "BUY", "quantity": n, "symbol": f"S{n}"}, schema_id) for n in range(6)]
    topic.send_keyed([(f"k{n % 3}".encode(), value) for n, value in enumerate(values)])
    topic.send_keyed([(b"k2", None)])
    land(topic.spec, topic.connections)
    return topic


def test_a_table_of_newest_changes_agrees(make_topic: MakeTopic) -> None:
    document = verified(keyed_topic(make_topic)).document

    assert document["sound"], document
    assert (document["records"], document["rows"]) == (7, 2)


def older(rows: pa.Table) -> pa.Table:
    return with_column(rows, "$$offset", [at - 3 for at in rows["$$offset"].to_pylist()])


def of_a_deleted_key(rows: pa.Table) -> pa.Table:
    return with_column(rows, "key", ["k2" if key == "k0" else key for key in rows["key"].to_pylist()])


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (gone, {"missing": 1}),
        (lambda rows: pa.concat_tables([rows, rows.slice(1)]), {"doubled": 1}),
        (older, {"superseded": 2}),
        (of_a_deleted_key, {"missing": 1, "undeleted": 1}),
        (lambda rows: with_column(rows, "quantity", [9, 9]), {"altered": 2}),
    ],
)
def test_rows_of_keys_that_another_engine_changed_are_named(
    make_topic: MakeTopic, change: Change, expected: dict[str, int]
) -> None:
    topic = keyed_topic(make_topic)
    tamper(topic, change)

    assert kinds(topic) == expected


def test_a_record_that_can_be_read_by_now_and_is_still_a_dead_letter_is_set_aside(
    make_topic: MakeTopic,
) -> None:
    topic = make_topic(on_bad_record="dead_letter")
    topic.trades(2)
    unknown = topic.register_for(f"{topic.name}-other", topic.schema | {"name": "Other"})
    topic.send([topic.encode({"side": "BUY", "quantity": 9, "symbol": "Z"}, unknown)])
    land(topic.spec, topic.connections)
    topic.register(topic.schema | {"name": "Other"})

    document = verified(topic).document

    assert document["counts"] == {"set_aside": 1}
    assert document["dead_letters"] == 1


def test_what_the_verifier_does_not_know_is_said_and_not_judged(make_topic: MakeTopic) -> None:
    few = {"name": "few", "expect": "quantity < 5", "on_failure": "dead_letter"}
    topic = make_topic(on_bad_record="dead_letter", checks=[few])

    assert verified(topic).unverifiable.startswith("its own checks")


def test_a_row_of_a_record_that_breaks_a_rule_of_its_schema_is_found_where_validation_is_strict(
    make_topic: MakeTopic,
) -> None:
    topic = make_topic(trades=False, key_format="none", value_format="json")
    schema = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}}}
    registered = Schema(json.dumps(schema), "JSON")
    number = int(topic.connections.registry.register_schema(f"{topic.name}-value", registered))
    topic.send(
        [b"\0" + number.to_bytes(4, "big") + b'{"name": "%s"}' % name for name in (b"ann", b"christine")]
    )
    land(topic.spec, topic.connections)

    assert kinds(topic) == {}
    topic.spec = topic.spec.model_copy(update={"validation": "strict"})
    assert kinds(topic) == {"bad": 1, "unaccounted": 1}


def test_rows_from_before_a_field_that_has_a_default_may_be_null_and_nothing_else(
    make_topic: MakeTopic,
) -> None:
    topic = make_topic()
    topic.trades(3)
    land(topic.spec, topic.connections)
    older = topic.encode({"side": "BUY", "quantity": 3, "symbol": "ZLATE"})
    venue = {"name": "venue", "type": "string", "default": "XETRA"}
    topic.register({**topic.schema, "fields": [*topic.schema["fields"], venue]})
    topic.send([older, topic.encode({"side": "BUY", "quantity": 4, "symbol": "ZNEW", "venue": "XPAR"})])
    land(topic.spec, topic.connections)
    rows = sorted(topic.rows(), key=lambda row: int(row["$$offset"]))

    assert [row["venue"] for row in rows] == [None, None, None, "XETRA", "XPAR"]
    assert kinds(topic) == {}
    tamper(topic, lambda rows: with_column(rows, "venue", ["XLON"] * len(rows)))
    assert kinds(topic) == {"altered": 5}
    tamper(topic, lambda rows: with_column(rows, "venue", [None] * len(rows)))
    assert kinds(topic) == {"altered": 1}


@pytest.mark.usefixtures("as_users_do")
def test_a_topic_that_was_made_anew_is_not_the_one_that_was_landed(landed: Topic) -> None:
    make_anew(landed)

    assert "not the topic that was landed" in verified(landed).unverifiable


def test_it_knows_which_topics_lose_records_that_are_not_the_oldest(landed: Topic) -> None:
    def compacts() -> bool:
        return Log(landed.spec.topic, kafka_config(landed.connections.settings)).compacts()

    before = compacts()
    policy = [ConfigEntry("cleanup.policy", "compact", incremental_operation=AlterConfigOpType.SET)]
    changed = ConfigResource(ConfigResource.Type.TOPIC, landed.spec.topic, incremental_configs=policy)
    (done,) = landed.connections.admin.incremental_alter_configs([changed]).values()
    done.result(30)

    assert (before, compacts()) == (False, True)
