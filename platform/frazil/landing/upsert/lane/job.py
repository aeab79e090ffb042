"""Upserts by the lane: which tables take it, and what its tasks are told."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from frazil.formats.record import RecordDecoder
from frazil.landing.faults import landing_job
from frazil.landing.lane.job import Lane
from frazil.landing.lane.parts import Part, RunPart
from frazil.landing.plan import Plan
from frazil.landing.position.ledger import GUESS, bytes_per_record
from frazil.landing.source import Reading
from frazil.landing.upsert.arrow import FULL
from frazil.landing.upsert.columns import rules_of
from frazil.landing.upsert.divisions import keeps_files_apart
from frazil.landing.upsert.lane.audit import merged
from frazil.landing.upsert.merge import Merged
from frazil.quoting import quoted
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.format_v3.fields import has_row_ids
from frazil.tables.metadata.manifests import Head, HeadReader
from frazil.tables.reading.delete_files import are_readable, deletes_by_file
from frazil.tables.spark.faults import files_there, spark_job
from frazil.tables.spark.session import in_tasks

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table

    from frazil.landing.upsert.lane.deal import Deal
    from frazil.landing.upsert.lane.merge import Merge
    from frazil.landing.upsert.lane.met import HeadFile
    from frazil.tables.writing.sorting import SortKey

_MOST_BYTES = 256 * 2**20
"""Of values in one landing: the tasks hold in memory what came to their partitions of the table."""

_MOST_WHOLE = 256 * 2**20
"""Of files of a table that is not divided by its key: one task looks through them for all changes."""

_MOST_FILES = 5000
"""Files of a head: all of them are told to each task."""

_MOVED = 0.25
"""Bytes of values that cost as much to land as a byte of a file costs to be written anew."""

_VECTORS_FROM = 4 * 2**20
"""Bytes of a file from which a vector, and one more file for each reader, cost less than to write it anew."""

_PLAIN = ("int", "long", "string")
"""Types whose values a partition is named by in tasks and in manifests alike."""


@dataclass(frozen=True, slots=True)
class UpsertLane:
    """A landing's way by Arrow into a table that has one row per key."""

    lane: Lane
    decoder: RecordDecoder

    def write(
        self, reading: Reading, spec: TableSpec, before: Table, plan: Plan, landing: str, run: RunPart
    ) -> Merged | None:
        """Writes the files of the head that hold changed keys anew; None where the table takes no such lane.

        `before` is the table that the lane was made for. A small landing's job is run by `run`.

        Raises:
            OffsetsLostError: Planned records are gone.
            CommitConflictError: Others committed meanwhile; the whole landing is tried again.
            AuditFailedError: What the tasks say does not add up.
            FrazilError: See `spark_job`.
        """
        table = TableHandle.of(before).load()
        with files_there(table):
            order = _order(spec, table)
            if order is None:
                return None
            head = self._head(reading, before, table, plan)
            if head is None:
                return None
            with spark_job(landing_job(plan)):
                steps = self._steps(reading, spec, table, head, plan, order)
                returned = _run(reading, *steps, (_size(plan, table), _moved(head)), run)
        return merged(returned, self.lane, table, head, plan, landing)

    def _head(self, reading: Reading, before: Table, table: Table, plan: Plan) -> Head | None:
        """The head, where tasks can merge changes into it."""
        size = _size(plan, table)
        same = table.schema() == before.schema() and table.spec() == before.spec()
        if size > _MOST_BYTES or not same:
            return None
        ids = [table.schema().find_field(name).field_id for name in self.decoder.row_key.columns]
        head = HeadReader(ids).read(table)
        if head is None or len(head.entries) > _MOST_FILES:
            return None
        files, deletes = ([e.data_file for e in of] for of in (head.entries.values(), head.deleting))
        is_small = sum(f.file_size_in_bytes for f in files) <= _MOST_WHOLE
        fits = are_readable([*files, *deletes]) and (is_small or self._is_divided(table, head))
        return head if fits else None

    def _is_divided(self, table: Table, head: Head) -> bool:
        """Whether a key says in which partition its row is, of all files."""
        from pyiceberg.transforms import BucketTransform, IdentityTransform, TruncateTransform

        schema, key, spec = table.schema(), self.decoder.row_key.columns, table.spec()
        kinds = {name: str(schema.find_type(name)) for name in key}
        named = {schema.find_column_name(f.source_id) or "": f.transform for f in spec.fields}
        fit = all(
            isinstance(how, BucketTransform)
            or (isinstance(how, IdentityTransform | TruncateTransform) and kinds.get(name) in _PLAIN)
            for name, how in named.items()
        )
        own = all(e.data_file.spec_id == spec.spec_id for e in head.entries.values())
        return bool(named) and named.keys() <= set(key) and fit and own

    def _steps(
        self, reading: Reading, spec: TableSpec, table: Table, head: Head, plan: Plan,
        order: tuple[SortKey, ...],
    ) -> tuple[Deal, Merge]:  # fmt: skip
        from frazil.landing.upsert.lane.deal import Deal, tasks_by_place
        from frazil.landing.upsert.lane.merge import Merge

        frazil, key = version("frazil"), self.decoder.row_key.columns
        rules = rules_of(spec, key, self._called(table), anew=plan.begins_anew)
        divided = self._is_divided(table, head)
        files = _by_place(table, head, key, divided)
        tasks = 2 * reading.settings.spark.parallelism
        known = tasks_by_place(files, tasks)
        target = int(spec.write.target_file_size)
        by_vectors = spec.deletes_by_vector and has_row_ids(table)
        merge = Merge(
            layout=self.lane.layout,
            rules=rules,
            files=files,
            apart=keeps_files_apart(spec, table),
            small=spec.upkeep.small_file * target,
            most=FULL * target,
            tasks=tasks,
            version=frazil,
            order=order,
            vectors=spec.upkeep.deleted_share if by_vectors else 0.0,
            vectors_from=min(spec.upkeep.small_file * target, _VECTORS_FROM),
        )
        task = self.lane.task(reading, spec, table)
        return Deal(task, rules.order, tasks, known, frazil, whole=not divided), merge

    def _called(self, table: Table) -> dict[str, str]:
        """What files call each column."""
        own = (f.name for f in table.schema().fields)
        return dict(zip(own, self.lane.layout.schema.names, strict=True))


def _size(plan: Plan, table: Table) -> float:
    """Bytes of values that are about planned."""
    return plan.offsets * (bytes_per_record(table.metadata) or GUESS)


def _moved(head: Head) -> float:
    """What it costs to write all files of a head anew, as bytes of values."""
    return _MOVED * sum(e.data_file.file_size_in_bytes for e in head.entries.values())


def _run(reading: Reading, deal: Deal, merge: Merge, bytes_: tuple[float, float], run: RunPart) -> pa.Table:
    """What tasks say; rows of `MERGED`, with the number of a small landing beside them.

    `bytes_`: of values, and what the files of the head cost beside them.
    """
    from frazil.landing.upsert.lane.one_task import Upserts

    part = Part(reading, Upserts.of(deal, merge), sum(bytes_), memory=bytes_[0])
    return run(part) if part.is_small else _shuffled(reading, deal, merge)


def _shuffled(reading: Reading, deal: Deal, merge: Merge) -> pa.Table:
    """By all cores, in two steps: a large landing, or one into a large table."""
    from frazil.landing.lane.parts import READ
    from frazil.landing.upsert.lane.deal import DEALT
    from frazil.landing.upsert.lane.merge import MERGED

    dealt = in_tasks(reading.records, READ, deal.run, DEALT).repartitionById(deal.tasks, "task")
    rows: pa.Table = in_tasks(dealt, {n: quoted(n) for n in DEALT.names}, merge.run, MERGED).toArrow()
    return rows


def _order(spec: TableSpec, table: Table) -> tuple[SortKey, ...] | None:
    """How rows that come are sorted; None where only Spark can sort so."""
    from frazil.tables.writing.sorting import sort_keys

    return sort_keys(table.schema(), spec.sort_terms) if spec.write.sorts else ()


def _by_place(table: Table, head: Head, key: Iterable[str], divided: bool) -> dict[str, tuple[HeadFile, ...]]:
    """The files of each partition, or all as of one, with the bounds of the key's columns."""
    from frazil.landing.upsert.lane.deal import place_of
    from frazil.landing.upsert.lane.met import HeadFile
    from frazil.tables.format_v3.row_ids import origins_of
    from frazil.tables.writing.transfer import old_file

    origins = origins_of(table, head.entries.values())
    by_place: dict[str, list[HeadFile]] = defaultdict(list)
    for file, deletes in deletes_by_file(table, head.entries.values()):
        fields = range(len(table.spec().fields)) if divided else ()
        place = place_of(file.partition[n] for n in fields)
        bounds = tuple(_bounds(table, file, name) for name in key)
        old = old_file(table, file, deletes, origins.get(file.file_path))
        by_place[place].append(HeadFile(old, bounds))
    return {place: tuple(of) for place, of in by_place.items()}


def _bounds(table: Table, file: DataFile, name: str) -> tuple[Any, Any] | None:
    """The least and the greatest value of a column, as Arrow takes them; None where nobody says it."""
    from pyiceberg.conversions import from_bytes
    from pyiceberg.types import PrimitiveType

    field = table.schema().find_field(name)
    low, high = ((of or {}).get(field.field_id) for of in (file.lower_bounds, file.upper_bounds))
    kind = field.field_type
    if low is None or high is None or not isinstance(kind, PrimitiveType) or str(kind) == "uuid":
        return None  # of a UUID: PyArrow says of no two which one is greater
    return from_bytes(kind, low), from_bytes(kind, high)
