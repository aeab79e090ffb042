"""`frazil run` as people and systemd run it: processes that are killed, doubled and stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from frazil.checks.run import run_check
from frazil.connections import Connections
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import TableHandle
from kit.records.topics import TRADE, Topic, create_topic
from kit.runs.shell import FRAZIL, NAMESPACE, Shell
from kit.runs.waiting import PATIENCE, wait_for
from sensors.runs import reserved_tables

EACH = 10


@pytest.fixture
def topic(shell: Shell, connections: Connections, fresh_name: str) -> Topic:
    """An empty topic of two partitions, and a pipeline that wants its records within two seconds."""
    create_topic(connections.admin, fresh_name, 2, {})
    spec = TableSpec(topic=fresh_name, namespace=NAMESPACE)
    topic = Topic(fresh_name, connections, spec)
    topic.trades(EACH)
    shell.write({"topic": fresh_name, "freshness": "2s"})
    return topic


@contextmanager
def runner(log: Path, home: Path, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """`frazil run --json` in a process; its lines go to a file."""
    with log.open("ab") as out:
        process = subprocess.Popen(
            [FRAZIL, "run", "--json", *options], stdout=out, env={**os.environ, "DAGSTER_HOME": str(home)}
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait(PATIENCE)


def events(log: Path, word: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.endswith("}")]
    return [line for line in lines if line["event"] == word]


def landed(log: Path) -> int:
    return sum(line["records"] for line in events(log, "landed"))


@pytest.mark.nightly
def test_what_is_written_while_runners_are_killed_doubled_and_stopped_lands_once_and_dagster_hears_of_it(
    topic: Topic, tmp_path: Path, dagster_home: Path
) -> None:
    first, second, third = (tmp_path / name for name in ("first", "second", "third"))
    written = EACH

    def write_until(condition: Callable[[], object]) -> None:
        def write() -> object:
            nonlocal written
            topic.trades(EACH, partition=written // EACH % 2)
            written += EACH
            return condition()

        wait_for(write)

    with runner(first, dagster_home) as process:
        write_until(lambda: events(first, "landed"))
        process.kill()
        write_until(lambda: process.poll() is not None)
    with runner(second, dagster_home) as one, runner(third, dagster_home) as two:
        write_until(lambda: landed(second) and landed(second) + landed(third) > 10 * EACH)
        wait_for(lambda: rows_of(topic) == written)
        is_held = instance_holds(dagster_home, topic)
        for each in (one, two):
            each.send_signal(signal.SIGTERM)
        codes = [each.wait(PATIENCE) for each in (one, two)]

    assert (process.returncode, codes) == (-signal.SIGKILL, [0, 0])
    assert not events(second, "failed") + events(third, "failed")
    assert run_check("row_count", topic.spec, topic.connections).passed
    assert run_check("row_count_deep", topic.spec, topic.connections).passed
    assert run_check("glue_pointer", topic.spec, topic.connections).passed
    assert (is_held, instance_holds(dagster_home, topic)) == (True, False)
    assert rows_told(dagster_home, topic) == written


@pytest.mark.nightly
def test_runners_that_share_tables_land_each_once_and_the_other_goes_on_with_those_of_one_that_is_killed(
    shell: Shell, connections: Connections, fresh_name: str, tmp_path: Path, dagster_home: Path
) -> None:
    topics = []
    for n in range(16):
        name = f"{fresh_name}_{n}"
        create_topic(connections.admin, name, 1, {})
        topics.append(Topic(name, connections, TableSpec(topic=name, namespace=NAMESPACE, publish=[])))
    shell.write(*({"topic": topic.name, "freshness": "2s", "publish": []} for topic in topics))
    first, second = tmp_path / "first", tmp_path / "second"

    def write() -> None:
        for topic in topics:
            topic.trades(EACH)

    def tables(log: Path) -> set[str]:
        return {line["table"] for line in events(log, "landed")}

    def have_met(log: Path) -> bool:
        return log.exists() and any(line["runners"] == 2 for line in events(log, "shares"))

    with runner(first, dagster_home, "--share") as one, runner(second, dagster_home, "--share"):
        wait_for(lambda: have_met(first) and have_met(second))
        write()
        wait_for(lambda: sum(map(rows_of, topics)) == 16 * EACH)
        of_first, of_second = tables(first), tables(second)
        one.kill()
        write()
        wait_for(lambda: sum(map(rows_of, topics)) == 32 * EACH)

    assert of_first
    assert of_second
    assert not of_first & of_second
    assert tables(second) == of_first | of_second
    assert not events(second, "failed") + events(second, "overtaken")


@pytest.mark.nightly
def test_a_table_that_a_schema_suspended_goes_on_by_itself_after_the_registry_was_mended(
    topic: Topic, tmp_path: Path, dagster_home: Path
) -> None:
    log = tmp_path / "said"
    registry = topic.connections.registry
    registry.set_compatibility(f"{topic.name}-value", level="NONE")
    fields = [{**f, "type": "string"} if f["name"] == "quantity" else f for f in TRADE["fields"]]  # type: ignore[attr-defined]

    with runner(log, dagster_home):
        wait_for(lambda: landed(log) == EACH)
        topic.register({**TRADE, "fields": fields})
        topic.send([topic.encode({"side": "BUY", "quantity": "1", "symbol": "Z"})])
        wait_for(lambda: events(log, "failed"))
        registry.delete_version(f"{topic.name}-value", 2)
        topic.schema = TRADE
        topic.send([topic.encode({"side": "BUY", "quantity": 1, "symbol": "Z"})])
        wait_for(lambda: events(log, "landed")[1:] or events(log, "failed")[1:])

    failures = events(log, "failed")
    assert "can't become string" in failures[0]["text"]
    assert all("can't become string" not in line["text"] for line in failures[1:])


def rows_of(topic: Topic) -> int:
    table = TableHandle(topic.connections.catalog, topic.things.table).load_or_none()
    snapshot = table.current_snapshot() if table else None
    return int(snapshot.summary["total-records"] or 0) if snapshot and snapshot.summary else 0


def instance_holds(home: Path, topic: Topic) -> bool:
    """Whether Dagster's sensor leaves the table to a runner."""
    key = dg.AssetKey(topic.things.iceberg_path)
    with dg.DagsterInstance.from_config(str(home)) as instance:
        return reserved_tables(instance, [key]) == {key}


def rows_told(home: Path, topic: Topic) -> object:
    with dg.DagsterInstance.from_config(str(home)) as instance:
        event = instance.get_latest_materialization_event(dg.AssetKey(topic.things.iceberg_path))
    assert event
    assert event.asset_materialization
    return event.asset_materialization.metadata["dagster/row_count"].value
