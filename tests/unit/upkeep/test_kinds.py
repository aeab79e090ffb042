"""A kind of upkeep is a class and a line in the registry: everything else finds it there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from assets.upkeep import upkeep_jobs
from frazil.clients import Clients
from frazil.connections import Connections
from frazil.settings.profile import Settings
from frazil.spec.names import things
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec
from frazil.upkeep.due import look_for_work
from frazil.upkeep.kind import Kind, Known, Order, Reason, View
from frazil.upkeep.kinds import KINDS
from frazil.upkeep.run import work_on
from frazil.upkeep.work import WorkReport
from sensors.runs import upkeep_at_work

SPEC = TableSpec(topic="things", namespace="unit", table="things")


class Counting(Kind):
    """Counts data files; once is enough."""

    name, step = "counting", "count_files"
    about = "Counts data files."

    def why_due(self, known: Known, now: float) -> Reason | None:
        finding = known.unworked(self)
        return (
            Reason(f"{finding.result} files were never counted.", {"files": finding.result})
            if finding
            else None
        )

    def needs_look(self, known: Known, now: float) -> bool:
        return self.name not in known.facts.last

    def look(self, view: View, known: Known, now: float) -> int:
        return len(view.head.files) if view.head else 0

    def run(self, spec: AnyTable, connections: Connections, now: float, order: Order) -> WorkReport:
        table = str(things(spec, connections.settings).table)
        return WorkReport(table, self.name, done=True, text=f"Counted, for {order.reason}")


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> Kind:
    kind = Counting()
    monkeypatch.setitem(KINDS, kind.name, kind)  # type: ignore[arg-type]
    return kind


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Connections]:
    """A catalog that several threads may ask, with a table of one file."""
    catalog = SqlCatalog("unit", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=tmp_path.as_uri())
    catalog.create_namespace("unit")
    rows = pa.table({"n": [1, 2]})
    catalog.create_table(("unit", "things"), rows.schema).append(rows)
    connections = Clients(Settings())
    connections.__dict__["catalog"] = catalog
    yield connections
    catalog.close()


def test_a_kind_that_was_added_is_found_due_and_done_and_remembered(
    lake: Connections, counting: Kind
) -> None:
    seen = look_for_work([SPEC], lake, 1000.0)
    (work,) = [work for work in seen.due if work.kind is counting]

    (outcome,) = work_on([work], lake, 1000.0)
    after = look_for_work([SPEC], lake, 2000.0)

    assert work.reason == "1 files were never counted."
    assert outcome.report
    assert outcome.report.text == "Counted, for 1 files were never counted."
    assert counting not in [work.kind for work in after.due]


def test_a_kind_that_was_added_has_a_job_whose_runs_the_sensor_knows(
    counting: Kind, instance: dg.DagsterInstance
) -> None:
    job = next(job for job in upkeep_jobs([]) if job.name == "counting")
    config = {"ops": {"count_files": {"config": {"tables": ["unit.things"]}}}}

    instance.create_run_for_job(
        job, run_config=config, status=dg.DagsterRunStatus.STARTED, tags=dict(job.tags)
    )

    assert job.description == "Counts data files."
    assert upkeep_at_work(instance, ["unit.things"]) == {("counting", "unit.things")}
