"""Pieces of work as OpenLineage's run events: one that it began, one that it ended."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from importlib.metadata import version

from openlineage.client.event_v2 import Job, Run, RunEvent, RunState
from openlineage.client.facet_v2 import (
    RunFacet,
    error_message_run,
    job_type_job,
    parent_run,
    processing_engine_run,
)
from openlineage.client.uuid import generate_new_uuid

from frazil_lineage.parent import Parent
from frazil_lineage.work import Work

PRODUCER = f"urn:frazil:{version('frazil')}"
"""Who sends the events; each facet names it as well."""


def run_events(work: Work, namespace: str, parent: Parent, ended: datetime) -> Iterator[RunEvent]:
    """The two events of one piece of work; all that is known of it stands in the second one."""
    began = ended - timedelta(seconds=work.seconds)
    run_id, facets = str(generate_new_uuid(began)), _run_facets(namespace, parent)
    met = {"errorMessage": error_message_run.ErrorMessageRunFacet(work.error, "python")} if work.error else {}
    kind = job_type_job.JobTypeJobFacet("BATCH", "FRAZIL", work.kind.upper())
    job = Job(namespace, work.job, {"jobType": kind, **work.facets})
    yield RunEvent(
        eventTime=began.isoformat(), producer=PRODUCER, run=Run(run_id, dict(facets)), job=job,
        eventType=RunState.START,
    )  # fmt: skip
    state = RunState.FAIL if work.error else RunState.COMPLETE
    yield RunEvent(
        eventTime=ended.isoformat(), producer=PRODUCER, run=Run(run_id, {**facets, **met}), job=job,
        eventType=state, inputs=work.inputs, outputs=work.outputs,
    )  # fmt: skip


def _run_facets(namespace: str, parent: Parent) -> dict[str, RunFacet]:
    above = parent_run.ParentRunFacet(parent_run.Run(parent.run_id), parent_run.Job(namespace, parent.job))
    engine = processing_engine_run.ProcessingEngineRunFacet(version("frazil"), "frazil")
    return {"parent": above, "processing_engine": engine}
