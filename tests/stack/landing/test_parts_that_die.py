"""A part that dies in the middle of a landing or a compaction: one clear message, nothing half done.

On a stack of its own: the shared one is not for breaking.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import psutil
import pyarrow as pa
import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import IntegerType, LongType, NestedField

from frazil.checks.run import run_check
from frazil.clients import Clients
from frazil.connections import Connections
from frazil.errors import PartDownError
from frazil.landing.land import land
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec
from frazil_local.home import Home
from frazil_local.parts import prepared_stack
from frazil_local.stack import Stack
from kit.readers.leftovers import cleaned_up, unnamed
from kit.readers.stored import files_under
from kit.records.topics import Topic, create_topic
from kit.runs.processes import kill
from kit.runs.waiting import PATIENCE, wait_for
from kit.stack.full_storage import full_storage
from kit.stack.shared_stack import all_parts_alike, free_offset
from kit.wires.killed import NAMESPACE, compaction_process, landing_process

PARTS = ("storage", "aws", "kafka", "registry", "spark")
"""What landings need."""
UPKEEP = "spark-upkeep"
"""Upkeep's own Spark, up for as long as one test of the night."""
OWNERS = {"aws": "glue"}
"""The catalog that owns the table, by what dies."""
GROUPS, APPENDS = 8, 3
"""Partitions, with so many small files each; a compaction makes one of them after the other."""


@pytest.fixture(scope="module")
def own_stack(stack_home: Home, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A stack that may be broken."""
    stack = prepared_stack(Home(tmp_path_factory.mktemp("own") / "home"), {}, free_offset())
    bring_up(stack)
    yield stack
    stack.down(lambda *_: None)


def bring_up(stack: Stack, *parts: str) -> None:
    stack.up(lambda *_: None, parts or PARTS)


def end(stack: Stack, part: str) -> None:
    pid = next(each.pid for each in stack.status() if each.name == part)
    assert pid
    process = psutil.Process(pid)
    kill([*process.children(recursive=True), process])


@pytest.mark.nightly
def test_upkeeps_spark_killed_while_it_compacts_stops_no_landing_and_its_leftovers_can_be_removed(
    own_stack: Stack, fresh_name: str
) -> None:
    with all_parts_alike():
        bring_up(own_stack, *PARTS, UPKEEP)
    connections = Clients(Settings.of_profile(own_stack.home.profile))
    spec = TableSpec(topic=fresh_name, namespace=NAMESPACE, upkeep={"min_snapshots": 1})
    table = partitioned(connections, fresh_name)
    topic = trades_of(connections, f"{fresh_name}_trades")
    process = compaction_process(fresh_name, connections.settings, FRAZIL_HOME=str(own_stack.home.root))
    before = set(files_under(table))
    wait_for(lambda: process.poll() is not None or new_data(table, before))
    end(own_stack, UPKEEP)
    _, err = process.communicate(timeout=PATIENCE)
    left, numbers = new_data(table, before), values(table)
    landed = land(topic.spec, connections).records
    removed = cleaned_up(spec, on_landings_spark(connections), time.time())

    assert "Spark stopped answering during" in err
    assert landed == 10
    assert numbers == values(table) == list(range(GROUPS * APPENDS))
    assert len(list(table.scan().plan_files())) == GROUPS
    assert list(table.metadata.refs) == ["main"]
    assert 0 < len(left) <= removed
    assert not unnamed(table)


def on_landings_spark(connections: Connections) -> Connections:
    """Clients whose upkeep has no Spark of its own, since that one is dead."""
    return Clients(connections.settings.with_changes(spark={"upkeep_remote": None}))


def trades_of(connections: Connections, name: str) -> Topic:
    """A topic with ten records."""
    create_topic(connections.admin, name, 1, {})
    topic = Topic(name, connections, TableSpec(topic=name, namespace=NAMESPACE))
    topic.trades(10)
    return topic


def partitioned(connections: Connections, name: str) -> Table:
    """A table of another tool, with several small files in each partition."""
    schema = Schema(NestedField(1, "part", IntegerType()), NestedField(2, "n", LongType()))
    connections.catalog.create_namespace_if_not_exists(NAMESPACE)
    by_part = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "part"))
    table = connections.catalog.create_table((NAMESPACE, name), schema, partition_spec=by_part)
    for append in range(APPENDS):
        numbers = [append * GROUPS + part for part in range(GROUPS)]
        table.append(pa.table({"part": range(GROUPS), "n": numbers}, schema=schema.as_arrow()))
    return table


def new_data(table: Table, before: set[str]) -> set[str]:
    return {path for path in set(files_under(table)) - before if "/data/" in path}


def values(table: Table) -> list[int]:
    return sorted(table.refresh().scan().to_arrow()["n"].to_pylist())


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("part", "step", "named"),
    [
        pytest.param(
            "kafka", "planned", "Kafka (stopped answering|does not answer)", marks=pytest.mark.nightly
        ),
        pytest.param(
            "storage", "planned", "catalog or its storage stopped answering", marks=pytest.mark.nightly
        ),
        ("storage", "audited", "catalog does not answer"),
        # Glue dies as the catalog above does.
        pytest.param("aws", "audited", "catalog does not answer", marks=pytest.mark.nightly),
        # Last: gRPC keeps a process for a while from a server that was gone.
        pytest.param("spark", "planned", "Spark stopped answering", marks=pytest.mark.nightly),
    ],
)
def test_what_dies_is_named_and_the_next_landing_takes_every_record_once(
    own_stack: Stack, fresh_name: str, part: str, step: str, named: str
) -> None:
    bring_up(own_stack)
    owner = OWNERS.get(part, "rest")
    settings = Settings.of_profile(own_stack.home.profile)
    connections = Clients(settings.with_changes(catalog=owner))
    topic = trades_of(connections, fresh_name)
    land(topic.spec, connections)
    topic.trades(10)

    with pytest.raises(PartDownError, match=named):
        land(topic.spec, connections, on_step=lambda done: end(own_stack, part) if done == step else None)
    bring_up(own_stack)
    wait_for(lambda: is_readable(topic))
    before = quantities(topic)
    out, err = landing_process(
        topic.name, connections.settings, FRAZIL_HOME=str(own_stack.home.root)
    ).communicate(None, 120)

    assert before == list(range(10))
    assert out.strip() == "10", err
    assert quantities(topic) == list(range(20))
    assert run_check("row_count", topic.spec, Clients(connections.settings)).passed
    if part in OWNERS or part == "storage":  # whoever met it goes on, too
        topic.trades(3)
        assert land(topic.spec, connections).records == 3


@pytest.mark.nightly
def test_storage_without_room_is_named_and_the_next_landing_takes_every_record_once(
    own_stack: Stack, fresh_name: str
) -> None:
    bring_up(own_stack)
    connections = Clients(Settings.of_profile(own_stack.home.profile).with_changes(catalog="glue"))
    topic = trades_of(connections, fresh_name)
    land(topic.spec, connections)
    topic.trades(10)
    table = connections.catalog.load_table(topic.things.table.identifier)

    with full_storage(own_stack, table.io), pytest.raises(PartDownError, match="INTERNAL_FAILURE"):
        land(topic.spec, connections)
    before = quantities(topic)
    landed = land(topic.spec, connections).records

    assert before == list(range(10))
    assert landed == 10
    assert quantities(topic) == list(range(20))
    assert list(table.refresh().metadata.refs) == ["main"]
    assert run_check("row_count", topic.spec, connections).passed


def quantities(topic: Topic) -> list[int]:
    reader = Topic(topic.name, Clients(topic.connections.settings), topic.spec)
    return sorted(row["quantity"] for row in reader.rows())


def is_readable(topic: Topic) -> bool:
    """Storage that was killed answers before it finds all that it holds."""
    try:
        return bool(quantities(topic))
    except OSError:
        return False
