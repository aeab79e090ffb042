"""What the arrivals sensor lands by itself, and what it leaves to runs."""

from __future__ import annotations

import logging
import threading

import dagster as dg
import pytest

from frazil.clients import Clients
from frazil.errors import ChecksFailedError, OvertakenError, PartDownError
from frazil.landing.checking.outcome import CheckOutcome
from frazil.spec.names import things
from frazil.spec.topic import TableSpec
from kit.graph.graphs import evaluation_of
from kit.runs.continuous import SETTINGS, FakeWork, due, name_of
from kit.runs.waiting import PATIENCE
from sensors.small_landings import SmallLandings

ORDERS, TRADES = TableSpec(topic="orders"), TableSpec(topic="trades")
QUICKER = OvertakenError("Another landing was quicker.", todo="Nothing.")
LOG = logging.getLogger("a tick")


def test_what_is_large_is_left_to_a_run(instance: dg.DagsterInstance) -> None:
    work = FakeWork()
    many, heavy = due(ORDERS, 20_001), due(TRADES, 100, each=2**20)

    assert SmallLandings(SETTINGS, work).land([many, heavy], instance, Clients(SETTINGS), LOG) == [
        many,
        heavy,
    ]
    assert not work.done


def test_what_fails_is_left_to_a_run_which_tells_the_error(
    instance: dg.DagsterInstance, caplog: pytest.LogCaptureFixture
) -> None:
    fails: dict[str, Exception] = {
        name_of(ORDERS): PartDownError("Kafka does not answer.", todo="Start it."),
        name_of(TRADES): QUICKER,
    }
    dues = [due(ORDERS), due(TRADES)]

    left = SmallLandings(SETTINGS, FakeWork(fails=fails)).land(dues, instance, Clients(SETTINGS), LOG)

    assert left == dues[:1]
    assert "orders is left to a run. Kafka does not answer." in caplog.text


def test_checks_that_stop_a_table_are_told_before_a_run_meets_it_suspended(
    instance: dg.DagsterInstance,
) -> None:
    spec = TableSpec.model_validate({"topic": "orders", "checks": [{"name": "paid", "expect": "amount > 0"}]})
    outcome = CheckOutcome("paid", "amount > 0", "stop", failing=2, rows=5)
    fails: dict[str, Exception] = {name_of(spec): ChecksFailedError("It fails.", outcomes=[outcome])}

    left = SmallLandings(SETTINGS, FakeWork(fails=fails)).land([due(spec)], instance, Clients(SETTINGS), LOG)

    asset = dg.AssetKey(things(spec, SETTINGS).iceberg_path)
    event = evaluation_of(instance, dg.AssetCheckKey(asset, "check_paid"))
    assert left == [due(spec)]
    assert (event.passed, event.metadata["failing"].value) == (False, 2)


def test_nothing_small_is_begun_while_a_landing_of_an_earlier_tick_waits(
    instance: dg.DagsterInstance,
) -> None:
    begun, answered = threading.Event(), threading.Event()

    def wait(_: str) -> None:
        begun.set()
        assert answered.wait(PATIENCE)

    work = FakeWork(fails={name_of(ORDERS): QUICKER, name_of(TRADES): QUICKER}, meanwhile=wait)
    landings, clients = SmallLandings(SETTINGS, work), Clients(SETTINGS)
    first = threading.Thread(target=landings.land, args=([due(ORDERS)], instance, clients, LOG))
    first.start()
    assert begun.wait(PATIENCE)

    large = due(ORDERS, 20_001)
    assert landings.land([due(TRADES), large], instance, clients, LOG) == [large]
    assert work.done == [("land", name_of(ORDERS))]
    answered.set()
    first.join()
    landings.land([due(TRADES)], instance, clients, LOG)
    assert work.done[1:] == [("land", name_of(TRADES))]
