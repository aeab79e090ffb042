"""Landings by the lane: what its tasks are told, and what they say they did."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from io import BytesIO
from operator import xor
from typing import TYPE_CHECKING, Any

from frazil.exact import values_of
from frazil.formats.batches.matching import refuse_unmatched
from frazil.formats.columns.columns import names_by_word
from frazil.formats.logical import Struct
from frazil.formats.record import RecordDecoder
from frazil.formats.record_batch import ArrowRecords
from frazil.formats.types import from_iceberg
from frazil.kafka.tally import SHIFT
from frazil.landing.faults import landing_job
from frazil.landing.lane.parts import Part, RunPart
from frazil.landing.plan import Plan
from frazil.landing.position.ledger import GUESS, bytes_per_record
from frazil.landing.source import Reading
from frazil.landing.write import Written
from frazil.spec.topic import TableSpec
from frazil.tables.commits.stage import OLDER, StagedFiles
from frazil.tables.commits.works import started_at
from frazil.tables.spark.faults import spark_job
from frazil.tables.writing.data_files import data_file, file_layout
from frazil.tables.writing.presence import total_of
from frazil.tables.writing.unwritable import refuse_unwritable
from frazil.tables.writing.workers import lifetime

if TYPE_CHECKING:
    from pyiceberg.table import Table

    from frazil.landing.lane.intake import Task
    from frazil.tables.writing.parquet import FileLayout, WrittenFile


@dataclass(frozen=True, slots=True)
class Lane:
    """A landing's way by Arrow: how its records are decoded, and how its files are written."""

    records: ArrowRecords
    layout: FileLayout
    writers: tuple[int, ...]
    lives: float  # seconds within which its files are published, or never

    def write(
        self, reading: Reading, spec: TableSpec, table: Table, plan: Plan, landing: str, run: RunPart
    ) -> Written:
        """Writes the good records to files that no snapshot names.

        Raises:
            OffsetsLostError: Planned records are gone.
            FrazilError: See `spark_job`.
        """
        from frazil.tables.writing.task import count_reads, took_of

        with spark_job(landing_job(plan)):
            returned = run(self._part(reading, spec, table, plan))
        count_reads(table.location(), returned)
        counts = [json.loads(report) for report in values_of(returned["report"])]
        files = (file for of_task in values_of(returned["files"]) for file in of_task)
        return self.written(counts, values_of(returned["bad"]), files, table, landing, took_of(returned))

    def _part(self, reading: Reading, spec: TableSpec, table: Table, plan: Plan) -> Part:
        from frazil.landing.lane.task import Appends

        size = plan.offsets * (bytes_per_record(table.metadata) or GUESS)
        return Part(reading, Appends(self.task(reading, spec, table)), size)

    def task(self, reading: Reading, spec: TableSpec, table: Table) -> Task:
        """What tasks are told of the records."""
        from frazil.landing.lane.intake import Task

        return Task(
            records=self.records,
            layout=self.layout,
            metadata=names_by_word(spec),
            topic=reading.topic,
            epochs=reading.epochs,
            keeps_bad=spec.on_bad_record != "skip",
        )

    def written(
        self,
        counts: Sequence[Mapping[str, Any]],
        bad: Sequence[Sequence[Mapping[str, Any]] | None],
        files: Iterable[Mapping[str, Any]],
        table: Table,
        landing: str,
        took: float | None,
    ) -> Written:
        """What all tasks say together.

        Args:
            counts: Of each task, see `Counts`.
            bad: The bad records of each task; None where they are too large.
            files: Each as `WrittenFile`.
            took: CPU seconds of the tasks.
        """
        from frazil.landing.lane.times import times_of
        from frazil.tables.writing.parquet import WrittenFile

        newest = max((c["max_timestamp"] for c in counts if c["max_timestamp"] is not None), default=None)
        places = [place for c in counts for place in c["bad_at"]]
        written = [WrittenFile(**file) for file in files]
        described = tuple(data_file(table, file) for file in written)
        return Written(
            landing=landing,
            **{n: sum(c[n] for c in counts) for n in ("read", "bad", "skipped", "filtered", "bytes")},
            schema_ids=tuple(sorted({self.writers[w] for c in counts for w in c["writers"]})),
            max_timestamp=newest,
            older=times_of(c["times"] for c in counts).not_exceeded(OLDER, newest),
            mark=reduce(xor, (c["mark"] for c in counts), 0),
            bad_at=tuple((place >> SHIFT, place & ((1 << SHIFT) - 1)) for place in places),
            files=StagedFiles(
                described,
                until=started_at(landing) + self.lives,
                took=took,
            ),
            values=total_of(c["values"] for c in counts),
            values_held=self.stored_counts(written),
            checks=tuple(c["checks"] for c in counts if "checks" in c),
            bad_rows=None if None in bad else tuple(row for of_task in bad for row in of_task or ()),
        )

    def stored_counts(self, files: Iterable[WrittenFile]) -> dict[str, int]:
        """How many values each column has in some files, by their own statistics."""
        import pyarrow.parquet as pq

        from frazil.tables.writing.conversion import table_name
        from frazil.tables.writing.presence import values_in_files

        called = {own.name: table_name(own) for own in self.layout.of_moved_rows.schema}
        counts = values_in_files(pq.read_metadata(BytesIO(file.footer)) for file in files)
        return {called[name]: number for name, number in counts.items()}


def lane_of(spec: TableSpec, decoder: RecordDecoder, table: Table) -> Lane:
    """How a landing's tasks decode records, and write files.

    Raises:
        DifferentError: The table asks something of its files that no task can give them.
        SchemaRefusedError: A column of the records has no place in the table.
    """
    refuse_unwritable(table)
    own, name = names_by_word(spec).values(), ".".join(table.name())
    refuse_unmatched(Struct(decoder.columns.fields), from_iceberg(table.schema()), name, own)
    lives = lifetime(spec.upkeep.orphans_after)
    return Lane(decoder.arrow(), file_layout(table), tuple(decoder.value.writers), lives)
