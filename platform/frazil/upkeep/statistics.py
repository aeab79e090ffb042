"""Statistics by which engines plan joins: how many distinct values the columns of a table have.

Iceberg keeps them in a Puffin file that the metadata names for one snapshot, as sketches
(https://iceberg.apache.org/puffin-spec/#apache-datasketches-theta-v1-blob-type). Iceberg's own procedure of
Spark writes that file and names it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.formats.columns.columns import metadata_names
from frazil.quoting import literal
from frazil.spec.names import TableName
from frazil.spec.table import AnyTable
from frazil.tables.catalogs.handle import handle_of
from frazil.tables.spark.faults import Job, spark_job
from frazil.tables.spark.redaction import SPARK_CATALOG
from frazil.tables.spark.session import spark_name
from frazil.upkeep.kind import Kind, Known, Order, Reason, since
from frazil.upkeep.work import WorkReport

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.table.metadata import TableMetadata

_SKETCH = "apache-datasketches-theta-v1"

_NAMED = 5


class Statistics(Kind):
    """Distinct values of columns are counted, where a spec says how often."""

    name, step = "statistics", "count_distinct_values"
    about = "Counts distinct values of columns, by which engines plan joins."

    def run(self, spec: AnyTable, connections: Connections, now: float, order: Order) -> WorkReport:
        """See `Kind.run`."""
        return count_distinct(spec, connections, order)

    def why_due(self, known: Known, now: float) -> Reason | None:
        """See `Kind.why_due`."""
        every, head, last = known.spec.upkeep.statistics_every, known.facts.head, known.facts.last
        if every is None or head is None or not known.is_over(self, every, now):
            return None
        if self.name in last and last[self.name].snapshot_id == head:
            return None
        return Reason(f"the head has moved since: {since('count', known.age(self, now), every)}.")


def count_distinct(spec: AnyTable, connections: Connections, order: Order) -> WorkReport:
    """Counts the distinct values of each plain column of a table's head, but for those of metadata.

    Raises:
        FrazilError: See `spark_job`.
    """
    handle = handle_of(spec, connections)
    table = handle.load()
    head, columns = table.current_snapshot(), _plain_columns(table.schema(), metadata_names(spec))
    if head is None or not columns:
        text = "Nothing: the table has no rows yet." if columns else "Nothing: no column has plain values."
        return WorkReport(str(handle), Statistics.name, done=False, text=text, dry_run=order.dry_run)
    if not order.dry_run:
        _compute(connections, handle.name, head.snapshot_id, columns)
    counted = {} if order.dry_run else distinct_values(handle.load().metadata, head.snapshot_id)
    return WorkReport(
        str(handle),
        Statistics.name,
        done=True,
        text=_text(counted or dict.fromkeys(columns), order),
        numbers={"columns": len(columns)},
        dry_run=order.dry_run,
    )


def distinct_values(metadata: TableMetadata, snapshot_id: int) -> dict[str, int]:
    """By column what the statistics of a snapshot say; a column that is gone since has its id as name."""
    names = {field.field_id: field.name for field in metadata.schema().fields}
    return {
        names.get(blob.fields[0], str(blob.fields[0])): int(blob.properties["ndv"])
        for file in metadata.statistics
        if file.snapshot_id == snapshot_id
        for blob in file.blob_metadata
        if blob.type == _SKETCH and blob.properties and "ndv" in blob.properties
    }


def _plain_columns(schema: Schema, left_out: Sequence[str]) -> list[str]:
    """Columns without fields of their own; a reader joins by no place of a record."""
    return [f.name for f in schema.fields if f.field_type.is_primitive and f.name not in left_out]


def _compute(connections: Connections, name: TableName, snapshot_id: int, columns: Sequence[str]) -> None:
    of = f"table => {literal(spark_name(name))}, snapshot_id => {snapshot_id}"
    listed = ", ".join(map(literal, columns))
    call = f"CALL {SPARK_CATALOG}.system.compute_table_stats({of}, columns => array({listed}))"
    job = Job("count of distinct values", str(name), "No row was changed.", "Try again.")
    with spark_job(job):
        connections.background_spark.sql(call).collect()


def _text(counted: Mapping[str, int | None], order: Order) -> str:
    named = ", ".join(n if of is None else f"{n} {of:,}" for n, of in [*counted.items()][:_NAMED])
    more = f" and {len(counted) - _NAMED:,} more" if len(counted) > _NAMED else ""
    verb = "Would count" if order.dry_run else "Counted"
    return f"{verb} the distinct values of {len(counted):,} columns: {named}{more}.{order.why}"
