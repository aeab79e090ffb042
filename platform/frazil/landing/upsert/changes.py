"""The newest change of each key: the rows that they leave are written to files, and the others are told."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from frazil.formats.columns.columns import deleted_name, names_by_word
from frazil.formats.protocol import VALUE
from frazil.formats.record import OK, RecordDecoder
from frazil.formats.types import from_iceberg, spark_type
from frazil.landing.decoding import with_decoded
from frazil.landing.faults import landing_job
from frazil.landing.plan import Plan
from frazil.landing.upsert.columns import mark_types, place_types, places, rules_of
from frazil.landing.upsert.shuffled import emptied, emptied_count, newest_changes
from frazil.landing.upsert.truncates.observed import TRUNCATE_TEXTS, with_truncate_texts
from frazil.landing.upsert.truncates.truncate import Truncate, last_truncates, read_truncates
from frazil.landing.upsert.words import BARE, DELETED, LSN, TOMBSTONE
from frazil.landing.write import Written, columns_sql, counters, insert_arranged, written_by
from frazil.quoting import quoted
from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import name_of
from frazil.tables.commits.stage import StagedFiles
from frazil.tables.format_v3.fields import NAMES, has_row_ids
from frazil.tables.reading.frame import files_frame
from frazil.tables.spark.faults import Job, spark_job
from frazil.tables.spark.session import Watched, aggregated, samples

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table
    from pyspark.sql import DataFrame, SparkSession

    from frazil.landing.upsert.lane.rules import Rules


@dataclass(frozen=True)
class Changes:
    """The last change of each key: rows in new files, and deletes of rows that may be in the table."""

    spark: SparkSession
    table: Table  # as the files were written
    spec: TableSpec
    key: Mapping[str, str]  # the columns of the key, with Spark's types
    marks: Mapping[str, str]  # those that a delete fills anew where rows stay, see `mark_types`
    files: tuple[DataFile, ...]  # that no snapshot names
    put: int  # rows of them
    ends: Sequence[str]  # those keys and where each record is, see `_end`
    truncates: tuple[Truncate, ...] = ()

    @property
    def name(self) -> TableName:
        """The table's name."""
        return name_of(self.table)

    @property
    def count(self) -> int:
        """How many keys changed."""
        return self.put + len(self.ends)

    @cached_property
    def emptied(self) -> int:
        """How many new rows are older than a truncate."""
        if not self.truncates:
            return 0
        job = Job("landing", str(self.name), "Nothing of it is visible.", "Land again.")
        numbers = emptied_count(self._all, self.rules())
        return int(aggregated(numbers, {"gone": "coalesce(sum(gone), 0)"}, job)["gone"])

    def rules(self, *, anew: bool = False) -> Rules:
        """The rules of these changes; `anew`: offsets may have begun anew."""
        rules = rules_in_frames(self.spec, self.table, self.key, anew=anew)
        return replace(rules, truncates=self.truncates)

    @property
    def added(self) -> int:
        """How many rows there are."""
        return self.put - (0 if self.marks else self.emptied)

    @property
    def rows(self) -> DataFrame:
        """The new rows that no truncate ends; where rows stay, all of them."""
        return emptied(self._all, self.rules())

    @property
    def _all(self) -> DataFrame:
        return files_frame(self.spark, self.table, self.files)

    @cached_property
    def heads(self) -> DataFrame:
        """The columns of the key, where the change is from, whether it deletes, and whether it is bare."""
        names = names_by_word(self.spec)
        place = (f"{quoted(names[word])} AS {quoted(own)}" for word, own in places(self.spec).items())
        flags = (
            f"{_is_deleted(self.spec)} AS {quoted(DELETED)}",
            *(f"false AS {quoted(c)}" for c in (BARE, TOMBSTONE)),
        )
        puts = self.rows.selectExpr(*map(quoted, self.key), *flags, *place)
        if not self.ends:
            return puts
        bare = self.bare.drop(*self.marks).selectExpr("*", *(f"true AS {quoted(c)}" for c in (DELETED, BARE)))
        return puts.unionByName(bare)

    @property
    def bare(self) -> DataFrame:
        """The deletes that left no row: their keys, where they are from, and their marks."""
        import pyarrow as pa

        types = _end_types(self.spec, self.key, self.marks)
        ends = [json.loads(text) for text in self.ends]
        columns = {
            f"p{n}": _part_array([end[n] for end in ends], kind) for n, kind in enumerate(types.values())
        }
        exprs = [f"{_read(f'p{n}', kind)} AS {quoted(name)}" for n, (name, kind) in enumerate(types.items())]
        return self.spark.createDataFrame(pa.table(columns)).selectExpr(*exprs)


def write_changes(
    records: DataFrame, decoder: RecordDecoder, spec: TableSpec, table: Table, plan: Plan, landing: str
) -> tuple[Written, int, tuple[str, ...], tuple[Truncate, ...]]:
    """Reads and decodes the planned records, and writes the rows that they leave to files.

    Returns:
        What went through, how many rows were left, the deletes that leave none, see `_end`, and truncates.

    Raises:
        OffsetsLostError: Planned records are gone.
        FrazilError: See `spark_job`.
    """
    from pyspark.sql import functions as F

    job, writers, key = landing_job(plan), decoder.value.writers, key_types(table, decoder)
    twice, marks = samples(table), mark_types(spec, table)
    row = columns_sql(spec, table, decoder)
    deletes = f"{decoder.deletes} AS {quoted(DELETED)}", f"{VALUE.raw} IS NULL AS {quoted(TOMBSTONE)}"
    measures = counters(writers, spec) | ({"truncates": TRUNCATE_TEXTS} if decoder.envelope else {})
    with spark_job(job):
        decoded_rows = with_decoded(records, decoder)
        decoded_rows = with_truncate_texts(decoded_rows, decoder) if decoder.envelope else decoded_rows
        decoded = Watched(decoded_rows, measures, job, twice=twice)
        of_row = decoded.rows.where(f"{OK} AND NOT {decoder.truncates}")
        rules = rules_in_frames(spec, table, key)
        heads = newest_changes(of_row.selectExpr(*row, *deletes), rules)
        heads = heads.withColumn(
            _END, F.expr(f"CASE WHEN {quoted(DELETED)} THEN {_end(spec, key, marks)} END")
        )
        counted = {"keys": "count(1)", "ends": f"collect_list({quoted(_END)})"}
        last = Watched(heads, counted, job, twice=twice)
        columns = (quoted(f.name) for f in table.schema().fields)
        rows = last.rows.where(f"NOT {quoted(DELETED)}").selectExpr(*columns)
        files = insert_dealt(rows, spec, table, landing)
    ends, counts = tuple(last.measured["ends"]), decoded.measured
    truncates = last_truncates(read_truncates(counts.get("truncates") or ()))
    written = replace(written_by(landing, writers, counts), files=files)
    return written, last.measured["keys"] - len(ends), ends, truncates


def insert_dealt(rows: DataFrame, spec: TableSpec, table: Table, landing: str) -> StagedFiles:
    """Writes rows to files, dealt out: else every task would leave a file in each bucket."""
    return insert_arranged(with_no_ids(rows, table), spec, table, landing, "" if spec.write.sorts else "hash")


def with_no_ids(rows: DataFrame, table: Table) -> DataFrame:
    """New rows, with the columns of ids that rows have which move, where those of the table have ids."""
    names = NAMES.values() if has_row_ids(table) else ()
    return rows.selectExpr("*", *(f"CAST(NULL AS bigint) AS {quoted(name)}" for name in names))


def key_types(table: Table, decoder: RecordDecoder) -> dict[str, str]:
    """The columns of the key, with Spark's types."""
    types = {f.name: spark_type(f.type) for f in from_iceberg(table.schema())}
    return {name: types[name] for name in decoder.row_key.columns}


def rules_in_frames(spec: TableSpec, table: Table, key: Iterable[str], *, anew: bool = False) -> Rules:
    """The rules of changes in frames, which have the table's names."""
    return rules_of(spec, key, {f.name: f.name for f in table.schema().fields}, anew=anew)


def _is_deleted(spec: TableSpec) -> str:
    """Whether a row of the table is deleted, as SQL."""
    name = deleted_name(spec)
    return f"coalesce({quoted(name)}, false)" if name else "false"


_END = "$frazil_end"


def _end_types(spec: TableSpec, key: Mapping[str, str], marks: Mapping[str, str]) -> dict[str, str]:
    """What is told of a delete that leaves no row, with Spark's types."""
    return {**key, **place_types(spec), TOMBSTONE: "boolean", **marks}


def _end(spec: TableSpec, key: Mapping[str, str], marks: Mapping[str, str]) -> str:
    """The same as text: SQL that `_read` is the opposite of."""
    names, types = names_by_word(spec), _end_types(spec, key, marks)
    columns = {own: LSN if own == LSN else names[word] for word, own in places(spec).items()}
    parts = (_text(quoted(columns.get(c, c)), kind) for c, kind in types.items())
    return f"to_json(array({', '.join(parts)}))"


def _text(value: str, kind: str) -> str:
    match kind.partition("<")[0]:
        case "binary":
            return f"hex({value})"
        case "timestamp":
            return f"string(unix_micros({value}))"
        case "map":
            return f"to_json({value})"
    return f"CAST({value} AS string)"


def _read(text: str, kind: str) -> str:
    match kind.partition("<")[0]:
        case "binary":
            return f"unhex({text})"
        case "timestamp":
            return f"timestamp_micros(CAST({text} AS bigint))"
        case "map":
            return text
    return f"CAST({text} AS {kind})"


def _part_array(texts: Sequence[str | None], kind: str) -> pa.Array:
    """One part of each text: a text that `_read` takes, or headers."""
    import pyarrow as pa

    if not kind.startswith("map"):
        return pa.array(texts, pa.string())
    headers = [None if text is None else _headers(text) for text in texts]
    return pa.array(headers, pa.map_(pa.string(), pa.binary()))


def _headers(text: str) -> list[tuple[str, bytes | None]]:
    """Headers as Spark writes them as JSON: values in base64."""
    document: dict[str, str | None] = json.loads(text)
    return [(name, None if value is None else b64decode(value)) for name, value in document.items()]
