"""Runs whose process and code server died together: nobody else would ever end them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import dagster as dg
import pytest
from dagster._core.events import EngineEventData
from dagster._core.remote_origin import RegisteredCodeLocationOrigin, RemoteJobOrigin, RemoteRepositoryOrigin
from dagster._core.storage.tags import GRPC_INFO_TAG

from sensors.runs import end_lost_runs

HERE, ELSEWHERE = (RegisteredCodeLocationOrigin(name) for name in ("frazil", "another"))
STARTED, FAILURE = dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.FAILURE


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def started(graph: dg.Definitions, instance: dg.DagsterInstance, pid: int, where: Any = HERE) -> str:
    """A run that a code server started in a process."""
    origin = RemoteJobOrigin(RemoteRepositoryOrigin(where, "__repository__"), "expiry")
    job = graph.resolve_job_def("expiry")
    run = instance.create_run_for_job(
        job, status=STARTED, tags={GRPC_INFO_TAG: '{"socket": "/tmp/x"}'}, remote_job_origin=origin
    )
    instance.report_engine_event(
        f"Started process for run (pid: {pid}).", run, EngineEventData.in_process(pid)
    )
    return run.run_id


def status(instance: dg.DagsterInstance, run_id: str) -> object:
    run = instance.get_run_by_id(run_id)
    return run and run.status


def test_a_run_whose_process_is_gone_is_ended_and_one_that_lives_goes_on(
    graph: dg.Definitions,
    instance: dg.DagsterInstance,
    process: subprocess.Popen[bytes],
) -> None:
    run = started(graph, instance, process.pid)
    end_lost_runs(instance, HERE)
    alive = status(instance, run)
    process.kill()
    process.wait()

    end_lost_runs(instance, HERE)

    assert (alive, status(instance, run)) == (STARTED, FAILURE)


def test_runs_of_other_code_locations_are_left_alone_for_their_processes_may_be_elsewhere(
    graph: dg.Definitions,
    instance: dg.DagsterInstance,
    process: subprocess.Popen[bytes],
) -> None:
    run = started(graph, instance, process.pid, ELSEWHERE)
    process.kill()
    process.wait()

    end_lost_runs(instance, HERE)

    assert status(instance, run) == STARTED
