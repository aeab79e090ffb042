"""What a landing is measured against: Kafka source, one decoding function, Iceberg append, no guarantees."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro
from pyspark.sql.pandas.functions import arrow_udf

from frazil.clients import Clients
from frazil.connections import Connections
from frazil.formats.columns.columns import metadata_columns
from frazil.formats.logical import Struct
from frazil.formats.protobuf.descriptors import compiled, file_of
from frazil.formats.protocol import WriterSchema
from frazil.formats.record import topic_columns
from frazil.formats.registry.subjects import subject_versions
from frazil.formats.types import spark_type
from frazil.landing.schema.tables import ensure_table
from frazil.settings.profile import Settings
from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.spark.session import spark_name

# The consumer of the bare job is tuned like ours: the comparison is about the rest.
_CONSUMER = {
    "includeHeaders": "true",
    "kafka.isolation.level": "read_committed",
    "kafka.max.partition.fetch.bytes": str(10 * 2**20),
    "kafka.max.poll.records": "20000",
    "kafka.fetch.max.wait.ms": "10",
}


def plain(settings: Settings) -> Connections:
    """A session of its own, that reads Kafka as Spark does by default."""
    connections = Clients(settings)
    connections.spark.conf.unset("spark.sql.sources.useV1SourceList")
    return connections


def prepare(connections: Connections, spec: TableSpec, name: TableName) -> None:
    """Makes the table as a landing would, so that both write the same files."""
    ensure_table(spec, TableHandle(connections.catalog, name), topic_columns(spec, connections.registry))


def run(connections: Connections, spec: TableSpec, name: TableName) -> None:
    """Lands the whole topic, hoping that nothing goes wrong."""
    rows = decoded(connections, spec, read(connections, spec.topic))
    rows.writeTo(spark_name(name)).option("fanout-enabled", "true").append()


def decoded(connections: Connections, spec: TableSpec, records: DataFrame) -> DataFrame:
    """The rows of records, by one decoding function."""
    schema = schema_of(connections, spec)
    columns = topic_columns(spec, connections.registry).value
    frame = records.withColumn("value_", _DECODED[schema.kind](schema, columns))
    fields = [f"value_.`{field.name}`" for field in columns]
    metadata = [f"{c.expression} AS `{c.name(spec.metadata_names)}`" for c in metadata_columns(spec)]
    return frame.selectExpr("raw_key AS key", *fields, *metadata)


def read(connections: Connections, topic: str, since: str = "earliest") -> DataFrame:
    """The records of a topic as Spark's Kafka source gives them; `since` is its `startingOffsets`."""
    source = connections.spark.read.format("kafka").options(endingOffsets="latest")
    return _records(connections, topic, source, since)


def stream(connections: Connections, topic: str) -> DataFrame:
    """The same as a stream."""
    return _records(connections, topic, connections.spark.readStream.format("kafka"))


def _records(connections: Connections, topic: str, source: Any, since: str = "earliest") -> DataFrame:
    """What a reader of Kafka, of a batch or a stream, gives of a topic."""
    source = source.options(
        **{"kafka.bootstrap.servers": connections.settings.kafka.bootstrap_servers, "subscribe": topic},
        startingOffsets=since,
        **_CONSUMER,
    )
    records: DataFrame = source.load().selectExpr(
        "key AS raw_key",
        "value AS raw_value",
        "topic",
        "partition",
        "offset",
        "timestamp",
        "timestampType",
        "headers",
        "0 AS leader_epoch",  # Spark's source does not tell it
    )
    return records


def schema_of(connections: Connections, spec: TableSpec) -> WriterSchema:
    """The newest schema of the topic's values."""
    return subject_versions(connections.registry, f"{spec.topic}-value")[-1]


def _avro(schema: WriterSchema, _: Struct) -> Column:
    return from_avro(F.expr("substring(raw_value, 6)"), schema.text)


def _json(_: WriterSchema, columns: Struct) -> Column:
    return F.from_json(F.expr("CAST(substring(raw_value, 6) AS string)"), spark_type(columns))


def _protobuf(schema: WriterSchema, columns: Struct) -> Column:
    descriptors = compiled(schema, "bench")

    def rows(batches: Any) -> Any:
        from ptars import HandlerPool, PtarsConfig

        file = file_of(descriptors)
        message = next(iter(file.message_types_by_name.values()))
        handler = HandlerPool([file], PtarsConfig()).get_for_message(message)
        for payloads in batches:
            batch = handler.array_to_record_batch(payloads)
            yield pa.StructArray.from_arrays(batch.columns, names=batch.schema.names)

    # PySpark asks for the types themselves, and those of this module are texts.
    rows.__annotations__ = {"batches": Iterator[pa.Array], "return": Iterator[pa.Array]}
    decoded: Any = arrow_udf(rows, spark_type(columns))  # type: ignore[call-overload]
    column: Column = decoded(F.expr("substring(raw_value, 7)"))
    return column


_DECODED = {"AVRO": _avro, "JSON": _json, "PROTOBUF": _protobuf}
