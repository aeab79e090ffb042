"""The last change of each key: Spark writes the rows that they leave upon a branch, and tells what they end.

Within a partition the offset says which change is the last one. Offsets of two partitions can't be compared:
there the record's timestamp decides, and where two are equal the greater partition.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from frazil.formats.columns import names_by_word
from frazil.formats.record import OK, RecordDecoder
from frazil.formats.types import from_iceberg, spark_type
from frazil.landing.faults import landing_job
from frazil.landing.plan import Plan
from frazil.landing.write import PLAN, Written, columns_sql, counters, written_by
from frazil.quoting import quoted
from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec
from frazil.tables.faults import spark_job
from frazil.tables.spark import Watched, append_rows, samples, spark_name

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyspark.sql import DataFrame, SparkSession

DELETED, PARTITION, OFFSET, TIMESTAMP = (
    f"$frazil_{word}" for word in ("deleted", "partition", "offset", "timestamp")
)
"""Columns of `Changes.heads`, beside those of the key."""

_PLACE = {"partition": PARTITION, "offset": OFFSET, "timestamp": TIMESTAMP}
_ROW = "$frazil_row"


@dataclass(frozen=True)
class Changes:
    """The last change of each key: rows upon a branch, and keys whose rows go."""

    spark: SparkSession
    spec: TableSpec
    name: TableName
    key: Mapping[str, str]  # the columns of the key, with Spark's types
    since: int  # the snapshot that the branch was made of
    tip: int  # the branch's snapshot
    put: int  # rows upon the branch
    ends: Sequence[str]  # those keys and where each record is, see `_end`

    @property
    def count(self) -> int:
        """How many keys changed."""
        return self.put + len(self.ends)

    @property
    def rows(self) -> DataFrame:
        """The rows upon the branch."""
        new = self.spark.read.option("start-snapshot-id", str(self.since))
        return new.option("end-snapshot-id", str(self.tip)).table(spark_name(self.name))

    @cached_property
    def heads(self) -> DataFrame:
        """The columns of the key, where the change is from, and whether it deletes."""
        names = names_by_word(self.spec)
        place = (f"{quoted(names[word])} AS {quoted(own)}" for word, own in _PLACE.items())
        puts = self.rows.selectExpr(*map(quoted, self.key), f"false AS {quoted(DELETED)}", *place)
        return puts.unionByName(self._ended) if self.ends else puts

    @property
    def _ended(self) -> DataFrame:
        import pyarrow as pa

        texts = self.spark.createDataFrame(pa.table({"text": pa.array(self.ends, pa.string())}))
        types = {**self.key, PARTITION: "int", OFFSET: "bigint", TIMESTAMP: "micros"}
        told = [
            f"{_read(f'parts[{n}]', kind)} AS {quoted(name)}" for n, (name, kind) in enumerate(types.items())
        ]
        parts = texts.selectExpr("from_json(text, 'array<string>') AS parts")
        return parts.selectExpr(*told, f"true AS {quoted(DELETED)}")


def write_changes(
    records: DataFrame, decoder: RecordDecoder, spec: TableSpec, name: TableName, table: Table, plan: Plan,
    branch: str,
) -> tuple[Written, int, tuple[str, ...]]:  # fmt: skip
    """Reads and decodes the planned records, and appends the rows that they leave to the branch.

    Returns:
        What went through, how many rows were left, and the keys whose last change deletes.

    Raises:
        OffsetsLostError: Planned records are gone.
        FrazilError: See `spark_job`.
    """
    job, writers, key = landing_job(plan, table, branch), decoder.value.writers, key_types(table, decoder)
    twice = samples(table)
    row = f"struct({', '.join(columns_sql(spec, table, decoder))}) AS {quoted(_ROW)}"
    # Else every task would leave a file in each bucket.
    dealt = {} if spec.write.sorts else {"distribution-mode": "hash"}
    with spark_job(job):
        decoded = Watched(decoder.decode(records), counters(writers, spec), job, twice=twice)
        of_key = decoded.rows.where(OK).selectExpr(*_PLACE, f"{decoder.deletes} AS {quoted(DELETED)}", row)
        ends = f"collect_list(CASE WHEN {quoted(DELETED)} THEN {_end(key)} END)"
        last = Watched(_last(of_key, key), {"keys": "count(1)", "ends": ends}, job, twice=twice)
        rows = last.rows.where(f"NOT {quoted(DELETED)}").selectExpr(f"{quoted(_ROW)}.*")
        append_rows(rows, name, branch, {PLAN: json.dumps(dict(plan.spans))}, options=dealt)
    found = tuple(last.measured["ends"])
    return written_by(branch, writers, decoded.measured), last.measured["keys"] - len(found), found


def key_types(table: Table, decoder: RecordDecoder) -> dict[str, str]:
    """The columns of the key, with Spark's types."""
    types = {f.name: spark_type(f.type) for f in from_iceberg(table.schema())}
    return {name: types[name] for name in decoder.row_key.columns}


def _last(rows: DataFrame, key: Mapping[str, str]) -> DataFrame:
    """The last change of each key. Both windows go by the key, so that rows are shuffled once."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    named = rows.selectExpr(
        *(f"{quoted(_ROW)}.{quoted(name)} AS {quoted(name)}" for name in key),
        *(f"{word} AS {quoted(own)}" for word, own in _PLACE.items()),
        quoted(DELETED),
        quoted(_ROW),
    )
    of_key = Window.partitionBy(*map(quoted, key))
    by_offset = of_key.orderBy(quoted(PARTITION), F.desc(quoted(OFFSET)))
    by_time = of_key.orderBy(F.desc(quoted(TIMESTAMP)), F.desc(quoted(PARTITION)))
    newer = F.lag(quoted(PARTITION)).over(by_offset)
    of_partition = named.withColumn(_NEWER, newer).where(f"NOT {quoted(_NEWER)} <=> {quoted(PARTITION)}")
    ranked = of_partition.withColumn(_RANK, F.row_number().over(by_time))
    return ranked.where(f"{quoted(_RANK)} = 1").drop(_NEWER, _RANK)


_NEWER, _RANK = "$frazil_newer", "$frazil_rank"


def _end(key: Mapping[str, str]) -> str:
    """A key, and where the record is that ends its row, as text: SQL that `_read` is the opposite of."""
    parts = [*map(_text, key, key.values()), f"string({quoted(PARTITION)})", f"string({quoted(OFFSET)})"]
    return f"to_json(array({', '.join(parts)}, string(unix_micros({quoted(TIMESTAMP)}))))"


def _text(name: str, kind: str) -> str:
    return f"hex({quoted(name)})" if kind == "binary" else f"CAST({quoted(name)} AS string)"


def _read(text: str, kind: str) -> str:
    if kind == "micros":
        return f"timestamp_micros(CAST({text} AS bigint))"
    return f"unhex({text})" if kind == "binary" else f"CAST({text} AS {kind})"
