"""All that needs Spark runs on a standalone cluster, and no worker that dies takes a record with it."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import psutil
import pytest

from frazil.checks.run import run_check
from frazil.connections import Connections
from frazil.doctor.preflight import probes
from frazil.doctor.run import findings_of
from frazil.landing.land import land
from frazil.upkeep.compaction.run import compact
from frazil.upkeep.kind import Order
from kit.derived.made import make_made, make_source
from kit.readers.opened import data_files
from kit.records.topics import MakeTopic, Topic
from kit.runs.processes import kill
from kit.runs.waiting import PATIENCE, wait_for
from kit.stack.spark_cluster import SparkCluster
from kit.wires.killed import landing_process

pytestmark = (
    pytest.mark.nightly
)  # a cluster takes a minute to start; what runs on it runs on one Spark each time

EACH = 20
MANY = 200_000
BUSY = 0.2
"""CPU seconds after which an executor is in the middle of its task: one that is warm needs 0.6 for so many
records by the lane."""


def quantities(topic: Topic) -> list[int]:
    return sorted(row["quantity"] for row in topic.rows())


def test_a_landing_and_a_compaction_run_on_its_executors(
    make_topic: MakeTopic, cluster: SparkCluster
) -> None:
    topic = make_topic(partitions=2)
    topic.trades(EACH, partition=0, plain="a landing takes so many")
    topic.trades(EACH, partition=1, plain="a landing takes so many")

    reports = [land(topic.spec, topic.connections, max_records=EACH) for _ in range(2)]
    before = len(data_files(topic))
    compact(topic.spec, topic.connections, time.time(), Order(reason="These are too many."))

    assert [report.records for report in reports] == [EACH, EACH]
    assert (before > 1, len(data_files(topic))) == (True, 1)
    assert quantities(topic) == list(range(2 * EACH))
    assert [worker["coresused"] for worker in cluster.workers] == [1, 1]


def test_a_table_is_derived_there(connections: Connections, fresh_name: str, tmp_path: Path) -> None:
    source = make_source(connections.catalog, f"{fresh_name}_in")
    source.trades(1, 2, 3)
    made = make_made(
        connections,
        tmp_path,
        f"{fresh_name}_out",
        f"SELECT quantity FROM {source.name.table} WHERE quantity > 1",
    )

    assert made.derive().rows == 2
    assert made.rows("quantity") == [(2,), (3,)]


def test_its_executors_have_what_the_preflight_asks_for(connections: Connections) -> None:
    statuses = {each.right: each.status for each in findings_of("spark", probes(connections, kafka=True))}

    assert set(statuses.values()) == {"ok"}, statuses


@pytest.mark.parametrize("master", ["local[1]", "spark://"])
def test_a_process_may_drive_spark_itself(
    make_topic: MakeTopic, cluster: SparkCluster, master: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = make_topic(partitions=2)
    topic.trades(EACH)
    monkeypatch.delenv("SPARK_CONNECT_MODE_ENABLED", raising=False)
    remote = cluster.master if master == "spark://" else master

    landing = landing_process(
        topic.name, topic.connections.settings, FRAZIL_SPARK__REMOTE=remote, **cluster.environment
    )
    out, err = landing.communicate(timeout=PATIENCE)

    assert (landing.returncode, out.splitlines()[-1]) == (0, str(EACH)), err
    assert quantities(topic) == list(range(EACH))


def test_a_worker_killed_in_the_middle_of_a_landing_loses_and_doubles_nothing(
    make_topic: MakeTopic, cluster: SparkCluster, workers: list[psutil.Process]
) -> None:
    if len(cluster.workers) < 2:
        workers.append(cluster.start_worker())
    doomed = next(each for each in reversed(workers) if each.is_running() and cluster.executors(each))
    topic = make_topic(partitions=2)
    for partition in (0, 1) * (MANY // 50_000):  # what a producer's queue holds
        topic.trades(50_000, partition=partition)
    environment = {"FRAZIL_SPARK__REMOTE": cluster.remote}
    landing = landing_process(topic.name, topic.connections.settings, **environment)
    idle = {each: spent(each) for each in cluster.executors(doomed)}

    def is_busy() -> bool:
        return any(spent(each) > before + BUSY for each, before in idle.items())

    wait_for(lambda: landing.poll() is not None or is_busy())
    was_landing = landing.poll() is None
    kill([doomed, *idle])
    out, err = landing.communicate(timeout=PATIENCE)

    assert was_landing, subprocess.list2cmdline(landing.args)
    assert (landing.returncode, out.strip()) == (0, str(2 * MANY)), err
    assert quantities(topic) == list(range(2 * MANY))
    assert run_check("row_count_deep", topic.spec, topic.connections).passed
    assert len(cluster.workers) == 1


def spent(process: psutil.Process) -> float:
    """CPU seconds of an executor and its Python workers; none, where it has ended."""
    try:
        times = [each.cpu_times() for each in (process, *process.children(recursive=True))]
    except psutil.Error:
        return 0.0
    return float(sum(each.user + each.system for each in times))
