"""Subjects whose versions were deleted, and subjects that are not named after the topic."""

from __future__ import annotations

import pytest
from confluent_kafka.schema_registry import Schema

from frazil.discovery.findings import discover
from frazil.errors import MissingError, SuspendedError
from frazil.landing.land import land
from frazil.landing.repairs.dead_letters import DeadLetter
from frazil.landing.repairs.redrive import redrive
from frazil.spec.topic import TableSpec
from kit.records.topics import TRADE, MakeTopic, Topic, create_topic

NOTED = {**TRADE, "fields": [*TRADE["fields"], {"name": "note", "type": ["null", "string"], "default": None}]}  # type: ignore[misc]


def two_versions(topic: Topic) -> tuple[int, int]:
    """A record of each of two versions; their ids."""
    topic.trades(1)
    first, second = topic.register(TRADE), topic.register(NOTED)
    topic.send([topic.encode({"side": "SELL", "quantity": 7, "symbol": "Z", "note": "n"}, second)])
    return first, second


def values(topic: Topic) -> list[tuple[int, str | None]]:
    return [(row["quantity"], row.get("note")) for row in topic.rows()]


@pytest.mark.parametrize("gone", [1, 2])
def test_records_of_a_version_that_was_deleted_softly_are_read(make_topic: MakeTopic, gone: int) -> None:
    """https://github.com/confluentinc/schema-registry/issues/2857"""
    topic = make_topic()
    two_versions(topic)
    topic.connections.registry.delete_version(f"{topic.name}-value", gone)

    land(topic.spec, topic.connections)

    assert values(topic) == [(0, None), (7, "n" if gone == 1 else None)]


def test_records_of_a_subject_that_was_deleted_softly_are_read(make_topic: MakeTopic) -> None:
    """https://github.com/confluentinc/schema-registry/issues/2857"""
    topic = make_topic()
    two_versions(topic)
    topic.connections.registry.delete_subject(f"{topic.name}-value")

    with pytest.raises(MissingError, match="was deleted, with all its versions"):  # as Apicurio has it
        land(topic.spec, topic.connections)

    topic.connections.registry.clear_caches()  # type: ignore[no-untyped-call]
    topic.register(NOTED)
    land(topic.spec, topic.connections)
    assert values(topic) == [(0, None), (7, "n")]


def test_of_a_version_that_was_deleted_for_good_the_reason_says_so(make_topic: MakeTopic) -> None:
    """https://github.com/confluentinc/schema-registry/issues/2857"""
    topic = make_topic(trades=False)
    own = {**TRADE, "name": f"Only{topic.name}"}
    first, registry = topic.register(own), topic.connections.registry
    topic.send([topic.encode({"side": "BUY", "quantity": 1, "symbol": "Z"}, first)])
    topic.register({**NOTED, "name": own["name"]})
    registry.delete_version(f"{topic.name}-value", 1)
    registry.delete_version(f"{topic.name}-value", 1, permanent=True)

    with pytest.raises(SuspendedError, match=f"schema id {first} .*the registry does not know it"):
        land(topic.spec, topic.connections)


@pytest.mark.nightly
def test_dead_letters_of_a_version_that_is_gone_are_redriven_under_the_id_that_it_gets_anew(
    make_topic: MakeTopic,
) -> None:
    """https://github.com/confluentinc/schema-registry/issues/2857"""
    topic = make_topic(trades=False, on_bad_record="dead_letter")
    own = {**TRADE, "name": f"Only{topic.name}"}
    first, registry = topic.register(own), topic.connections.registry
    topic.send([topic.encode({"side": "BUY", "quantity": 1, "symbol": "Z"}, first)])
    topic.register({**NOTED, "name": own["name"]})
    for permanent in (False, True):
        registry.delete_version(f"{topic.name}-value", 1, permanent=permanent)
    land(topic.spec, topic.connections)
    as_it_is = redrive(topic.spec, topic.connections)
    again = topic.register(own)

    def under_the_new_id(letter: DeadLetter) -> bytes:
        return b"\0" + again.to_bytes(4, "big") + (letter.raw_value or b"")[5:]

    report = redrive(topic.spec, topic.connections, repair=under_the_new_id)

    assert (as_it_is.redriven, dict(as_it_is.still_bad)) == (0, {"schema_id": 1})
    assert "was deleted for good" in as_it_is.reasons[0]
    assert report.redriven == 1
    assert values(topic) == [(1, None)]


def test_a_copy_by_mirror_maker_lands_by_the_subject_of_its_origin(make_topic: MakeTopic) -> None:
    """Topics are renamed, ids are not: github.com/apache/kafka/blob/trunk/connect/mirror/README.md"""
    topic = make_topic()
    origin = topic.name
    key_id = topic.connections.registry.register_schema(f"{origin}-key", Schema('"long"', "AVRO"))
    record = topic.encode({"side": "BUY", "quantity": 3, "symbol": "Z"})
    copy = Topic(f"src.{origin}", topic.connections, TableSpec(topic=f"src.{origin}"))
    create_topic(topic.connections.admin, copy.name, 1, {})
    copy.send_keyed([(b"\0" + key_id.to_bytes(4, "big") + b"\x0e", record)])

    (finding,) = discover([copy.name], copy.connections, ())
    (proposal,) = finding.proposals
    assert proposal.table == {
        "topic": copy.name,
        "key_subject": f"{origin}-key",
        "value_subject": f"{origin}-value",
    }
    copy.spec = TableSpec.model_validate({**proposal.table, "namespace": "field_reports"})
    land(copy.spec, copy.connections)
    assert [(r["key"], r["quantity"]) for r in copy.rows()] == [(7, 3)]


def test_a_foreign_schema_id_is_told_with_the_subject_that_it_is_of(make_topic: MakeTopic) -> None:
    """https://github.com/apache/kafka/blob/trunk/connect/mirror/README.md"""
    topic, other = make_topic(), make_topic(trades=False)
    other.register({**NOTED, "name": f"Only{other.name}"})
    topic.send([other.encode({"side": "BUY", "quantity": 3, "symbol": "Z", "note": None})])

    with pytest.raises(SuspendedError, match=f"it is of {other.name}-value; if all are, write value_subject"):
        land(topic.spec, topic.connections)
