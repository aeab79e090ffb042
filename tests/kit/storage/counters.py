"""What the servers of the embedded stack count of a bucket that some tables have to themselves."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx
import psutil

from frazil.settings.profile import Settings
from frazil_local.home import Home
from frazil_local.ports import recall, url
from frazil_local.process import find
from kit.storage.client import storage_client

_COUNTED = re.compile(r"^(SeaweedFS_s3_\w+)\{(.*)\} (\S+)$", re.MULTILINE)


def own_bucket(settings: Settings) -> str:
    """A new table bucket, which other tests that run meanwhile put nothing into."""
    name = f"counted-{uuid.uuid4().hex[:12]}"
    storage_client(settings, "s3tables").create_table_bucket(name=name)
    return name


@dataclass(frozen=True)
class Counters:
    """What the servers have counted so far."""

    received: float  # bytes that the storage took for the bucket
    puts: float  # requests by which clients put objects there, or parts of them
    deletes: float  # requests that remove some, which costs have among those that put
    reads: float  # requests for one of them, its size or a part
    cpu: float  # seconds of Spark's Python processes, for whatever bucket


def counters(home: Home, bucket: str) -> Counters:
    """What they say now. What the catalog itself puts there is not in it."""
    metrics = httpx.get(f"{url(recall(home.ports), 'storage-metrics')}/metrics", timeout=30).text
    counted = [
        (name, labels, float(number))
        for name, labels, number in _COUNTED.findall(metrics)
        if f'bucket="{bucket}"' in labels
    ]
    received = sum(n for name, _, n in counted if name.endswith("traffic_received_bytes_total"))
    requests = [(labels, n) for name, labels, n in counted if name.endswith("request_total")]
    puts = sum(n for labels, n in requests if 'type="PUT"' in labels or 'type="POST"' in labels)
    deletes = sum(n for labels, n in requests if 'type="DELETE"' in labels)
    reads = sum(n for labels, n in requests if 'type="GET"' in labels)
    return Counters(received, puts, deletes, reads, sum(map(_used, _workers(home))))


def by_clients(costs: Mapping[Any, float]) -> tuple[float, float]:
    """Bytes and puts of clients, as costs have them: the catalog puts a metadata file of each commit."""
    return costs["bytes_written"] + costs["metadata_bytes"], costs["writes"] - costs["commits"]


def _workers(home: Home) -> Iterator[psutil.Process]:
    for name in ("spark", "spark-upkeep"):
        running = find(home.running / f"{name}.json")
        assert running
        assert running.process
        yield from running.process.children(recursive=True)


def _used(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system + times.children_user + times.children_system)
