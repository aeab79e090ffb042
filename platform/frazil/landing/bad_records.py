"""The second pass, only where the first one counted bad records: which they are, why, and their table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from frazil.catalogs.iceberg import load_table_or_none
from frazil.errors import RepairError, SuspendedError
from frazil.landing.decoders.protocol import KEY, VALUE
from frazil.landing.decoders.record import BAD, RecordDecoder
from frazil.landing.faults import spark_errors
from frazil.landing.plan import Plan
from frazil.landing.position import Ledger, read_ledger
from frazil.landing.publish import Staged, publish
from frazil.landing.tables import create_table
from frazil.naming import TableName
from frazil.schemas.logical import Field, Map, Primitive

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyspark.sql import DataFrame

__all__ = [
    "BadRecord",
    "dead_letter_table",
    "find_bad",
    "first_bad",
    "keep_dead_letters",
    "suspended",
]

MOST = 100_000
"""Bad records of one landing beyond which a person should look, whatever the spec says."""

_COLUMNS = ("partition", "offset", "timestamp", "headers", "raw_key", "raw_value")
_HEADERS = Map(Primitive("string"), Primitive("binary"), value_optional=True)
_FIELDS = (
    Field("topic", Primitive("string")),
    Field("partition", Primitive("int")),
    Field("offset", Primitive("long")),
    Field("timestamp", Primitive("timestamptz"), optional=True),
    Field("headers", _HEADERS, optional=True),
    Field("raw_key", Primitive("binary"), optional=True),
    Field("raw_value", Primitive("binary"), optional=True),
    Field("schema_id", Primitive("int"), optional=True, doc="As the record claims."),
    Field("reason_code", Primitive("string")),
    Field("reason", Primitive("string")),
)


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A record that can't be decoded, and why."""

    partition: int
    offset: int
    reason_code: str
    reason: str
    record: Mapping[str, Any]


def dead_letter_table(name: TableName) -> TableName:
    """Where bad records of a table go."""
    return TableName(name.namespace, f"{name.table}__dead_letters")


def find_bad(records: DataFrame, decoder: RecordDecoder, plan: Plan, expected: int) -> list[BadRecord]:
    """Reads the planned records again and explains the bad ones, by partition and offset.

    Raises:
        RepairError: There are more than `MOST`: a schema or a producer is wrong, not a record.
    """
    if expected > MOST:
        raise RepairError(
            f"{expected} of {plan.offsets} records of topic {plan.topic} can't be decoded.",
            where=f"within {dict(plan.busy)}",
            meaning="Nothing of this landing is visible.",
            todo="Look at what the producers write; so many are no accident.",
        )
    with spark_errors(plan):
        rows = decoder.decode(records).where(BAD).selectExpr(
            "partition", "offset", "timestamp", "map_from_entries(headers) AS headers",
            "raw_key", "raw_value", f"{KEY.ok} AS key_ok", f"{VALUE.ok} AS value_ok",
        ).toArrow().to_pylist()  # fmt: skip
    found = [_explained(decoder, r) for r in rows]
    return sorted(found, key=lambda r: (r.partition, r.offset))


def _explained(decoder: RecordDecoder, row: dict[str, Any]) -> BadRecord:
    reason = decoder.explain(row["raw_key"], row["raw_value"], row["key_ok"], row["value_ok"])
    return BadRecord(row["partition"], row["offset"], *reason, row)


def first_bad(records: Sequence[BadRecord]) -> dict[int, BadRecord]:
    """Of each partition the first one."""
    return {r.partition: r for r in reversed(records)}


def suspended(name: TableName, topic: str, first: Mapping[int, BadRecord]) -> SuspendedError:
    """The error that stops the table before its first bad records."""
    where = "; ".join(f"partition {p}, offset {r.offset}: {r.reason}" for p, r in sorted(first.items()))
    return SuspendedError(
        f"Table {name} is suspended: a record can't be decoded.",
        where=f"topic {topic}, {where}",
        meaning="All records before it are landed; none after it in that partition.",
        todo="Mend the producer or the schema; or set on_bad_record to dead_letter or skip, and land.",
    )


def keep_dead_letters(catalog: Catalog, name: TableName, ledger: Ledger, bad: Sequence[BadRecord]) -> None:
    """Writes bad records to the dead-letter table, under its own position.

    That position may be ahead of the main table's where an earlier landing died in between: what
    lies behind it was kept then, and is not written again.

    Args:
        catalog: The catalog of both tables.
        name: The topic's table.
        ledger: What the main table's snapshot will say.
        bad: The bad records of the plan.

    Raises:
        OvertakenError: Another landing keeps the same records.
    """
    own = dead_letter_table(name)
    table = load_table_or_none(catalog, own) or create_table(
        catalog, own, _FIELDS, (("day", "timestamp"),), {"format-version": "2"}
    )
    before = read_ledger(table.metadata)
    kept = before.position if before else {}
    rows = [_row(ledger.topic, b) for b in bad if b.offset >= kept.get(b.partition, 0)]
    if rows:
        files = _data_files(catalog, own, rows)
        base = kept if before else None
        publish(catalog, own, Staged(files, _ahead(ledger, kept, len(rows)), base))


def _ahead(ledger: Ledger, kept: Mapping[int, int], rows: int) -> Ledger:
    spans = {p: (min(a, kept.get(p, a)), max(b, kept.get(p, b))) for p, (a, b) in ledger.spans.items()}
    return Ledger(
        topic=ledger.topic, topic_id=ledger.topic_id, spans=spans, start=ledger.start, records=rows,
        landing=ledger.landing, run_id=ledger.run_id, version=ledger.version,
    )  # fmt: skip


def _row(topic: str, bad: BadRecord) -> dict[str, Any]:
    value = bad.record["raw_value"]
    framed = value is not None and len(value) >= 5 and value[0] == 0
    return {
        "topic": topic,
        **{name: bad.record[name] for name in _COLUMNS},
        "schema_id": int.from_bytes(value[1:5], "big", signed=True) if framed else None,
        "reason_code": bad.reason_code,
        "reason": bad.reason,
    }


def _data_files(catalog: Catalog, name: TableName, rows: list[dict[str, Any]]) -> tuple[Any, ...]:
    import pyarrow as pa
    from pyiceberg.io.pyarrow import _dataframe_to_data_files

    table = catalog.load_table(name.identifier)
    frame = pa.Table.from_pylist(rows, schema=table.schema().as_arrow())
    return tuple(_dataframe_to_data_files(table.metadata, frame, table.io))
