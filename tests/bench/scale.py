"""What a tick of the arrivals sensor costs: many tables with long histories, of which some have moved.

`python tests/bench/scale.py [--tables 1000] [--moved 50] [--snapshots 200] [--catalog rest|glue]` makes
topics and tables in the running stack, as landings leave them but without data, and prints the CPU and the
wall time of ticks, and the requests to the catalog. It drops them in the end, unless `--keep`.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from botocore.client import BaseClient
from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic
from pyiceberg.catalog import Catalog
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import Schema
from pyiceberg.table.snapshots import Operation, Snapshot, Summary
from pyiceberg.table.update import AddSnapshotUpdate, SetPropertiesUpdate, SetSnapshotRefUpdate
from pyiceberg.types import LongType, NestedField
from requests import Session

from frazil.clients import Clients
from frazil.kafka.clients import client_config
from frazil.kafka.facts import TopicFacts, topic_facts
from frazil.landing.arrivals import look_for_arrivals
from frazil.landing.position.ledger import Ledger
from frazil.landing.position.standing import Standings
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec
from frazil.tables.commits.ledger import copied

_NAMESPACE, _COLUMNS, _AT_ONCE, _EACH = "scale", 20, 8, 12_345


def main() -> None:
    """Makes what is measured, and measures it."""
    arguments = _arguments()
    clients = Clients(Settings.load().model_copy(update={"catalog": arguments.catalog}))
    specs = [
        TableSpec(topic=f"scale_{n:04}", namespace=_NAMESPACE, publish=[]) for n in range(arguments.tables)
    ]
    try:
        _make(specs, clients, arguments.snapshots)
        memory: Standings = {}
        while len(memory) < len(specs):
            _tick("new process, nothing moved", specs, clients, memory)
        _tick("tick, nothing moved", specs, clients, memory)
        _tick("look of frazil run in between, nothing moved", specs, clients, memory, in_turn=False)
        _produce(specs[: arguments.moved], clients)
        _tick(f"tick, {arguments.moved} topics moved", specs, clients, memory)
    finally:
        if not arguments.keep:
            _drop(specs, clients)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=1000)
    parser.add_argument("--moved", type=int, default=50)
    parser.add_argument("--snapshots", type=int, default=200)
    parser.add_argument("--catalog", choices=("rest", "glue"), default="rest")
    parser.add_argument("--keep", action="store_true")
    return parser.parse_args()


def _tick(
    name: str, specs: Sequence[TableSpec], clients: Clients, memory: Standings, *, in_turn: bool = True
) -> None:
    with _counted() as calls:
        cpu, begun = time.process_time(), time.perf_counter()
        seen = look_for_arrivals(specs, clients, lambda: time.time() + 3600, memory, in_turn=in_turn)
        took = time.process_time() - cpu, time.perf_counter() - begun
    made = ", ".join(f"{count} {call}" for call, count in calls.most_common())
    print(
        f"{name}: {len(seen.due)} due, {seen.unknown} unknown; {took[0]:.2f} s CPU, {took[1]:.2f} s; {made}",
        flush=True,
    )


@contextmanager
def _counted() -> Iterator[Counter[str]]:
    """Counts the requests to a REST catalog and to Glue."""
    calls: Counter[str] = Counter()
    send, call = Session.send, BaseClient._make_api_call

    def sent(self: Session, request: Any, **options: Any) -> Any:
        calls["REST requests"] += 1
        return send(self, request, **options)

    def called(self: BaseClient, operation: str, arguments: Any) -> Any:
        calls[operation] += 1
        return call(self, operation, arguments)

    with patch.object(Session, "send", sent), patch.object(BaseClient, "_make_api_call", called):
        yield calls


def _make(specs: Sequence[TableSpec], clients: Clients, snapshots: int) -> None:
    begun = time.perf_counter()
    there = topic_facts(clients.admin, [s.topic for s in specs])
    wanted = [NewTopic(s.topic, 1, config={"retention.ms": "-1"}) for s in specs if s.topic not in there]
    for future in clients.admin.create_topics(wanted).values() if wanted else ():
        future.result(120)
    _produce([s for s in specs if s.topic not in there], clients)
    facts = topic_facts(clients.admin, [s.topic for s in specs])
    clients.catalog.create_namespace_if_not_exists(_NAMESPACE)
    known = {name[-1] for name in clients.catalog.list_tables(_NAMESPACE)}
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        new = [s.topic for s in specs if s.topic not in known]
        list(pool.map(lambda topic: _table(clients.catalog, facts[topic], snapshots), new))
    print(f"{len(new)} tables made in {time.perf_counter() - begun:.0f} s", flush=True)


def _table(catalog: Catalog, facts: TopicFacts, snapshots: int) -> None:
    """A table at the end of its topic, after so many landings."""
    fields = [NestedField(n + 1, f"column_{n}", LongType()) for n in range(_COLUMNS)]
    name = (_NAMESPACE, facts.topic)
    table = catalog.create_table(name, Schema(*fields), partition_spec=UNPARTITIONED_PARTITION_SPEC)
    now, ledger, made = int(time.time() * 1000), None, []
    for n in range(1, snapshots + 1):
        ledger = _ledger(facts, n, snapshots).following(ledger)
        totals = {f"total-{what}": str(n * 1000) for what in ("data-files", "records", "files-size")}
        snapshot = Snapshot(
            snapshot_id=n,
            parent_snapshot_id=n - 1 or None,
            sequence_number=n,
            timestamp_ms=now + n,
            manifest_list=f"{table.location()}/metadata/snap-{n}-0-none.avro",
            schema_id=0,
            summary=Summary(Operation.APPEND, **totals, **ledger.properties()),
        )
        made.append(snapshot)
    assert ledger
    head = SetSnapshotRefUpdate(ref_name="main", type="branch", snapshot_id=snapshots)
    copy = SetPropertiesUpdate(updates=copied(ledger.properties(), snapshots))
    catalog.commit_table(table, (), (*(AddSnapshotUpdate(snapshot=s) for s in made), head, copy))


def _ledger(facts: TopicFacts, n: int, of: int) -> Ledger:
    end = facts.end if n == of else dict.fromkeys(facts.end, 0)
    spans = {p: (0, to) for p, to in end.items()}
    named = replace(Ledger(facts.topic, facts.topic_id, spans, dict.fromkeys(end, 0)), landing=f"landing_{n}")
    return replace(named, records=_EACH, bytes=_EACH * 100, leader_epochs=facts.leader_epochs)


def _produce(specs: Sequence[TableSpec], clients: Clients) -> None:
    producer = Producer(client_config(clients.settings))
    for spec in specs:
        producer.produce(spec.topic, b"a record")
    producer.flush(60)


def _drop(specs: Sequence[TableSpec], clients: Clients) -> None:
    for spec in specs:
        clients.catalog.drop_table((_NAMESPACE, spec.topic))
    for future in clients.admin.delete_topics([s.topic for s in specs]).values():
        future.result(120)


if __name__ == "__main__":
    main()
