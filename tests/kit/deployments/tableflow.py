"""What Confluent's Tableflow leaves behind, written by PyIceberg: its columns, its folders, its commits.

As observed: key and value fields, nine `$$` columns behind them, files of one partition of the topic each,
below `<org>/<environment>/<cluster>/v1/<uuid>`; no partition spec, no property that tells a position.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
from confluent_kafka import TopicPartition
from confluent_kafka.admin import OffsetSpec
from confluent_kafka.schema_registry import Schema as Registered
from confluent_kafka.schema_registry._sync.mock_schema_registry_client import MockSchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError
from pyiceberg.catalog import Catalog
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import (
    BinaryType,
    IntegerType,
    LongType,
    MapType,
    NestedField,
    StringType,
    TimestamptzType,
)

from frazil.clients import Clients
from frazil.landing.tableflow.takeover import TakeoverReport, take_over
from frazil.settings.profile import Settings
from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec
from kit.graph.many_tables import Topics, _done, clients_of

CLUSTER, TOPIC = "lkc-5w1k2", "stock.trades"
NAME = (CLUSTER, TOPIC)
SPEC = TableSpec(topic=TOPIC, metadata="full", publish=())
"""Of the table that Frazil lands itself."""
OWN = TableName("local", "stock_trades")
SPANS = {0: (0, 40), 1: (5, 25)}

TRADE = """{"type": "record", "name": "StockTrade", "namespace": "ksql", "fields": [
    {"name": "side", "type": "string"}, {"name": "quantity", "type": "int"},
    {"name": "symbol", "type": "string"}]}"""

COLUMNS = Schema(
    NestedField(1, "key", BinaryType(), required=False),
    NestedField(2, "side", StringType(), required=True),
    NestedField(3, "quantity", IntegerType(), required=True),
    NestedField(4, "symbol", StringType(), required=True),
    NestedField(5, "$$topic", StringType(), required=False),
    NestedField(6, "$$partition", IntegerType(), required=False),
    NestedField(
        7, "$$headers", MapType(14, StringType(), 15, BinaryType(), value_required=False), required=False
    ),
    NestedField(8, "$$leader-epoch", IntegerType(), required=False),
    NestedField(9, "$$offset", LongType(), required=False),
    NestedField(10, "$$timestamp", TimestamptzType(), required=False),
    NestedField(11, "$$timestamp-type", StringType(), required=False),
    NestedField(12, "$$raw-key", BinaryType(), required=False),
    NestedField(13, "$$raw-value", BinaryType(), required=False),
)

Records = Sequence[tuple[int, int]]
"""Partition and offset of each."""


def quantity_of(partition: int, offset: int) -> int:
    """What the record at some place says, unless a test says otherwise."""
    return partition * 1_000_000 + offset


@dataclass
class Tableflow:
    """The Tableflow of one topic.

    Args:
        catalog: Where it shows its table.
        root: The bucket; empty where the catalog says where its tables are.
        quantity: What the record at a partition and offset says.
    """

    catalog: Catalog
    root: str
    name: tuple[str, str] = NAME
    quantity: Callable[[int, int], int] = quantity_of

    def enable(self) -> Table:
        """Makes the table anew, with no row in it."""
        place = f"{self.root}/10110100/110101/{uuid.uuid4()}/env-7kq9/{self.name[0]}/v1/{uuid.uuid4()}"
        self.catalog.create_namespace_if_not_exists(self.name[0])
        return self.catalog.create_table(self.name, COLUMNS, location=place if self.root else None)

    @property
    def table(self) -> Table:
        """As it is now."""
        return self.catalog.load_table(self.name)

    def commit(self, spans: Mapping[int, tuple[int, int]], without: Records = ()) -> None:
        """Appends the records of some spans, in a file of each partition."""
        table = self.table
        for partition, (start, to) in spans.items():
            places = [(partition, at) for at in range(start, to) if (partition, at) not in without]
            table.append(self.rows(table, places))

    def compacted_commit(self, places: Records) -> None:
        """Appends one file that holds records of several partitions, as a compaction leaves it."""
        table = self.table
        table.append(self.rows(table, places))

    def placeless(self) -> None:
        """Appends a row that does not say at which offset it was."""
        table = self.table
        rows = self.rows(table, [(0, 40)])
        at = rows.schema.get_field_index("$$offset")
        table.append(rows.set_column(at, rows.schema.field(at), pa.nulls(1, pa.int64())))

    def rows(self, table: Table, places: Records) -> pa.Table:
        """The rows of some records."""
        schema = table.schema().as_arrow()
        quantities = [self.quantity(*place) for place in places]
        known: dict[str, list[Any]] = {
            "key": [b"ZTEST"] * len(places),
            "side": ["BUY"] * len(places),
            "quantity": quantities,
            "symbol": ["ZTEST"] * len(places),
            "$$topic": [self.name[1]] * len(places),
            "$$partition": [p for p, _ in places],
            "$$headers": [{}] * len(places),
            "$$leader-epoch": [0] * len(places),
            "$$offset": [at for _, at in places],
            "$$timestamp": [1_760_000_000_000_000 + at for _, at in places],
            "$$timestamp-type": ["CREATE_TIME"] * len(places),
            "$$raw-key": [b"ZTEST"] * len(places),
            "$$raw-value": [b"\0"] * len(places),
        }
        return pa.table([pa.array(known[f.name], f.type) for f in schema], schema=schema)


@dataclass
class Logs(Topics):
    """Kafka's admin client, for one topic: by partition its first offset, and its end."""

    ends: dict[str, int] = field(default_factory=dict)
    spans: dict[int, tuple[int, int]] = field(default_factory=dict)
    topic_id: str = "the-topic"

    def list_offsets(self, places: dict[TopicPartition, OffsetSpec], **_: object) -> dict[Any, Future[Any]]:
        """See `AdminClient`."""
        first = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
        return {
            place: _done(
                SimpleNamespace(offset=self.spans[place.partition][spec is not first], leader_epoch=0)
            )
            for place, spec in places.items()
        }

    def _description(self, name: str) -> Future[Any]:
        if not self.spans:
            return super()._description(name)
        partitions = [SimpleNamespace(id=p) for p in self.spans]
        return _done(SimpleNamespace(partitions=partitions, topic_id=self.topic_id))


class Registry(MockSchemaRegistryClient):
    """Confluent's own registry for tests, in this process."""

    def __init__(self, topic: str = TOPIC, schema: str = TRADE) -> None:
        super().__init__({"url": "mock://", "ssl.ca.location": False})  # reads no authorities
        self.remembered: dict[str, Any] = {}
        self.apicurio, self.long_ids, self.key_service = None, "none", None
        self.register_schema(f"{topic}-value", Registered(schema, "AVRO"))

    def get_version(self, subject_name: str, version: int | str, deleted: bool = False) -> Any:
        """With the code by which a real one says that there is no such subject."""
        if subject_name not in self.get_subjects():
            raise SchemaRegistryError(404, 40401, f"Subject '{subject_name}' not found.")
        return super().get_version(subject_name, "latest" if version == "latest" else version)


def clients(catalog: Catalog, logs: Logs, registry: Registry | None = None) -> Clients:
    """Clients of the cluster whose topic Tableflow reads."""
    settings = Settings().with_changes(kafka={"cluster_id": CLUSTER}, catalog="glue")
    return clients_of(settings, logs, catalog=catalog, registry=registry or Registry())


def places_of(rows: pa.Table) -> Iterator[tuple[int, int]]:
    """Partition and offset of each row."""
    return zip(rows["$$partition"].to_pylist(), rows["$$offset"].to_pylist(), strict=True)


def adopted(connections: Clients, spec: TableSpec = SPEC, *, accept_gaps: bool = False) -> TakeoverReport:
    """Takes the table over, into one of Frazil's."""
    return take_over(spec, connections, TableName(*NAME), connections, accept_gaps=accept_gaps, run_id="test")
