"""A table that feeds a topic, what its readers get, and a feed in a process of its own that is killed.

Run as a script: FRAZIL_* in the environment, then table, topic, and the step at which to die, such as sent 2.
"""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
from confluent_kafka import IsolationLevel, KafkaError, TopicPartition
from confluent_kafka.admin import OffsetSpec
from pyiceberg.table import Table

from frazil.clients import Clients
from frazil.connections import Connections
from frazil.derive.feeds.feed import feed
from frazil.kafka.clients import consumer
from frazil.kafka.facts import topic_fact
from frazil.settings.profile import Settings
from frazil.spec.derived import DerivedSpec, Feed
from kit.runs.waiting import PATIENCE, wait_for

NAMESPACE = "feed_tests"
IN_A_TRANSACTION = 40


@dataclass(frozen=True)
class Fed:
    """A table and its topic."""

    connections: Connections
    spec: DerivedSpec

    @property
    def topic(self) -> str:
        assert self.spec.feeds
        return self.spec.feeds.topic

    @property
    def table(self) -> Table:
        return self.connections.catalog.load_table((NAMESPACE, str(self.spec.table)))

    def append(self, rows: pa.Table) -> None:
        """Adds rows, as a derivation would; makes the table where it is missing."""
        identifier = (NAMESPACE, str(self.spec.table))
        self.connections.catalog.create_table_if_not_exists(identifier, rows.schema).append(rows)

    def feed(self, **more: Any) -> int:
        """How many records were sent."""
        return feed(self.spec, self.connections, records=IN_A_TRANSACTION, **more).records

    def records(self) -> list[tuple[Any, Any]]:
        """Keys and values that a reader of committed records gets."""
        wait_for(self._is_settled)
        facts = topic_fact(self.connections.admin, self.topic)
        places = [p for p, end in facts.end.items() if end > facts.first[p]]
        reader, records = consumer(self.connections.settings), []
        reader.assign([TopicPartition(self.topic, p, facts.first[p]) for p in places])
        while places:
            message = reader.poll(PATIENCE)
            assert message is not None, f"{len(records)} records, then nothing more"
            if error := message.error():
                assert error.code() == KafkaError._PARTITION_EOF, error
                places.remove(message.partition() or 0)
            else:
                records.append((self._decoded(message.key()), self._decoded(message.value())))
        reader.close()
        return records

    def numbers(self) -> list[int]:
        """Column n of all records, in order."""
        return sorted(value["n"] for _, value in self.records())

    def _is_settled(self) -> bool:
        """Kafka answers a commit before the partitions have its markers; until then nobody sees it."""
        stable = topic_fact(self.connections.admin, self.topic).end
        asked = {TopicPartition(self.topic, p): OffsetSpec.latest() for p in stable}
        answers = self.connections.admin.list_offsets(asked, isolation_level=IsolationLevel.READ_UNCOMMITTED)
        return all(stable[place.partition] == answer.result().offset for place, answer in answers.items())

    def _decoded(self, data: bytes | None) -> Any:
        if data is None:
            return None
        schema = self.connections.registry.get_schema(int.from_bytes(data[1:5], "big"))
        return fastavro.schemaless_reader(io.BytesIO(data[5:]), json.loads(str(schema.schema_str)), None)


def fed(connections: Connections, table: str, topic: str, key: tuple[str, ...] = ()) -> Fed:
    spec = DerivedSpec(
        table=table, namespace=NAMESPACE, sql=Path("none.sql"), feeds=Feed(topic=topic, key=key, partitions=2)
    )
    return Fed(connections, spec)


def numbers(*those: int) -> pa.Table:
    return pa.table({"n": pa.array(those, pa.int64())})


def killed_feed(one: Fed, step: str) -> None:
    """Feeds in a process of its own, which is killed at that step."""
    done = subprocess.run(
        [sys.executable, __file__, str(one.spec.table), one.topic, *step.split()],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr


def main(table: str, topic: str, step: str, times: str = "1") -> None:
    left = int(times)

    def stop(done: str) -> None:
        nonlocal left
        left -= done == step
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

    fed(Clients(Settings.load()), table, topic).feed(on_step=stop)


if __name__ == "__main__":
    main(*sys.argv[1:])
