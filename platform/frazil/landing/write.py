"""The one pass over the records: decode, count, shuffle what is good, and write it to files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from frazil.formats.batches.matching import refuse_unmatched
from frazil.formats.columns.columns import metadata_columns
from frazil.formats.logical import List, Map, Struct, Type, alike
from frazil.formats.protocol import KEY, VALUE
from frazil.formats.record import BAD, CHECKED, OK, UNWANTED, RecordDecoder
from frazil.formats.types import from_iceberg, spark_type
from frazil.kafka.tally import MARK, PLACE, SHIFT, Tally
from frazil.landing.decoding import with_decoded
from frazil.landing.faults import landing_job
from frazil.landing.plan import Plan
from frazil.landing.position.ledger import Ledger
from frazil.landing.publication import Landed
from frazil.quoting import literal, quoted
from frazil.spec.topic import TableSpec
from frazil.tables.commits.stage import OLDER, StagedFiles
from frazil.tables.commits.works import started_at
from frazil.tables.keys import Key
from frazil.tables.spark.arrangement import arranged
from frazil.tables.spark.faults import spark_job
from frazil.tables.spark.session import Watched, samples
from frazil.tables.writing.presence import values_in_manifests
from frazil.tables.writing.workers import latest_commit

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyspark.sql import DataFrame

_OF = "values of "
"""Begins the aliases of counters of columns."""

_BITS = 62  # writers per counter: a Spark bigint has 63 bits to set


@dataclass(frozen=True)
class Written:
    """What went through the pass."""

    landing: str  # its name
    read: int
    bad: int
    skipped: int
    bytes: int
    schema_ids: tuple[int, ...]
    max_timestamp: int | None
    bad_at: tuple[Key, ...] = ()
    mark: int | None = None
    files: StagedFiles = field(default_factory=StagedFiles)
    bad_rows: tuple[Mapping[str, Any], ...] | None = None  # the bad records, where they are at hand
    values: Mapping[str, int] | None = None  # that the files must hold by what was decoded, by column
    values_held: Mapping[str, int] | None = None  # by the files' own statistics
    filtered: int = 0  # of those that were skipped, by the spec's `where`
    checks: tuple[str, ...] = ()  # what each task says of the spec's checks, see `CheckTally`
    older: tuple[int, ...] = ()  # timestamps, see `OLDER`

    @property
    def good(self) -> int:
        """Records that were decoded."""
        return self.read - self.bad - self.skipped

    @property
    def rows(self) -> int:
        """Rows that the new files must hold."""
        return self.good

    @property
    def changed(self) -> Mapping[str, Any]:
        """What the ledger says of rows that were changed, by field."""
        return {}

    def entry(self, plan: Plan, gaps: Mapping[int, int], dead: int, run_id: str) -> Ledger:
        """What the snapshot will say of the landing.

        Args:
            plan: What was planned.
            gaps: By partition, how many planned offsets hold no record.
            dead: Bad records that become dead letters.
            run_id: Of the run that lands.
        """
        start = dict(plan.ledger.start) if plan.ledger else {}
        return Ledger(
            topic=plan.topic,
            topic_id=plan.topic_id,
            spans=plan.spans,
            start={p: start.get(p, plan.lost.get(p, span)[0]) for p, span in plan.spans.items()},
            records=self.good,
            dead_letters=dead,
            skipped=self.bad + self.skipped - dead,
            filtered=self.filtered,
            gaps=gaps,
            lost={p: to - first for p, (first, to) in plan.lost.items()},
            leader_epochs=plan.epochs,
            earlier_logs=plan.ledger.earlier_logs if plan.ledger else (),
            bytes=self.bytes,
            schema_ids=self.schema_ids,
            max_timestamp=self.max_timestamp,
            landing=self.landing,
            run_id=run_id,
            version=version("frazil"),
            **self.changed,
        )

    def landed(self, entry: Ledger, base: Ledger | None) -> Landed:
        """The same as it is published, behind the ledger `base`."""
        return Landed(replace(self.files, older=self.older), entry, base)

    @property
    def tally(self) -> Tally:
        """How many records were read, and which."""
        return Tally.of_spark(self.read, self.mark)


def write_rows(
    records: DataFrame, decoder: RecordDecoder, spec: TableSpec, table: Table, plan: Plan, landing: str
) -> Written:
    """Writes the good records to files that no snapshot names, in the order that the spec asks for.

    Counting by `observe` is also what keeps Spark from decoding twice: a filter on the decoder's
    verdict would be pushed below it (reference/decode.md, section 1).

    Raises:
        OffsetsLostError: Planned records are gone.
        DifferentError: The table asks something of its files that no task can give them.
        FrazilError: See `spark_job`.
    """
    job, values = landing_job(plan, landing), _values(decoder)
    measures = counters(decoder.value.writers, spec) | {_OF + name: sql for name, sql in values.items()}
    with spark_job(job):
        decoded = Watched(with_decoded(records, decoder), measures, job, twice=samples(table))
        good = decoded.rows.where(OK).selectExpr(*columns_sql(spec, table, decoder))
        files = insert_arranged(good, spec, table, landing)
    counts = decoded.measured
    return replace(
        written_by(landing, decoder.value.writers, counts),
        files=files,
        values={name: counts[_OF + name] for name in values},
        values_held=values_in_manifests(files.files, table.schema()).whole,
    )


def insert_arranged(
    rows: DataFrame, spec: TableSpec, table: Table, landing: str, distribution: str = ""
) -> StagedFiles:
    """Writes rows to files, shuffled and sorted as the table says, or shuffled as it is said here."""
    from frazil.tables.writing.insertion import insert_rows

    is_arranged = spec.write.sorts or distribution
    files = insert_rows(arranged(rows, table, distribution) if is_arranged else rows, table)
    return StagedFiles(files, until=latest_commit(spec.upkeep.orphans_after, started_at(landing)))


def _values(decoder: RecordDecoder) -> dict[str, str]:
    """How many values each decoded column gets that has none within: SQL that may be observed."""
    known = {f.name: KEY for f in decoder.columns.key} | {f.name: VALUE for f in decoder.columns.value}
    return {
        f.name: f"count(CASE WHEN {OK} THEN {known[f.name].data}.{quoted(f.name)} END)"
        for f in decoder.columns.fields
        if f.name in known and f.name not in decoder.row_key.columns
        if not isinstance(f.type, Struct | List | Map)
    }


def columns_sql(spec: TableSpec, table: Table, decoder: RecordDecoder) -> list[str]:
    """One SQL expression per column of the table, by name, in its order and type.

    A column of an upsert table's key is filled by the record's key where that has it.
    """
    known = {c.name(spec.metadata_names): c.expression for c in metadata_columns(spec)}
    known |= {f.name: f"{KEY.data}.{quoted(f.name)}" for f in decoder.columns.key}
    known |= {f.name: f"{VALUE.data}.{quoted(f.name)}" for f in decoder.columns.value}
    known |= decoder.row_key.columns
    types, want = {f.name: f.type for f in decoder.columns.fields}, from_iceberg(table.schema())
    refuse_unmatched(Struct(decoder.columns.fields), want, ".".join(table.name()), known)
    expressions = []
    for own in want:
        source = known.get(own.name, "NULL")
        column = laid_out(source, types.get(own.name, own.type), own.type)
        expressions.append(f"{column} AS {quoted(own.name)}")
    return expressions


def counters(writers: Sequence[int], spec: TableSpec) -> dict[str, str]:
    """What is counted on the way, by alias."""
    groups = range(0, len(writers), _BITS)
    seen = f"shiftleft(1L, {VALUE.writer} % {_BITS})"
    expressions = {
        "read": "count(1)",
        "bad": f"count_if({BAD})",
        "skipped": f"count_if(NOT {OK} AND NOT {BAD})",
        "filtered": f"count_if({UNWANTED})",
        "bytes": "sum(octet_length(raw_value))",
        "max_timestamp": "unix_millis(max(timestamp))",
        **{f"older_{n}": f"percentile_approx(unix_millis(timestamp), {s})" for n, s in enumerate(OLDER)},
        "mark": MARK,
    }
    for g in groups:
        of_group = f"{VALUE.writer} div {_BITS} = {g // _BITS}"
        expressions[f"seen_{g}"] = f"bit_or(CASE WHEN {of_group} THEN {seen} END)"
    if spec.on_bad_record != "skip":
        # So that the second pass decodes the bad ones only. 16 bytes each, however many there are.
        expressions["bad_at"] = f"collect_list(CASE WHEN {BAD} THEN {PLACE} END)"
    if spec.checks:
        expressions["checks"] = f"collect_list({CHECKED})"
    return expressions


def written_by(landing: str, writers: Sequence[int], counts: dict[str, Any]) -> Written:
    """What `counters` counted."""
    seen = [
        schema_id
        for index, schema_id in enumerate(writers)
        if (counts[f"seen_{index - index % _BITS}"] or 0) >> (index % _BITS) & 1
    ]
    return Written(
        landing=landing,
        read=counts["read"],
        bad=counts["bad"],
        skipped=counts["skipped"],
        filtered=counts["filtered"],
        bytes=counts["bytes"] or 0,
        schema_ids=tuple(sorted(seen)),
        max_timestamp=counts["max_timestamp"],
        older=tuple(at for n in range(len(OLDER)) if (at := counts[f"older_{n}"]) is not None),
        mark=counts["mark"],
        checks=tuple(counts.get("checks") or ()),
        bad_at=tuple((place >> SHIFT, place & ((1 << SHIFT) - 1)) for place in counts.get("bad_at") or ()),
    )


def laid_out(source: str, have: Type, want: Type, depth: int = 0) -> str:
    """A SQL expression that gives the values of `source` in another type: by name, at every depth.

    Spark's CAST between structs goes by position and ignores names: after a schema put a field in the
    middle, values would land in their neighbours' columns.

    Args:
        source: A SQL expression.
        have: Its type.
        want: The table's: fields that the source lacks are null; it has none that the table lacks.
        depth: How many lambdas are around it.
    """
    if alike(have, want, lambda *_: True):
        return f"CAST({source} AS {spark_type(want)})"
    item = f"x{depth}"
    match have, want:
        case Struct(), Struct():
            parts = ", ".join(
                f"{literal(f.name)}, {_part(source, have, f.name, f.type, depth)}" for f in want
            )
            return f"CASE WHEN {source} IS NOT NULL THEN named_struct({parts}) END"
        case List(), List():
            return f"transform({source}, {item} -> {laid_out(item, have.element, want.element, depth + 1)})"
        case Map(), Map():
            value = laid_out(item, have.value, want.value, depth + 1)
            return f"transform_values({source}, (k{depth}, {item}) -> {value})"
    return f"CAST({source} AS {spark_type(want)})"


def _part(source: str, have: Struct, name: str, want: Type, depth: int) -> str:
    field = have.get(name)
    if field is None:
        return f"CAST(NULL AS {spark_type(want)})"
    return laid_out(f"{source}.{quoted(name)}", field.type, want, depth)
