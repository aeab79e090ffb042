"""Which tables the upkeep sensor leaves alone, from the runs that there are."""

from __future__ import annotations

from typing import Any

import dagster as dg
import pytest

from assets.upkeep import FAILED
from frazil.upkeep.kinds import KINDS
from sensors.runs import upkeep_at_work, upkeep_resting

TABLES = ("local.a", "local.b", "other.a")
STARTED, FAILURE, SUCCESS = (
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.FAILURE,
    dg.DagsterRunStatus.SUCCESS,
)


@pytest.fixture
def had_run(graph: dg.Definitions, instance: dg.DagsterInstance) -> Any:
    """Notes a run: `had_run("compaction", STARTED, "local.a")`."""

    def note(kind: str, status: dg.DagsterRunStatus, *tables: str, **tags: str) -> None:
        config = {"ops": {KINDS[kind].step: {"config": {"tables": list(tables)}}}} if tables else {}
        job = graph.resolve_job_def(kind)
        instance.create_run_for_job(job, run_config=config, status=status, tags=tags)

    return note


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_holds_its_tables_for_its_own_kind_only(
    had_run: Any, instance: dg.DagsterInstance, kind: str
) -> None:
    had_run(kind, STARTED, "local.a")

    assert upkeep_at_work(instance, TABLES) == {(kind, "local.a")}


def test_a_run_by_hand_that_names_no_table_may_work_on_any(
    had_run: Any, instance: dg.DagsterInstance
) -> None:
    had_run("orphans", STARTED)

    assert upkeep_at_work(instance, TABLES) == {("orphans", t) for t in TABLES}


def test_a_run_by_hand_may_leave_out_the_namespace(had_run: Any, instance: dg.DagsterInstance) -> None:
    had_run("expiry", STARTED, "a")

    assert upkeep_at_work(instance, TABLES) == {("expiry", "local.a"), ("expiry", "other.a")}


def test_a_run_that_ended_holds_nothing(had_run: Any, instance: dg.DagsterInstance) -> None:
    had_run("compaction", SUCCESS, "local.a")

    assert upkeep_at_work(instance, TABLES) == set()
    assert upkeep_resting(instance, TABLES) == set()


def test_only_the_tables_that_failed_rest(had_run: Any, instance: dg.DagsterInstance) -> None:
    had_run("compaction", FAILURE, "local.a", "local.b", **{FAILED: "local.b"})

    assert upkeep_resting(instance, TABLES) == {("compaction", "local.b")}


def test_all_tables_of_a_run_that_died_rest(had_run: Any, instance: dg.DagsterInstance) -> None:
    had_run("row_expiry", FAILURE, "local.a", "local.b")

    assert upkeep_resting(instance, TABLES) == {("row_expiry", "local.a"), ("row_expiry", "local.b")}
