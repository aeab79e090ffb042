"""Several writers in one landing, and schemas that change under a table."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from frazil.checks.run import run_check
from frazil.errors import SchemaRefusedError
from frazil.landing.land import land
from kit.topics import TRADE, Topic

MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)


def trade(*more: dict[str, Any], **changed: Any) -> dict[str, Any]:
    fields = [{**f, "type": changed.get(f["name"], f["type"])} for f in TRADE["fields"]]  # type: ignore[attr-defined]
    return {**TRADE, "fields": [*fields, *more]}


def optional(name: str, kind: Any) -> dict[str, Any]:
    return {"name": name, "type": ["null", kind], "default": None}


def value(quantity: int, **more: Any) -> dict[str, Any]:
    return {"side": "BUY", "quantity": quantity, "symbol": "Z", **more}


def any_version(topic: Topic) -> Topic:
    topic.connections.registry.set_compatibility(f"{topic.name}-value", level="NONE")
    return topic


def test_each_record_is_read_with_the_schema_it_was_written_with(topic: Topic) -> None:
    any_version(topic)
    for stamp, decimal, scale in (
        ("timestamp-millis", Decimal("1.23"), 2),
        ("timestamp-micros", Decimal("1.2345"), 4),
    ):
        topic.register(
            trade(
                optional("at", {"type": "long", "logicalType": stamp}),
                optional("d", {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": scale}),
            )
        )
        topic.send([topic.encode(value(scale, at=MOMENT, d=decimal))])

    report = land(topic.spec, topic.connections)

    assert len(report.schema_ids) == 2
    assert [(r["at"], r["d"]) for r in topic.rows()] == [
        (MOMENT, Decimal("1.2300")),
        (MOMENT, Decimal("1.2345")),
    ]


def test_a_new_optional_field_and_wider_types_evolve_the_table(topic: Topic) -> None:
    topic.trades(2)
    land(topic.spec, topic.connections)
    any_version(topic).register(trade(optional("note", "string"), quantity="long", symbol=["null", "string"]))
    topic.send([topic.encode(value(2**40, note="n"))])

    land(topic.spec, topic.connections)

    schema = topic.connections.catalog.load_table(topic.things.table.identifier).schema()
    assert [f.name for f in schema.fields][:6] == ["key", "side", "quantity", "symbol", "note", "$$topic"]
    assert [str(schema.find_field("quantity").field_type), schema.find_field("symbol").required] == [
        "long",
        False,
    ]
    assert [(r["quantity"], r["note"]) for r in topic.rows()] == [(0, None), (1, None), (2**40, "n")]
    assert run_check("schema", topic.spec, topic.connections).passed


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (trade({"name": "fee", "type": "int", "default": 0}), "field fee: a new required field"),
        (trade(quantity="string"), "field quantity: .* can't become"),
        ({**TRADE, "fields": TRADE["fields"][:2]}, "field symbol: a field that rows hold can't be dropped"),  # type: ignore[index]
    ],
)
def test_a_refused_change_stops_the_table_and_leaves_it_as_it_was(
    topic: Topic, changed: dict[str, Any], said: str
) -> None:
    topic.trades(2)
    before = land(topic.spec, topic.connections)
    any_version(topic).register(changed)

    with pytest.raises(SchemaRefusedError, match=said):
        land(topic.spec, topic.connections)

    table = topic.connections.catalog.load_table(topic.things.table.identifier)
    snapshot = table.current_snapshot()
    assert snapshot
    assert snapshot.snapshot_id == before.snapshot_id
    assert table.schema().schema_id == 0
    check = run_check("schema", topic.spec, topic.connections)
    assert (check.passed, check.severity) == (False, "ERROR")
