"""What `frazil cost` adds up is what the servers of the stack counted meanwhile, within 2 percent."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from frazil.connections import Connections
from frazil_local.home import Home
from frazil_local.ports import recall, url
from frazil_local.process import find
from frazil_local.servers.stand_ins import TABLE_BUCKET
from kit.records.topics import Topic, create_topic
from kit.runs.shell import NAMESPACE, Command, Shell

pytestmark = pytest.mark.nightly

LANDINGS, RECORDS, SIZE = 6, 250, 8_000
NEAR = 0.02
_COUNTED = re.compile(r"^(SeaweedFS_s3_\w+)\{(.*)\} (\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class Counters:
    """What the servers have counted so far."""

    received: float  # bytes that the storage took for the tables' bucket
    puts: float  # requests by which clients put objects there, or parts of them
    reads: float  # requests for one of them, its size or a part
    cpu: float  # seconds of Spark's Python processes


def counters(home: Home) -> Counters:
    metrics = httpx.get(f"{url(recall(home.ports), 'storage-metrics')}/metrics", timeout=30).text
    counted = [
        (name, labels, float(number))
        for name, labels, number in _COUNTED.findall(metrics)
        if f'bucket="{TABLE_BUCKET}"' in labels
    ]
    received = sum(n for name, _, n in counted if name.endswith("traffic_received_bytes_total"))
    requests = [(labels, n) for name, labels, n in counted if name.endswith("request_total")]
    puts = sum(n for labels, n in requests if 'type="PUT"' in labels or 'type="POST"' in labels)
    reads = sum(n for labels, n in requests if 'type="GET"' in labels)
    return Counters(received, puts, reads, sum(map(_used, _workers(home))))


def _workers(home: Home) -> Iterator[psutil.Process]:
    for name in ("spark", "spark-upkeep"):
        running = find(home.running / f"{name}.json")
        assert running
        assert running.process
        yield from running.process.children(recursive=True)


def _used(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system + times.children_user + times.children_system)


def test_costs_add_up_to_what_the_servers_counted(
    shell: Shell, frazil: Command, connections: Connections, stack_home: Home, fresh_name: str
) -> None:
    create_topic(connections.admin, fresh_name, 1, {"compression.type": "producer"})
    derived, name = f"{fresh_name}_made", f"{NAMESPACE}.{fresh_name}"
    sql = f"SELECT value, `$$offset` AS place FROM {fresh_name}"
    shell.write(
        {"topic": fresh_name, "value_format": "bytes", "key_format": "none", "publish": []},
        derived=[{"table": derived, "sql": sql, "publish": []}],
    )
    topic = Topic(fresh_name, connections, None)  # type: ignore[arg-type]
    before = counters(stack_home)

    for _ in range(LANDINGS):
        topic.send([os.urandom(SIZE) for _ in range(RECORDS)], plain="their bytes are counted")
        assert frazil("land", name).code == 0
    assert frazil("compact", name).code == 0
    worked, of_table = counters(stack_home), costs(frazil, name)
    assert frazil("derive", f"{name}_made").code == 0

    after = counters(stack_home)
    total = costs(frazil, name, f"{name}_made")
    puts = after.puts - before.puts + total["commits"]  # the catalog itself puts the metadata files
    assert total["bytes_in"] == LANDINGS * RECORDS * SIZE
    assert total["bytes_in"] == pytest.approx(log_size(stack_home, fresh_name), rel=NEAR)
    sent = total["bytes_written"] + total["metadata_bytes"]
    assert sent == pytest.approx(after.received - before.received, rel=NEAR)
    assert total["writes"] == pytest.approx(puts, rel=NEAR)
    assert of_table["reads"] == pytest.approx(worked.reads - before.reads, rel=NEAR)
    assert after.reads - worked.reads <= total["writes"], "a derivation's are not counted"
    assert 0 < total["task_seconds"] <= worked.cpu - before.cpu, "workers start, and import, beside tasks"


def costs(frazil: Command, *tables: str) -> dict[str, Any]:
    total: dict[str, Any] = frazil("cost", *tables, "--by", "work", "--json").document["total"]
    return total


def log_size(home: Home, topic: str) -> int:
    """Bytes of the segments that the broker has of a topic."""
    return sum(file.stat().st_size for file in Path(home.root).rglob(f"{topic}-*/*.log"))
