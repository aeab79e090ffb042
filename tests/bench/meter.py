"""What work costs: CPU seconds of Spark's servers and of this process, and seconds by the clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

import httpx
import psutil

from frazil.errors import MissingError
from frazil.settings.profile_file import frazil_home
from frazil_local.home import Home
from frazil_local.ports import recall, url
from frazil_local.process import find
from frazil_local.servers.stand_ins import TABLE_BUCKET

__all__ = ["Cost", "Meter", "medians"]


@dataclass(frozen=True, slots=True)
class Cost:
    """What one run took.

    Args:
        cpu: User and system seconds, of all threads.
        seconds: By the clock.
        read: Bytes that the storage sent of the tables' bucket, metadata and manifests among them.
    """

    cpu: float
    seconds: float
    read: float = 0.0


class Meter:
    """Measures the processes that work: Spark's with their children, and this one; no broker, no S3.

    Args:
        more: Others, that are there as long as it measures.
    """

    def __init__(self, *more: psutil.Process) -> None:
        servers = [_server(name) for name in ("spark", "spark-upkeep")]
        self._roots = (*servers, *more, psutil.Process())

    def cost(self, work: Callable[[], object]) -> Cost:
        """Runs the work once."""
        sent, cpu, begun = _sent(), self._cpu(), time.perf_counter()
        work()
        return Cost(self._cpu() - cpu, time.perf_counter() - begun, _sent() - sent)

    def _cpu(self) -> float:
        processes = (p for root in self._roots for p in (root, *root.children(recursive=True)))
        return sum(map(_used, processes))


def _used(process: psutil.Process) -> float:
    """With what its children used that have ended: Python's workers end after an idle minute."""
    try:
        t = process.cpu_times()
        return float(t.user + t.system + t.children_user + t.children_system)
    except psutil.NoSuchProcess:  # so did this one, a moment ago
        return 0.0


def _sent() -> float:
    """Bytes that the storage has sent of the tables' bucket, as it says itself."""
    where = url(recall(Home(frazil_home()).ports), "storage-metrics")
    metrics = httpx.get(f"{where}/metrics", timeout=30).raise_for_status().text
    sign = f'SeaweedFS_s3_bucket_traffic_sent_bytes_total{{bucket="{TABLE_BUCKET}"}} '
    return sum(float(line.removeprefix(sign)) for line in metrics.splitlines() if line.startswith(sign))


def _server(name: str) -> psutil.Process:
    running = find(Home(frazil_home()).running / f"{name}.json")
    if running is None or (process := running.process) is None:
        raise MissingError(f"No {name} of this stack runs.", todo="Start it: frazil up.")
    return process


def medians(costs: Sequence[Cost]) -> Cost:
    """The middle of several runs, each figure by itself."""
    return Cost(*(median(getattr(c, part) for c in costs) for part in ("cpu", "seconds", "read")))
