"""A masked field reaches no row, dead letter or error; what it became can be joined, and redriven."""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any

import pytest
from pydantic import SecretStr

from frazil.checks.result import Subject
from frazil.checks.run import run_check, run_values
from frazil.checks.verification import verify
from frazil.clients import Clients
from frazil.connections import Connections
from frazil.errors import ConfigureError, SchemaRefusedError, SpecError, SuspendedError
from frazil.landing.land import land
from frazil.landing.repairs.redrive import redrive
from frazil.landing.replay.run import replay
from kit.records.topics import MakeTopic, Topic, topic_maker

KEY = "a key of more than sixteen characters"
PERSON: dict[str, Any] = {
    "type": "record",
    "name": "Person",
    "fields": [
        {"name": "email", "type": "string"},
        {"name": "card", "type": "long"},
        {"name": "iban", "type": ["null", "string"], "default": None},
        {"name": "country", "type": ["null", "string"], "default": None},
        {"name": "home", "type": {"type": "record", "name": "Home", "fields": [
            {"name": "phone", "type": "string"}, {"name": "city", "type": "string"}]}},
    ],
}  # fmt: skip
MASKS = {
    "email": {"mask": "hash"}, "card": {"mask": "last4"}, "iban": {"mask": "redact"},
    "home.phone": {"mask": "hash", "key": "phones"},
}  # fmt: skip


@pytest.fixture
def make_topic(lake: Connections, fresh_name: str) -> MakeTopic:
    keys = {name: SecretStr(KEY) for name in ("masks", "phones", "letters")}
    keyed = Clients(lake.settings.with_changes(named_keys=keys), lambda _: lake.spark)
    return topic_maker(keyed, fresh_name, "mask_tests")


def verdict(topic: Topic) -> tuple[bool, dict[str, str]]:
    """Whether the verifier finds nothing, and the columns that it does not compare."""
    document = verify(Subject(topic.spec, topic.things, topic.connections)).document
    assert "sound" in document, document
    return document["sound"], document["not_compared"]


def person(number: int, country: str | None = "DE") -> dict[str, Any]:
    return {
        "email": f"ann{number}@example.com", "card": 4111_0000_0000_0000 + number, "iban": f"DE{number:020}",
        "country": country, "home": {"phone": f"+49 170 {number}", "city": "Ulm"},
    }  # fmt: skip


def hashed(text: str) -> str:
    return hmac.new(KEY.encode(), text.encode(), hashlib.sha256).hexdigest()


def people(make_topic: MakeTopic, **spec: Any) -> Topic:
    topic = make_topic(trades=False, **{"columns": MASKS, "key_format": "none", **spec})
    topic.register(PERSON)
    return topic


def letters(topic: Topic) -> list[dict[str, Any]]:
    name = topic.things.table.dead_letters.identifier
    letters_read: list[dict[str, Any]] = (
        topic.connections.catalog.load_table(name).scan().to_arrow().to_pylist()
    )
    return letters_read


def damaged(topic: Topic, number: int) -> bytes:
    return topic.encode(person(number))[:-2]


@pytest.mark.each_time("rest-hash")
@pytest.mark.parametrize("distribution", ["none", "hash"])
def test_rows_hold_the_masks_of_values_by_either_way_of_writing(
    make_topic: MakeTopic, distribution: str
) -> None:
    topic = people(make_topic, write={"distribution": distribution}, partition_by=["bucket(2, email)"])
    topic.send([topic.encode(person(n)) for n in (1, 2)])

    land(topic.spec, topic.connections)

    assert [(r["email"], r["card"], r["iban"], r["home"]) for r in topic.rows()] == [
        (hashed(f"ann{n}@example.com"), f"****000{n}", None, {"phone": hashed(f"+49 170 {n}"), "city": "Ulm"})
        for n in (1, 2)
    ]
    comments = {f.name: f.doc for f in topic.connections.catalog.load_table(
        topic.things.table.identifier).schema().fields}  # fmt: skip
    assert comments["card"] == "Masked: the last four characters."
    looks = [run_check(name, topic.spec, topic.connections) for name in ("row_count_deep", "schema")]
    assert [look.text for look in looks if not look.passed] == []
    assert run_values(topic.spec, topic.connections, 10).passed
    assert verdict(topic) == (True, {})


def test_records_that_the_spec_does_not_want_are_left_out_and_counted(make_topic: MakeTopic) -> None:
    topic = people(make_topic, where="country <> 'XX' and email <> 'ann3@example.com'")
    values = [topic.encode(person(n, c)) for n, c in enumerate(["DE", "XX", None, "DE", "FR"])]
    topic.send([*values, values[1]])

    report = land(topic.spec, topic.connections)

    assert [r["country"] for r in topic.rows()] == ["DE", "FR"]
    assert (report.records, report.skipped, report.filtered) == (2, 4, 4)
    table = topic.connections.catalog.load_table(topic.things.table.identifier)
    head = table.current_snapshot()
    assert head is not None
    assert head.summary is not None
    assert head.summary["frazil.filtered"] == "4"
    assert run_check("row_count_deep", topic.spec, topic.connections).passed
    assert verdict(topic) == (True, {})
    topic.spec = topic.spec.model_copy(update={"where": "country = 'FR'"})
    assert verdict(topic) == (False, {})


@pytest.mark.nightly
def test_a_bad_record_that_where_could_not_judge_is_bad_all_the_same(make_topic: MakeTopic) -> None:
    topic = people(make_topic, where="country = 'DE'", on_bad_record="dead_letter")
    topic.send([topic.encode(person(1)), damaged(topic, 2)])

    report = land(topic.spec, topic.connections)

    assert (report.records, report.dead_letters, report.filtered) == (1, 1, 0)


def test_a_filter_over_no_field_is_refused_before_anything_lands(make_topic: MakeTopic) -> None:
    topic = people(make_topic, where="land = 'DE'")
    topic.send([topic.encode(person(1))])

    with pytest.raises(SpecError, match="no filter over records"):
        land(topic.spec, topic.connections)


def test_dead_letters_keep_no_bytes_and_a_replay_brings_them_back(make_topic: MakeTopic) -> None:
    topic = people(make_topic, on_bad_record="dead_letter")
    topic.send([topic.encode(person(1)), damaged(topic, 2)])
    land(topic.spec, topic.connections)

    (letter,) = letters(topic)
    assert (letter["raw_key"], letter["raw_value"], letter["seal"], letter["sealed"]) == (
        None, None, "withheld", None,
    )  # fmt: skip
    assert letter["reason_code"] == "truncated"
    report = redrive(topic.spec, topic.connections)
    assert report.still_bad == {"withheld": 1}
    assert "frazil replay" in report.reasons[0]
    assert replay(topic.spec, topic.connections, {0: (1, 2)}).dead_letters in (0, 1)


@pytest.mark.nightly
def test_encrypted_dead_letters_are_redriven(make_topic: MakeTopic) -> None:
    topic = people(make_topic, on_bad_record="dead_letter", dead_letters={"encrypt_with": "letters"})
    good = topic.encode(person(7))
    topic.send([topic.encode(person(1)), b"\0\x7f\xff\xff\xff" + good[5:]])
    land(topic.spec, topic.connections)
    (letter,) = letters(topic)

    report = redrive(topic.spec, topic.connections, repair=lambda each: good)

    assert (letter["raw_value"], letter["seal"], letter["schema_id"]) == (None, "letters", 0x7FFFFFFF)
    assert b"ann7" not in letter["sealed"]
    assert (report.redriven, report.still_bad) == (1, {})
    assert [r["email"] for r in topic.rows()] == [hashed(f"ann{n}@example.com") for n in (1, 7)]


def test_an_error_about_a_bad_record_shows_no_value(make_topic: MakeTopic) -> None:
    topic = make_topic(
        trades=False, key_format="none", columns={"email": {"mask": "redact"}}, value_format="json",
        validate="strict",
    )  # fmt: skip
    schema = {"type": "object", "properties": {"email": {"type": "string", "maxLength": 5}}}
    from confluent_kafka.schema_registry import Schema

    subject = f"{topic.name}-value"
    number = topic.connections.registry.register_schema(subject, Schema(json.dumps(schema), "JSON"))
    topic.send([b"\0" + int(number).to_bytes(4, "big") + b'{"email": "ann@example.com"}'])

    with pytest.raises(SuspendedError) as caught:
        land(topic.spec, topic.connections)

    assert "ann@example.com" not in f"{caught.value} {caught.value.document}"
    assert "columns of the table are masked" in caught.value.where


def test_another_mask_waits_for_a_migration_and_the_table_remembers_it(make_topic: MakeTopic) -> None:
    topic = people(make_topic, columns={"email": {"mask": "hash"}})
    topic.send([topic.encode(person(1))])
    land(topic.spec, topic.connections)
    topic.send([topic.encode(person(2))])
    other = topic.spec.model_validate({**topic.spec.model_dump(by_alias=True), "columns": {
        "email": {"mask": "last4"}}})  # fmt: skip

    with pytest.raises(SchemaRefusedError) as caught:
        land(other, topic.connections)
    assert "keep email masked by hash" in caught.value.where
    line = {"id": "mask-email-last4", "mask": {"column": "email", "to": "last4"}}
    assert "{id: mask-email-last4, mask: {column: email, to: last4}}" in caught.value.todo
    approved = other.model_validate({**other.model_dump(by_alias=True), "migrations": [line]})
    land(approved, topic.connections)
    land(approved, topic.connections)

    assert [r["email"] for r in topic.rows()] == [hashed("ann1@example.com"), "****.com"]
    field = topic.connections.catalog.load_table(topic.things.table.identifier).schema().find_field("email")
    assert field.doc == "Masked: the last four characters."
    topic.spec = approved
    assert verdict(topic) == (True, {"email": "its mask was another one for older rows"})


def test_a_hashed_key_tells_rows_apart(make_topic: MakeTopic) -> None:
    topic = people(make_topic, mode="upsert", key_fields=["email"], columns={"email": {"mask": "hash"}})
    topic.send([topic.encode(person(1, c)) for c in ("DE", "FR")])
    topic.send([topic.encode(person(2, "DE"))])

    land(topic.spec, topic.connections)

    assert {(r["email"], r["country"]) for r in topic.rows()} == {
        (hashed("ann1@example.com"), "FR"), (hashed("ann2@example.com"), "DE"),
    }  # fmt: skip
    assert verdict(topic) == (True, {})


def test_without_its_key_nothing_is_landed(make_topic: MakeTopic) -> None:
    topic = people(make_topic, columns={"email": {"mask": "hash", "key": "none"}})
    topic.send([topic.encode(person(1))])

    with pytest.raises(ConfigureError, match="key none is missing"):
        land(topic.spec, topic.connections)
