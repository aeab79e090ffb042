"""A table that Tableflow lands: Frazil reads where it stands, judges it, and never writes to it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from pyiceberg.catalog import Catalog

from frazil.checks.run import checks_of, run_check
from frazil.clients import Clients
from frazil.errors import ConfigureError, DifferentError
from frazil.landing.halts.resume import resume
from frazil.landing.land import land
from frazil.landing.position.state import TableState, table_states
from frazil.landing.repairs.acceptance import accept
from frazil.landing.repairs.redrive import redrive
from frazil.landing.repairs.rollback import roll_back
from frazil.landing.tableflow.position import ledger_of_files
from frazil.spec.topic import TableSpec
from frazil.upkeep.due import look_for_work
from frazil.upkeep.kinds import KINDS
from frazil.upkeep.run import do_work
from kit.deployments.tableflow import CLUSTER, SPANS, TOPIC, TRADE, Logs, Registry, Tableflow, clients

SPEC = TableSpec(topic=TOPIC, mode="tableflow", publish=())


def state_of(tableflow: Tableflow, logs: dict[int, tuple[int, int]]) -> TableState:
    return table_states([SPEC], clients(tableflow.catalog, Logs(spans=logs)))[0]


def test_position_and_lag_are_told_by_the_rows_themselves(tableflow: Tableflow) -> None:
    state = state_of(tableflow, {0: (0, 50), 1: (5, 25), 2: (7, 9)})

    assert state.identifier == f"{CLUSTER}.{TOPIC}"
    assert state.position == {0: 40, 1: 25, 2: 7}
    assert (state.rows, state.lag, state.state) == (60, 12, "behind")
    assert state.freshness is not None
    assert state.landed_at == pytest.approx(tableflow.table.metadata.snapshots[-1].timestamp_ms / 1000)


def test_a_table_whose_columns_have_the_other_names_is_read_by_those(tableflow: Tableflow) -> None:
    portable = SPEC.model_copy(update={"metadata_names": "portable"})
    with pytest.raises(DifferentError, match="has no column cflt_metadata_partition") as refused:
        ledger_of_files(portable, tableflow.table)

    assert "the other metadata_names" in refused.value.todo
    mended = ledger_of_files(portable.model_copy(update={"metadata_names": "tableflow"}), tableflow.table)
    assert mended
    assert mended.position == {0: 40, 1: 25}


def test_a_table_that_holds_all_of_its_topic_is_current(tableflow: Tableflow) -> None:
    state = state_of(tableflow, SPANS)

    assert (state.lag, state.freshness, state.state) == (0, 0.0, "current")


def test_files_of_several_partitions_tell_the_position_too(tableflow: Tableflow) -> None:
    tableflow.compacted_commit([(0, 40), (1, 25), (1, 26)])

    assert state_of(tableflow, {0: (0, 41), 1: (5, 27)}).position == {0: 41, 1: 27}


def test_before_tableflow_made_the_table_it_is_new(catalog: Catalog, tmp_path: Path) -> None:
    tableflow = Tableflow(catalog, tmp_path.as_uri())
    assert state_of(tableflow, SPANS).state == "new"

    tableflow.enable()

    assert state_of(tableflow, SPANS).state == "new"


@pytest.mark.parametrize(
    ("logs", "state"),
    [({0: (50, 60), 1: (5, 25)}, "records lost"), ({0: (0, 3), 1: (5, 25)}, "topic changed")],
)
def test_whoever_can_mend_a_table_that_stands_still_is_sent_to_tableflow(
    tableflow: Tableflow, logs: dict[int, tuple[int, int]], state: str
) -> None:
    state_now = state_of(tableflow, logs)

    assert state_now.state == state
    assert state_now.reason.endswith(
        "Look at the topic's Tableflow in Confluent Cloud: is it suspended, or failed?"
    )


def checked(
    tableflow: Tableflow, name: str, logs: dict[int, tuple[int, int]] = SPANS
) -> tuple[bool, str, str]:
    result = run_check(name, SPEC, clients(tableflow.catalog, Logs(spans=logs)))
    return result.passed, result.severity, result.text


def test_a_row_for_each_offset_passes(tableflow: Tableflow) -> None:
    sixty = "60 rows of 2 partitions span 60 offsets: none is missing."
    assert checked(tableflow, "row_count") == (True, "WARN", sixty)
    each = "60 rows against 60 offsets: each record is there once; 0 offsets hold none, as the topic says."
    assert checked(tableflow, "row_count_deep") == (True, "ERROR", each)


def test_a_row_that_is_there_twice_is_an_error(tableflow: Tableflow) -> None:
    tableflow.commit({1: (24, 25)})

    assert checked(tableflow, "row_count")[:2] == (False, "ERROR")
    assert checked(tableflow, "row_count_deep")[:2] == (False, "ERROR")
    assert (
        "partition 1: 21 rows for 20 offsets: some are there twice" in checked(tableflow, "row_count_deep")[2]
    )


def test_a_double_that_hides_a_hole_is_found_by_reading_every_offset(tableflow: Tableflow) -> None:
    tableflow.commit({1: (25, 30)}, without=[(1, 27)])
    tableflow.commit({1: (29, 30)})

    assert checked(tableflow, "row_count", {0: (0, 40), 1: (5, 30)})[0]
    assert not checked(tableflow, "row_count_deep", {0: (0, 40), 1: (5, 30)})[0]


def test_an_offset_without_a_row_is_told(tableflow: Tableflow) -> None:
    tableflow.commit({0: (40, 45)}, without=[(0, 42)])

    passed, severity, text = checked(tableflow, "row_count", {0: (0, 45), 1: (5, 25)})

    assert (passed, severity) == (False, "WARN")
    assert text.startswith("64 rows of 2 partitions span 65 offsets: 1 offsets have no row")


def test_a_row_that_names_no_offset_is_told(tableflow: Tableflow) -> None:
    tableflow.placeless()

    passed, severity, text = checked(tableflow, "row_count")

    assert (passed, severity) == (False, "ERROR")
    assert "1 rows name no partition, or no offset" in text


def test_records_before_the_tables_first_ones_are_missed(tableflow: Tableflow) -> None:
    passed, severity, text = checked(tableflow, "row_count", {0: (0, 40), 1: (2, 25)})

    assert (passed, severity) == (False, "ERROR")
    assert "partition 1 lacks the topic's first 3 offsets" in text


def test_columns_are_compared_with_the_registry_as_those_of_other_tables(tableflow: Tableflow) -> None:
    passed, _, text = checked(tableflow, "schema")
    assert passed, text
    assert "and 9 columns of metadata" in text

    wider = Registry(schema=TRADE.replace('"int"', '"long"'))
    result = run_check("schema", SPEC, clients(tableflow.catalog, Logs(spans=SPANS), wider))

    assert (result.passed, result.severity) == (False, "WARN")
    assert "quantity" in result.text


def test_freshness_is_judged_as_of_other_tables(tableflow: Tableflow) -> None:
    limited = SPEC.model_copy(update={"freshness": timedelta(0)})
    lagging = clients(tableflow.catalog, Logs(spans={0: (0, 41), 1: (5, 25)}))

    assert checked(tableflow, "freshness")[0]
    assert not run_check("freshness", limited, lagging).passed


def test_files_are_none_of_frazils_business(tableflow: Tableflow) -> None:
    assert "file_health" not in checks_of(SPEC, clients(tableflow.catalog, Logs()).settings)


def _upkeep(kind: str, connections: Clients) -> object:
    return do_work(KINDS[kind], SPEC, connections, 0.0)


WRITERS: dict[str, Callable[[Clients], object]] = {
    "land": lambda c: land(SPEC, c),
    "resume": lambda c: resume(SPEC, c),
    "redrive": lambda c: redrive(SPEC, c),
    "accept": lambda c: accept(SPEC, c, 1, "why"),
    "rollback": lambda c: roll_back(SPEC, c, 1),
    **{name: partial(_upkeep, name) for name in KINDS},
}


@pytest.mark.parametrize("work", WRITERS)
def test_no_work_of_frazil_writes_to_it(tableflow: Tableflow, work: str) -> None:
    before = tableflow.table.metadata_location
    connections: Clients = clients(tableflow.catalog, Logs(spans={0: (0, 50), 1: (5, 25)}))

    with pytest.raises(ConfigureError, match=r"Tableflow writes lkc-5w1k2\.stock\.trades"):
        WRITERS[work](connections)

    assert tableflow.table.metadata_location == before


def test_no_upkeep_is_ever_due(tableflow: Tableflow) -> None:
    outlook = look_for_work([SPEC], clients(tableflow.catalog, Logs(spans=SPANS)), 4e9)

    assert (outlook.looked_at, outlook.due) == (0, ())
