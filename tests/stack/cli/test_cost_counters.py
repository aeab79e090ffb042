"""What `frazil cost` adds up is what the servers of the stack counted meanwhile, within 2 percent."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from frazil.connections import Connections
from frazil_local.home import Home
from kit.records.topics import Topic, create_topic
from kit.runs.shell import NAMESPACE, Command, Shell
from kit.storage.counters import by_clients, counters, own_bucket

pytestmark = pytest.mark.nightly

LANDINGS, RECORDS, SIZE = 6, 250, 8_000
NEAR = 0.02


@pytest.fixture
def bucket(connections: Connections, monkeypatch: pytest.MonkeyPatch) -> str:
    """The tables' own."""
    name = own_bucket(connections.settings)
    monkeypatch.setenv("FRAZIL_REST__WAREHOUSE", name)
    return name


def test_costs_add_up_to_what_the_servers_counted(
    shell: Shell, frazil: Command, connections: Connections, stack_home: Home, fresh_name: str, bucket: str
) -> None:
    create_topic(connections.admin, fresh_name, 1, {"compression.type": "producer"})
    derived, name = f"{fresh_name}_made", f"{NAMESPACE}.{fresh_name}"
    sql = f"SELECT value, `$$offset` AS place FROM {fresh_name}"
    shell.write(
        {"topic": fresh_name, "value_format": "bytes", "key_format": "none", "publish": []},
        derived=[{"table": derived, "sql": sql, "publish": []}],
    )
    topic = Topic(fresh_name, connections, None)  # type: ignore[arg-type]
    before = counters(stack_home, bucket)

    for _ in range(LANDINGS):
        topic.send([os.urandom(SIZE) for _ in range(RECORDS)], plain="their bytes are counted")
        assert frazil("land", name).code == 0
    assert frazil("compact", name).code == 0
    worked, of_table = counters(stack_home, bucket), costs(frazil, name)
    assert frazil("derive", f"{name}_made").code == 0

    after = counters(stack_home, bucket)
    total = costs(frazil, name, f"{name}_made")
    puts = after.puts - before.puts + total["commits"]  # the catalog itself puts the metadata files
    assert total["bytes_in"] == LANDINGS * RECORDS * SIZE
    assert total["bytes_in"] == pytest.approx(log_size(stack_home, fresh_name), rel=NEAR)
    sent, _ = by_clients(total)
    assert sent == pytest.approx(after.received - before.received, rel=NEAR)
    assert total["writes"] == pytest.approx(puts, rel=NEAR)
    assert of_table["reads"] == pytest.approx(worked.reads - before.reads, rel=NEAR)
    assert after.reads - worked.reads <= total["writes"], "a derivation's are not counted"
    assert 0 < total["task_seconds"] <= worked.cpu - before.cpu, "workers start, and import, beside tasks"


def test_requests_of_landings_by_key_are_those_that_the_storage_counted(
    shell: Shell, frazil: Command, connections: Connections, stack_home: Home, fresh_name: str, bucket: str
) -> None:
    create_topic(connections.admin, fresh_name, 1, {})
    name = f"{NAMESPACE}.{fresh_name}"
    shell.write(
        {
            "topic": fresh_name,
            "mode": "upsert",
            "value_format": "bytes",
            "key_format": "string",
            "publish": [],
        }
    )
    topic = Topic(fresh_name, connections, None)  # type: ignore[arg-type]
    before = counters(stack_home, bucket)

    for start in range(LANDINGS):  # each changes half of the keys of the one before
        topic.send_keyed([(b"k%d" % (start * 50 + n), os.urandom(SIZE)) for n in range(100)])
        assert frazil("land", name).code == 0

    after, total = counters(stack_home, bucket), costs(frazil, name)
    assert total["records"] == LANDINGS * 100
    assert 0 <= after.reads - before.reads - total["reads"] <= 1, "one of the first landing is not counted"
    _, puts = by_clients(total)
    assert puts == pytest.approx(after.puts - before.puts, rel=NEAR)


def costs(frazil: Command, *tables: str) -> dict[str, Any]:
    total: dict[str, Any] = frazil("cost", *tables, "--by", "work", "--json").document["total"]
    return total


def log_size(home: Home, topic: str) -> int:
    """Bytes of the segments that the broker has of a topic."""
    return sum(file.stat().st_size for file in Path(home.root).rglob(f"{topic}-*/*.log"))
