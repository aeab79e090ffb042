"""What landings ask of a Spark job, and the job that does it for one of them or for several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING

from frazil.formats.batches.oversize import TOO_LARGE
from frazil.landing.plan import MIN_SLICE
from frazil.landing.position.ledger import Span
from frazil.landing.source import Logs, Place, Reading, read_slices
from frazil.quoting import literal
from frazil.tables.spark.session import in_tasks

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from frazil.landing.lane.task import Work


SMALL_RECORDS, SMALL_BYTES = MIN_SLICE, 20 * 2**20
"""Beyond these a landing goes alone: it fills a task for so long that company would save a few percent."""

READ = {
    **{n: n for n in ("raw_key", "raw_value", "partition", "offset", "timestamp", "timestampType")},
    TOO_LARGE: TOO_LARGE,
    "header_keys": "coalesce(headers.key, array())",
    "header_values": "coalesce(headers.value, array())",
}
"""What crosses from the JVM to the tasks, with the landing's number. Headers become maps there, for Spark
takes longer for that than for a short record's value. Two lists cost less than one of pairs; and where there
are none, empty ones less than nulls: Spark asks at each record how many bytes a batch has by now, and Arrow
then looks at all nulls at the end of a column of lists once more."""


@dataclass(frozen=True)
class Part:
    """What one landing asks of a job.

    Args:
        bytes: Of values, about as many as it reads, and what its files cost beside them.
        memory: Of these, what waits in a task's memory for the last record.
    """

    reading: Reading
    work: Work
    bytes: float
    memory: float = 0.0

    @cached_property
    def is_small(self) -> bool:
        """Whether it may share a job; then one task reads all of it."""
        if self.reading.probed is not None:
            return False
        records = sum(to - start for start, to in self.reading.spans.values())
        return records <= SMALL_RECORDS and self.bytes <= SMALL_BYTES


RunPart = Callable[[Part], "pa.Table"]
"""Gives what tasks returned for a part; raises what Spark does."""


def run_together(parts: Sequence[Part], logs: Logs) -> list[pa.Table]:
    """Runs one Spark job for parts of different topics; gives the rows of `RETURNED` of each.

    `logs` are those that are read, and may have others, see `read_slices`.

    Raises:
        PySparkException: Whichever part was to blame.
    """
    import pyarrow.compute as pc

    from frazil.landing.lane.task import RETURNED, Tasks

    first = parts[0].reading
    records = first.records if len(parts) == 1 else _read(parts, logs)
    tasks = Tasks(tuple(part.work for part in parts), version("frazil"))
    columns = {**READ, "landing": _numbers([part.reading.topic for part in parts])}
    returned = in_tasks(records, columns, tasks.run, RETURNED).toArrow()
    return [returned.filter(pc.equal(returned["landing"], number)) for number in range(len(parts))]


def _read(parts: Sequence[Part], logs: Logs) -> DataFrame:
    first = parts[0].reading
    return read_slices(first.spark, first.settings, _slices(parts), logs)


def _slices(parts: Sequence[Part]) -> list[dict[Place, Span]]:
    """What each task reads: several landings are dealt out whole, so that each makes one file."""
    tasks = min(len(parts), parts[0].reading.settings.spark.parallelism)
    dealt: list[dict[Place, Span]] = [{} for _ in range(tasks)]
    for number, part in enumerate(parts):
        dealt[number % tasks] |= part.reading.places
    return dealt


def _numbers(topics: Sequence[str]) -> str:
    """The number of a record's landing, as SQL."""
    if len(topics) == 1:
        return "0"
    cases = (f"WHEN {literal(topic)} THEN {number}" for number, topic in enumerate(topics))
    return f"CASE topic {' '.join(cases)} END"
