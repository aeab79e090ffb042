"""Several writers in one landing, and schemas that change under a table."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from frazil.checks.run import run_check
from frazil.errors import SchemaRefusedError
from frazil.formats.record import topic_columns
from frazil.landing.arrivals import look_for_arrivals
from frazil.landing.land import land
from frazil.landing.position.standing import Standings
from frazil.landing.position.state import table_states
from frazil.landing.schema.evolve import evolve
from frazil.landing.schema.tables import ensure_table
from frazil.spec.migrations import Drop, Migration, Rename, Retype
from frazil.tables.catalogs.handle import TableHandle
from kit.records.topics import TRADE, Topic

MIGRATIONS = (
    Migration(id="way", rename=Rename(from_="side", to="way")),
    Migration(id="no-old", drop=Drop(column="old")),
    Migration(id="words", retype=Retype(column="quantity", to="string")),
)
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


@pytest.mark.also("glue", why="its columns are kept twice", nightly=True)
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


@pytest.mark.each_time("rest-type")
@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (trade({"name": "fee", "type": "int"}), "field fee: a new required field"),
        (trade(quantity="string"), "field quantity: .* can't become"),
        ({**TRADE, "fields": TRADE["fields"][:2]}, "field symbol: a field that rows hold can't be dropped"),  # type: ignore[index]
    ],
    ids=["required", "type", "gone"],
)
def test_a_refused_change_stops_the_table_and_leaves_it_as_it_was(
    topic: Topic, changed: dict[str, Any], expected: str
) -> None:
    topic.trades(2)
    before = land(topic.spec, topic.connections)
    any_version(topic).register(changed)

    with pytest.raises(SchemaRefusedError, match=expected):
        land(topic.spec, topic.connections)

    table = topic.connections.catalog.load_table(topic.things.table.identifier)
    snapshot = table.current_snapshot()
    assert snapshot
    assert snapshot.snapshot_id == before.snapshot_id
    assert table.schema().schema_id == 0
    check = run_check("schema", topic.spec, topic.connections)
    assert (check.passed, check.severity) == (False, "ERROR")


def nested(*fields: dict[str, Any]) -> dict[str, Any]:
    """A list of records within a record: what Spark alone would fill by position."""
    line = {"type": "record", "name": "Line", "fields": list(fields)}
    order = {"type": "record", "name": "Order", "fields": [{"name": "lines", "type": ["null", many(line)]}]}
    return trade({"name": "order", "type": order})


def many(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def schema_of(topic: Topic) -> Any:
    return topic.connections.catalog.load_table(topic.things.table.identifier).schema()


def test_nested_fields_are_added_widened_and_relaxed_and_never_take_their_neighbours_values(
    topic: Topic,
) -> None:
    any_version(topic)
    a, b = {"name": "a", "type": "int"}, {"name": "b", "type": "int"}
    topic.register(nested(a, b))
    topic.send([topic.encode(value(1, order={"lines": [{"a": 1, "b": 2}]}))])
    land(topic.spec, topic.connections)
    topic.register(
        nested({"name": "b", "type": "long"}, optional("c", "int"), {**a, "type": ["int", "null"]})
    )
    topic.send([topic.encode(value(2, order={"lines": [{"b": 2**40, "c": 3, "a": None}, {"b": 5, "a": 4}]}))])

    land(topic.spec, topic.connections)

    assert [r["order"]["lines"] for r in topic.rows()] == [
        [{"a": 1, "b": 2, "c": None}],
        [{"a": None, "b": 2**40, "c": 3}, {"a": 4, "b": 5, "c": None}],
    ]
    schema = schema_of(topic)
    assert str(schema.find_field("order.lines.element.b").field_type) == "long"
    assert not schema.find_field("order.lines.element.a").required
    assert run_check("schema", topic.spec, topic.connections).passed


def test_a_refused_schema_suspends_the_table_until_a_fitting_one_is_the_newest(topic: Topic) -> None:
    any_version(topic)
    topic.trades(2)
    land(topic.spec, topic.connections)
    topic.register(trade(quantity="string"))
    for _ in range(2):
        with pytest.raises(SchemaRefusedError, match="field quantity: int can't become string"):
            land(topic.spec, topic.connections)
    (suspended,) = table_states([topic.spec], topic.connections)

    topic.register(trade(optional("note", "string")))
    topic.send([topic.encode(value(9, note="n"))])
    land(topic.spec, topic.connections)

    (going_on,) = table_states([topic.spec], topic.connections)
    assert (suspended.state, suspended.rows) == ("suspended", 2)
    assert suspended.reason.startswith("field quantity: int can't become string")
    assert (going_on.state, going_on.rows, going_on.reason) == ("current", 3, "")


def test_a_table_that_a_schema_suspends_is_due_as_soon_as_a_fitting_one_is_the_newest(topic: Topic) -> None:
    any_version(topic)
    topic.trades(2)
    land(topic.spec, topic.connections)
    topic.register(trade(quantity="string"))
    with pytest.raises(SchemaRefusedError):
        land(topic.spec, topic.connections)
    memory: Standings = {}

    def due(after: float) -> list[str]:
        now = time.time() + 3600 + after
        return [
            d.spec.topic for d in look_for_arrivals([topic.spec], topic.connections, lambda: now, memory).due
        ]

    topic.send([topic.encode({"side": "BUY", "quantity": "9", "symbol": "Z"})])
    while_refused = [due(0), due(60)]
    topic.register(trade(optional("note", "string")))
    within_seconds, later = due(70), due(120)
    with_no_memory = look_for_arrivals([topic.spec], topic.connections, lambda: time.time() + 3600)

    assert while_refused == [[], []]
    assert (within_seconds, later) == ([], [topic.name])
    assert [d.spec.topic for d in with_no_memory.due] == [topic.name]


def test_a_suspended_table_goes_on_though_no_record_waits(topic: Topic) -> None:
    any_version(topic)
    topic.trades(1)
    land(topic.spec, topic.connections)
    topic.register({**TRADE, "fields": TRADE["fields"][:2]})  # type: ignore[index]
    with pytest.raises(SchemaRefusedError, match="field symbol"):
        land(topic.spec, topic.connections)
    topic.register(trade(optional("note", "string")))

    land(topic.spec, topic.connections)

    (state,) = table_states([topic.spec], topic.connections)
    assert (state.state, state.reason) == ("current", "")


@pytest.mark.also("glue", why="its commit is another one", nightly=True)
def test_of_two_that_evolve_a_table_at_once_both_find_it_right(topic: Topic) -> None:
    topic.trades(1)
    land(topic.spec, topic.connections)
    topic.register(trade(*(optional(f"note_{n}", "string") for n in range(5)), quantity="long"))
    columns = topic_columns(topic.spec, topic.connections.registry)
    catalog, name = topic.connections.catalog, topic.things.table
    stale = [catalog.load_table(name.identifier) for _ in range(4)]

    with ThreadPoolExecutor(4) as pool:
        tables = list(pool.map(lambda t: evolve(topic.spec, t, columns), stale))

    schema = schema_of(topic)
    assert [f.name for f in schema.fields][4:10] == [*(f"note_{n}" for n in range(5)), "$$topic"]
    assert len({f.field_id for f in schema.fields}) == len(schema.fields)
    assert {t.schema().schema_id for t in tables} == {1}


@pytest.mark.also("glue", why="its columns are kept twice")
def test_approved_changes_are_applied_once_and_keep_the_rows(topic: Topic) -> None:
    any_version(topic)
    topic.register(trade(optional("old", "string")))
    topic.send([topic.encode(value(1, old="o"))])
    land(topic.spec, topic.connections)
    ids = {f.name: f.field_id for f in schema_of(topic).fields}
    topic.register(
        {
            **TRADE,
            "fields": [
                {"name": "way", "type": ["null", "string"], "default": None, "aliases": ["side"]},
                {"name": "quantity", "type": "string"},
                {"name": "symbol", "type": "string"},
            ],
        }
    )
    topic.send([topic.encode({"way": "SELL", "quantity": "many", "symbol": "Z"})])
    with pytest.raises(SchemaRefusedError, match=r"field old: .* can't be dropped"):
        land(topic.spec, topic.connections)
    approved = topic.spec.model_copy(update={"migrations": MIGRATIONS})

    land(approved, topic.connections)
    land(approved, topic.connections)

    rows = topic.rows()
    assert [(r["way"], r["quantity"], r["quantity__v1"]) for r in rows] == [
        ("BUY", None, 1),
        ("SELL", "many", None),
    ]
    schema = schema_of(topic)
    assert "old" not in {f.name for f in schema.fields}
    assert schema.find_field("way").field_id == ids["side"]
    assert schema.find_field("quantity__v1").field_id == ids["quantity"]
    assert run_check("schema", approved, topic.connections).passed


@pytest.mark.nightly
def test_records_of_the_old_name_land_in_the_renamed_column(topic: Topic) -> None:
    any_version(topic)
    topic.trades(1)
    land(topic.spec, topic.connections)
    topic.trades(1)
    topic.register({**TRADE, "fields": [{"name": "way", "type": "string"}, *TRADE["fields"][1:]]})  # type: ignore[index]
    topic.send([topic.encode({"way": "SELL", "quantity": 2, "symbol": "Z"})])

    land(topic.spec.model_copy(update={"migrations": MIGRATIONS[:1]}), topic.connections)

    assert [(r["way"], r["quantity"]) for r in topic.rows()] == [("BUY", 0), ("BUY", 1), ("SELL", 2)]


@pytest.mark.nightly
def test_a_table_that_evolves_while_it_is_written_ends_right(topic: Topic) -> None:
    topic.trades(1)
    land(topic.spec, topic.connections)
    topic.trades(1)

    def evolved_by_another(step: str) -> None:
        if step == "planned":
            topic.register(trade(optional("note", "string"), quantity="long"))
            columns = topic_columns(topic.spec, topic.connections.registry)
            ensure_table(topic.spec, TableHandle(topic.connections.catalog, topic.things.table), columns)

    land(topic.spec, topic.connections, on_step=evolved_by_another)
    topic.send([topic.encode(value(2**40, note="n"))])
    land(topic.spec, topic.connections)

    assert [(r["quantity"], r["note"]) for r in topic.rows()] == [(0, None), (1, None), (2**40, "n")]


def test_a_column_that_is_renamed_while_it_is_written_lands_under_its_new_name(topic: Topic) -> None:
    """Files know columns by their ids."""
    any_version(topic)
    topic.trades(2)
    land(topic.spec, topic.connections, max_records=1)
    approved = topic.spec.model_copy(update={"migrations": MIGRATIONS[:1]})

    def renamed_by_another(step: str) -> None:
        if step == "planned":
            topic.register({**TRADE, "fields": [{"name": "way", "type": "string"}, *TRADE["fields"][1:]]})  # type: ignore[index]
            columns = topic_columns(approved, topic.connections.registry)
            ensure_table(approved, TableHandle(topic.connections.catalog, topic.things.table), columns)

    land(topic.spec, topic.connections, on_step=renamed_by_another)

    assert [(r["way"], r["quantity"]) for r in topic.rows()] == [("BUY", 0), ("BUY", 1)]
