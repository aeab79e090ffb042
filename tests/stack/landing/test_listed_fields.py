"""JSON without a schema, whose spec lists the fields: what lands, what is bad, how the list may change."""

from __future__ import annotations

import json
from typing import Any

import pytest

from frazil.checks.run import run_check, run_values
from frazil.errors import SchemaRefusedError
from frazil.landing.land import land
from frazil.spec.topic import TableSpec
from kit.records.topics import MakeTopic, Topic

ID = {"name": "id", "type": "long"}
CITY = {"name": "city", "type": "string", "path": "address.city", "optional": True}
AT = {"name": "at", "type": "timestamptz", "path": "meta.at"}
NOTE = {"name": "note", "type": "string", "optional": True}


def record(number: int, **more: Any) -> dict[str, Any]:
    meta = {"at": f"2026-11-26T10:00:0{number}Z"}
    return {"id": number, "address": {"city": "Brno"}, "meta": meta, **more}


def listing(topic: Topic, *fields: dict[str, Any], **more: Any) -> TableSpec:
    return TableSpec.model_validate({**topic.spec.model_dump(exclude_unset=True), "fields": fields, **more})


def send(topic: Topic, *values: object) -> None:
    topic.send([json.dumps(value).encode() for value in values])


def letters(topic: Topic) -> list[str]:
    table = topic.connections.catalog.load_table((topic.spec.namespace, f"{topic.name}__dead_letters"))
    rows: list[dict[str, Any]] = table.scan().to_arrow().to_pylist()
    return [f"{row['reason_code']}: {row['reason']}" for row in sorted(rows, key=lambda r: r["offset"])]


def test_listed_fields_land_and_the_list_follows_the_rules_of_schemas(make_topic: MakeTopic) -> None:
    spec = {"value_format": "json", "on_bad_record": "dead_letter", "max_dead_letter_rate": 1.0}
    topic = make_topic(trades=False, fields=[ID, CITY, AT], **spec)
    send(
        topic, record(1), record(2, address=None), record(3, meta={}), record(4, id="4"),
        record(5, coupon=[1], address={"city": "Praha", "zip": 1}), ["no object"],
    )  # fmt: skip

    report = land(topic.spec, topic.connections)

    assert (report.records, report.dead_letters) == (3, 3)
    assert [(r["id"], r["city"], r["at"].second) for r in topic.rows()] == [
        (1, "Brno", 1), (2, None, 2), (5, "Praha", 5)]  # fmt: skip
    assert [why.partition(",")[0] for why in letters(topic)] == [
        "required: meta.at: it is not there", "type: id: 4 is no integer",
        "type: (root): ['no object'] is of another type",
    ]  # fmt: skip

    with pytest.raises(SchemaRefusedError, match="long can't become string"):
        land(listing(topic, {**ID, "type": "string"}, CITY, AT), topic.connections)
    with pytest.raises(SchemaRefusedError, match="city: a field that rows hold can't be dropped"):
        land(listing(topic, ID, AT), topic.connections)

    moved = {**CITY, "path": ["address", "town.name"]}
    with pytest.raises(SchemaRefusedError, match="city: its path becomes address") as caught:
        land(listing(topic, ID, moved, AT), topic.connections)
    line = {"id": "path-city-address.town.name", "path": {"column": "city", "to": ["address", "town.name"]}}
    assert "to: [address, town.name]}" in caught.value.todo
    approved = listing(topic, ID, moved, AT, migrations=[line])
    assert land(approved, topic.connections).records == 0
    back = {"id": "back", "path": {"column": "city", "to": "address.city"}}
    assert land(listing(topic, ID, CITY, AT, migrations=[line, back]), topic.connections).records == 0

    wider = listing(topic, ID, CITY, AT, NOTE, rest=True)
    send(topic, record(6, note="n", coupon=1.50), record(7))
    assert land(wider, topic.connections).records == 2
    assert [(r["id"], r["note"], r["$$rest"]) for r in topic.rows()] == [
        (1, None, None), (2, None, None), (5, None, None),
        (6, "n", '{"coupon":1.5}'), (7, None, None)]  # fmt: skip
    looks = [run_check(name, wider, topic.connections) for name in ("row_count_deep", "schema")]
    looks.append(run_values(wider, topic.connections, 100))
    assert [look.text for look in looks if not look.passed] == []
