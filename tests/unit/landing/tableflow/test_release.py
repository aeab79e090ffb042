"""A topic goes back from Frazil to Tableflow: where Frazil stops is told, and nothing lands behind it."""

from __future__ import annotations

import pytest
from pyiceberg.catalog import Catalog

from frazil.checks.run import run_check
from frazil.clients import Clients
from frazil.errors import NotYetError, StopError
from frazil.landing.land import land
from frazil.landing.position.ledger import Ledger, read_ledger
from frazil.landing.position.state import table_states
from frazil.landing.publication import Landed
from frazil.landing.tableflow.release import release
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.commits.commit import remove_properties
from frazil.tables.commits.stage import StagedFiles, publish
from kit.deployments.tableflow import OWN, SPANS, SPEC, TOPIC, Logs, Tableflow, adopted, clients


def landing(connections: Clients) -> Landed:
    """One that was planned, and is about to be published."""
    before = read_ledger(connections.catalog.load_table(OWN.identifier).metadata)
    assert before
    spans = {p: (to, to) for p, to in before.position.items()}
    return Landed(
        StagedFiles(), Ledger(TOPIC, before.topic_id, spans, before.start, landing="landing_1"), before
    )


def test_frazil_says_where_it_stops_and_what_both_tables_hold(tableflow: Tableflow, now: Clients) -> None:
    adopted(now)
    retained = clients(tableflow.catalog, Logs(spans={0: (10, 50), 1: (5, 25), 2: (0, 3)}))

    report = release(SPEC, retained)

    assert report.position == {0: 40, 1: 25, 2: 0}
    assert report.first == {0: 10, 1: 5, 2: 0}
    assert (report.both, report.only_here) == (30 + 20, 10)
    assert report.where == (
        '("$$partition" = 0 AND "$$offset" >= 40) OR ("$$partition" = 1 AND "$$offset" >= 25) OR '
        '("$$partition" = 2 AND "$$offset" >= 0) OR "$$partition" NOT IN (0, 1, 2)'
    )


def test_nothing_lands_a_topic_that_was_released_not_even_a_landing_under_way(now: Clients) -> None:
    adopted(now)
    under_way = landing(now)

    release(SPEC, now)

    with pytest.raises(StopError, match="was released to Tableflow"):
        publish(TableHandle(now.catalog, OWN), under_way)
    with pytest.raises(StopError, match="was released to Tableflow"):
        land(SPEC, now)
    state = table_states([SPEC], now)[0]
    assert (state.state, state.reason) == ("suspended", "released to Tableflow at 0:40, 1:25, 2:0")
    assert run_check("row_count", SPEC, now).passed


def test_frazil_goes_on_from_where_it_stopped_once_it_is_resumed(now: Clients) -> None:
    adopted(now)
    release(SPEC, now)

    remove_properties(
        TableHandle(now.catalog, OWN), ("frazil.suspended", "frazil.suspended-by")
    )  # as resume does

    assert publish(TableHandle(now.catalog, OWN), landing(now)).snapshot_id
    assert table_states([SPEC], now)[0].position == {0: 40, 1: 25, 2: 0}


def test_what_nobody_landed_cannot_be_released(catalog: Catalog) -> None:
    with pytest.raises(NotYetError):
        release(SPEC, clients(catalog, Logs(spans=SPANS)))
