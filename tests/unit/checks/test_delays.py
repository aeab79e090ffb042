"""How long commits took to reach a layer: by the snapshots, and by what was told of publications."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import dagster as dg
import pytest
from pyiceberg.schema import Schema

from frazil.checks.layers.history import Delay, Delays, landing_delays
from frazil.checks.layers.report import Layer, Layers
from frazil.costs.prices import amount_of, load_prices
from frazil.costs.report import CostReader, Costs
from frazil.costs.units import Period, Unit
from frazil.landing.position.ledger import Ledger
from frazil.publishing.glue import Glue
from frazil.publishing.target import Shown, Spent
from frazil.reporting import Published
from frazil.spec.topic import TableSpec
from frazil.tables.commits.stage import RECORD_TIMES
from kit.readers.mirrored import NAME, Mirror
from kit.wires.wire import Wire
from resources.history import published_to
from resources.metadata import WAITED, shown_metadata

LATE = 5.0


def ledger(number: int) -> Mapping[str, str]:
    """That of a landing of one record, which was sent long ago but for the first one."""
    whole = Ledger(
        topic="orders", topic_id="one", spans={0: (number, number + 1)}, start={0: 0}, records=1,
        total_records=number + 1, max_timestamp=None if number == 0 else 1_000,
    )  # fmt: skip
    return whole.properties()


@pytest.fixture
def mirror(wire_and_url: tuple[Wire, str], tmp_path: Path) -> Mirror:
    """Two landings, of which the first tells of no timestamp."""
    spec = TableSpec(topic="orders", namespace=NAME.namespace, publish=["glue"])
    mirror = Mirror(tmp_path, wire_and_url[1], spec, ledger)
    mirror.land(2)
    return mirror


def test_quantiles_of_landings_are_of_their_records() -> None:
    large = Delay(1.0, 1.0, ((10.0, 500.0), (20.0, 450.0), (40.0, 50.0)))
    small = Delay(2.0, LATE, ((900.0, 1.0),))

    assert Delays((large, small)).quantiles() == (20.0, 40.0, 40.0)
    assert Delays((large,)).quantiles() == (10.0, 20.0, 40.0)
    assert Delays((large, *[small] * 1_001)).quantiles() == (900.0, 900.0, 900.0)
    assert Delays((large, small)).highest(0.0, 3.0, 3) == [None, 40.0, 900.0]


def test_quantiles_are_delays_that_there_were() -> None:
    delays = Delays(tuple(Delay(0.0, float(n)) for n in range(1, 101)))

    assert delays.quantiles() == (50.0, 95.0, 99.0)
    assert Delays((Delay(0.0, LATE),)).quantiles() == (LATE, LATE, LATE)
    assert Delays(()).quantiles() == Delays(None).quantiles() == ()


def test_a_chart_has_the_slowest_of_each_part_and_nothing_where_nothing_came() -> None:
    delays = Delays((Delay(1.0, 3.0), Delay(2.0, LATE), Delay(9.0, 1.0), Delay(11.0, 100.0)))

    assert delays.highest(0.0, 10.0, 4) == [LATE, None, None, 1.0]


def test_a_landing_took_from_its_newest_record_to_its_snapshot(mirror: Mirror) -> None:
    head = mirror.table.current_snapshot()
    assert head
    at = head.timestamp_ms / 1000

    (delay,) = landing_delays(mirror.table.metadata, 0.0).known or ()
    assert (delay.at, delay.seconds, delay.parts) == (at, at - 1.0, ((at - 1.0, 1.0),))
    assert landing_delays(mirror.table.metadata, at + 1) == Delays(())


@pytest.mark.parametrize("noted", ["", "1,2", "a,b,c"])
def test_what_cannot_be_read_of_its_records_times_is_not_known(mirror: Mirror, noted: str) -> None:
    mirror.ledger = lambda number: {**ledger(number), RECORD_TIMES: noted}
    mirror.land()

    newest, *_ = landing_delays(mirror.table.metadata, 0.0).known or ()
    assert newest.parts == ((newest.seconds, 1.0),)


def test_a_landing_that_notes_its_records_times_tells_how_long_they_took(mirror: Mirror) -> None:
    head = mirror.table.current_snapshot()
    assert head
    times = [head.timestamp_ms - late * 1000 for late in (10, 20, 40)]
    many = {"frazil.records": "1000", "frazil.max-timestamp": str(head.timestamp_ms + 3_600_000)}
    mirror.ledger = lambda number: {**ledger(number), **many, RECORD_TIMES: ",".join(map(str, times))}
    mirror.land()

    newest, *_ = landing_delays(mirror.table.metadata, 0.0).known or ()

    since = newest.at - head.timestamp_ms / 1000
    assert newest.seconds == 0.0  # a record claims to be of the next hour
    quantiles = Delays((newest,)).quantiles()
    assert [seconds - since for seconds in quantiles] == pytest.approx([10, 20, 40])
    assert sum(number for _, number in newest.parts) == pytest.approx(1000)


def test_a_publication_tells_how_long_the_newest_commit_waited_and_one_of_notes_nothing(
    mirror: Mirror,
) -> None:
    target = Glue(mirror.spec, mirror.connections.settings)
    first = target.sync(mirror.connections).waited
    same = target.sync(mirror.connections).waited
    with mirror.table.transaction() as tx:
        tx.set_properties({"frazil.note": "new metadata, old rows"})
    noted = target.sync(mirror.connections)
    mirror.land()
    second = target.sync(mirror.connections).waited

    assert (first is None, same, noted.changed, noted.waited) == (False, None, True, None)
    assert second is not None
    assert 0 < second < 60


def layers(mirror: Mirror, kept: bool) -> list[Layer]:
    target = Glue(mirror.spec, mirror.connections.settings)
    shown = {target.path: [Delay(99.0, LATE)]} if kept else None
    return Layers(mirror.connections, {}, shown, since=0.0, now=100.0).of([mirror.spec])


def test_each_layer_has_what_is_known_of_it_and_says_what_is_not(mirror: Mirror, wire: Wire) -> None:
    mirror.sync()
    table, glue = layers(mirror, kept=True)
    *_, unheard = layers(mirror, kept=False)
    wire.always("unsent", lambda asked: True)
    *_, silent = layers(mirror, kept=True)

    assert (table.layer, table.age.seconds, table.age.text) == ("iceberg", None, "a server does not answer")
    assert (table.delays.known is not None, glue.delays.quantiles()) == (True, (LATE, LATE, LATE))
    assert (glue.age.seconds, unheard.delays.known) == (0.0, None)
    assert (silent.age.seconds, silent.age.text) == (None, "Glue does not answer")


def test_dagster_keeps_what_it_was_told_of_each_publication(instance: dg.DagsterInstance) -> None:
    path = ("glue", "local", "orders")
    for waited in (LATE, 0.0, None):
        metadata = {} if waited is None else {WAITED: waited}
        instance.report_runless_asset_event(dg.AssetMaterialization(path, metadata=metadata))

    delays = published_to(instance, path, 0.0).delays

    assert [delay.seconds for delay in delays] == [0.0, LATE]
    assert published_to(instance, path, delays[0].at + 60) == Published([])


def test_what_publications_took_is_added_up_and_priced_by_the_layer(
    instance: dg.DagsterInstance, mirror: Mirror
) -> None:
    target = Glue(mirror.spec, mirror.connections.settings)
    for took in (Spent(7, 1, 1.5), Spent(2, 1, 0.5), None):
        shown = Shown(target.path, target.upstream, "orders", "s3://lake/1.json", changed=True, spent=took)
        metadata = shown_metadata(shown, Schema())
        instance.report_runless_asset_event(dg.AssetMaterialization(target.path, metadata=metadata))
    spent = {target.path: published_to(instance, target.path, 0.0).spent}

    def units(published: int) -> Mapping[Unit, float]:
        reader = CostReader(mirror.connections, Period(0.0, 100.0), {target.path: published}, spent)
        ((_, costs),) = reader.of([mirror.spec])
        assert isinstance(costs, Costs)
        return next(line.units for line in costs.lines if line.work == "publication")

    assert spent[target.path] == Spent(9, 2, 2.0)
    of_snowflake = {"statements": 9, "refreshes": 2, "warehouse_seconds": 2.0}
    assert units(3) == {"publications": 3, "glue_calls": 3, **of_snowflake}
    assert units(0)["warehouse_seconds"] == 2.0, "nothing new was shown"
    assert amount_of({"warehouse_seconds": 1800}, load_prices(None)).money == pytest.approx(1.0)
