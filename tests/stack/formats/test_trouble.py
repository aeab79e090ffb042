"""Schemas that change in the middle of a landing, and a registry that is down, slow or unsure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle
from typing import Any
from urllib.parse import urlsplit

import pytest

from frazil.checks.run import run_check
from frazil.clients import Clients
from frazil.errors import PartDownError
from frazil.landing.land import land
from frazil.landing.position.ledger import read_ledger
from kit.formats.formats import Source, avro
from kit.wires.wire import Fate, Plan, Wire, wired

MakeSource = Callable[..., Source]


def version(number: int) -> dict[str, Any]:
    """Version n has n fields more than version 0, and wider numbers from version 3 on."""
    more = [{"name": f"f{n}", "type": ["null", "string"], "default": None} for n in range(1, number + 1)]
    kind = "long" if number >= 3 else "int"
    return {"type": "record", "name": "Order", "fields": [{"name": "n", "type": kind}, *more]}


def write(source: Source, number: int, count: int = 1) -> None:
    """Registers a version and produces records of it."""
    schema_id = source.register(version(number))
    values = ({"n": number, **{f"f{n}": f"v{n}" for n in range(1, number + 1)}} for _ in range(count))
    source.produce(
        *((None, avro(version(number), schema_id, value)) for value in values), plain="spans are counted"
    )


def filled(row: dict[str, Any]) -> int:
    """How many of the added fields have a value."""
    return sum(value is not None for name, value in row.items() if name.startswith("f"))


def position(source: Source) -> dict[int, int]:
    ledger = read_ledger(source.connections.catalog.load_table(source.name).metadata)
    assert ledger
    return dict(ledger.position)


def test_six_schema_versions_land_at_once_each_record_by_its_own(source: MakeSource) -> None:
    orders = source()
    for number in (0, 1, 2, 3, 4, 5, 2, 0):
        write(orders, number)

    report = orders.land()

    assert (report.records, len(report.schema_ids)) == (8, 6)
    assert [r["n"] for r in orders.rows()] == [filled(r) for r in orders.rows()] == [0, 1, 2, 3, 4, 5, 2, 0]
    assert run_check("schema", orders.spec, orders.connections).passed


@pytest.mark.each_time("planned")
@pytest.mark.parametrize("step", ["planned", "written", "audited"])
def test_a_schema_that_changes_during_a_landing_waits_for_the_next_one(source: MakeSource, step: str) -> None:
    orders = source()
    write(orders, 0, count=2)

    land(orders.spec, orders.connections, on_step=lambda done: write(orders, 1) if done == step else None)
    during = orders.rows()
    report = orders.land()

    assert [(r["n"], filled(r)) for r in during] == [(0, 0), (0, 0)]
    assert report.spans == {0: (2, 3)}
    assert [r["n"] for r in orders.rows()] == [filled(r) for r in orders.rows()] == [0, 0, 1]
    assert run_check("row_count_deep", orders.spec, orders.connections).passed


def test_a_schema_that_changes_between_two_caps_is_landed_in_the_same_call(source: MakeSource) -> None:
    orders = source(max_records=2)
    write(orders, 0, count=4)
    changed: list[str] = []

    def change_once(done: str) -> None:
        if done == "published" and not changed:
            changed.append(done)
            write(orders, 3)

    report = land(orders.spec, orders.connections, on_step=change_once)

    assert (report.records, report.landings) == (5, 3)
    assert [r["n"] for r in orders.rows()] == [filled(r) for r in orders.rows()] == [0, 0, 0, 0, 3]


@contextmanager
def behind_a_wire(source: Source, plan: Plan) -> Iterator[tuple[Wire, Source]]:
    """The same topic, its registry behind a wire; asked by a client that remembers nothing."""
    url = source.connections.settings.registry.url
    with wired({"registry": url}, plan) as (wire, urls):
        own = {"url": urls["registry"] + urlsplit(url).path}
        settings = source.connections.settings.with_changes(registry=own)
        yield wire, Source(Clients(settings, lambda _: source.connections.spark), source.spec)


def test_a_registry_that_is_down_is_said_and_nothing_is_landed(source: MakeSource) -> None:
    orders = source()
    write(orders, 0)
    orders.land()
    write(orders, 1)
    with behind_a_wire(orders, lambda _: None) as (_, gone):
        pass  # taken down

    with pytest.raises(PartDownError, match="schema registry does not answer"):
        gone.land()

    assert len(orders.rows()) == 1
    assert position(orders) == {0: 1}
    assert orders.land().records == 1


def test_a_registry_that_only_fails_is_given_up_and_nothing_is_landed(source: MakeSource) -> None:
    orders = source()
    write(orders, 0)

    with behind_a_wire(orders, lambda _: "refused") as (wire, unsure):
        with pytest.raises(PartDownError, match="HTTP 500"):
            unsure.land()
        assert len(wire.asked) >= 3

    assert not orders.connections.catalog.table_exists(orders.name)


@pytest.mark.parametrize("fates", [("refused", None, None), ("late",)], ids=["unsure", "slow"])
def test_a_registry_that_is_unsure_or_slow_costs_time_and_no_record(
    source: MakeSource, fates: tuple[Fate | None, ...]
) -> None:
    orders = source()
    for number in range(4):
        write(orders, number)

    turns = cycle(fates)
    with behind_a_wire(orders, lambda _: next(turns)) as (wire, troubled):
        report = troubled.land()

    assert (report.records, len(report.schema_ids)) == (4, 4)
    assert [filled(r) for r in orders.rows()] == [0, 1, 2, 3]
    assert len(wire.asked) > 4
