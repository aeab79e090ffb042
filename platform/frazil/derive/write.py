"""What a kind of derived table is handed, what it hands back, and how it writes.

Spark's tasks write rows to files that no snapshot names; they are counted on their way, and so are the values
of plain columns, and audited.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.derive.output import cast, stored_types, types_of
from frazil.derive.positions.ledger import DerivedLedger
from frazil.derive.queries.query import Query
from frazil.errors import (
    CommitConflictError,
    FrazilError,
    OvertakenError,
    RepairError,
    SpecError,
)
from frazil.formats.checks.batch import ArrowChecks
from frazil.formats.logical import List, Map, Struct
from frazil.formats.types import from_iceberg
from frazil.quoting import quoted
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import TableName
from frazil.spec.table import Write
from frazil.spec.upkeep import Upkeep
from frazil.tables.box import Box
from frazil.tables.catalogs.handle import name_of
from frazil.tables.commits.stage import StagedFiles, audit_failed, audit_rows
from frazil.tables.commits.works import started_at
from frazil.tables.format_v3.fields import ROW_ID_COLUMN
from frazil.tables.metadata.manifests import Candidates, files_matching
from frazil.tables.reading.frame import live_frame
from frazil.tables.spark.arrangement import arranged
from frazil.tables.spark.faults import Job, cause_line, files_there, spark_job
from frazil.tables.spark.session import Watched, samples
from frazil.tables.writing.presence import differing, values_in_manifests
from frazil.tables.writing.workers import latest_commit

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame


Step = Callable[[str], None]
"""Told the name of each step that is done: planned, written, kept, published."""


@dataclass(frozen=True)
class Changed:
    """What it takes to fix a table where rows of its inputs changed, or went."""

    went: DataFrame  # the query over those rows as they were
    current: DataFrame  # the query over all that the inputs hold now


@dataclass(frozen=True)
class Task:
    """One derivation, as far as a kind must know it."""

    connections: Connections
    spec: DerivedSpec
    table: Table  # the table as loaded; new rows are merged with those of its head
    query: Query | None  # None where a Python function makes the rows
    before: DerivedLedger | None  # the newest ledger; None at the first run, and where all is made anew
    # The query over what is new in the inputs, or over the whole of them if `before` is None. Rows that
    # the query calls bad are not in it.
    delta: DataFrame
    work: str  # the name of the derivation, which tells when it began
    now: float  # the clock of the run, in seconds since the epoch
    checks: ArrowChecks | None = None  # what must hold of the rows that are written
    changed: Changed | None = None  # None where all that is new in the inputs came beside what was there
    done: Step = lambda _: None  # told written

    @property
    def name(self) -> TableName:
        """The table's name."""
        return name_of(self.table)


@dataclass(frozen=True)
class Result:
    """What a kind wrote; nothing of it is visible."""

    # New data files. Where `task.before` is None, they replace all that is there.
    staged: StagedFiles
    # Files of `main` that they replace: path to rows. Where the head has lost one meanwhile, the kind is
    # asked again.
    removed: Mapping[str, int] = field(default_factory=dict)
    late: int = 0  # rows of windows that were closed
    ahead: int = 0  # rows of windows that begin too far ahead of the clock
    watermark: int | None = None
    state_bytes: int = 0  # bytes of the files in `removed`

    @property
    def rows(self) -> int:
        """Rows of the new files."""
        return self.staged.rows


class Kind(ABC):
    """One way in which a table's rows follow from those of its inputs; by default the query's own rows."""

    def shape(self, spec: DerivedSpec, delta: DataFrame) -> DataFrame:
        """What the table holds if `delta` covers all rows that ever were; names its columns, too."""
        return delta

    @abstractmethod
    def write(self, task: Task) -> Result:
        """Writes what is new, merged with what is there, or all anew.

        Raises:
            CommitConflictError: Another commit came in between; the kind is asked again on the new head.
        """

    def letters(self, task: Task) -> DataFrame | None:
        """Rows of the delta that are kept apart, as strings `reason` and `row`; None: never any."""
        return None


_ROW = ("21", "22", "23", "38", "39", "54", "P0")
"""Classes of SQL states that blame a value: wrong, too big, raised by the query or by a function of it."""

_OURS = "frazil/tables/writing/insertion.py"
"""In the trace of a task that could not write rows: no function of the query is to blame."""

_UNSEEN = "Nothing of this derivation is visible; the next one starts at the same position."
_EXPIRED = (
    "iceberg.exceptions.NotFoundException",
    "NoSuchKey",
    "Cannot find snapshot",
    "is not a parent ancestor",
)


def derivation_job(name: TableName) -> Job:
    """A job that makes rows."""
    return Job(
        work="derivation",
        of=str(name),
        unseen=_UNSEEN,
        again="Derive again.",
        known=partial(_expired, name),
        otherwise=partial(_by_the_query, name),
    )


def forgotten_meanwhile(name: TableName) -> OvertakenError:
    """The error of a derivation that read what was to be forgotten, or may have."""
    return OvertakenError(
        f"Rows were forgotten while {name} was derived; this derivation was dropped.",
        meaning="It may hold what was made of them; nothing of it is visible.",
        todo=f"`frazil derive {name}` again, as before.",
    )


def overtaken(name: TableName) -> OvertakenError:
    """Another derivation published meanwhile."""
    return OvertakenError(
        f"Another derivation of {name} was quicker; this one was dropped.",
        meaning="Every row of the inputs counts exactly once; nothing of this derivation is visible.",
        todo="Nothing. Derive again if rows wait.",
    )


def _expired(name: TableName, text: str) -> FrazilError | None:
    if not any(sign in text for sign in _EXPIRED):
        return None
    return CommitConflictError(
        f"A snapshot or a file that {name} is made of was removed while it was read.",
        where=cause_line(text),
        meaning=_UNSEEN,
        todo="Derive again: others expire or rewrite the inputs at the same time.",
    )


def _by_the_query(name: TableName, error: PySparkException) -> FrazilError | None:
    from pyspark.errors import AnalysisException, PythonException

    if isinstance(error, AnalysisException):
        return SpecError(
            f"The query of {name} does not fit its inputs.",
            where=cause_line(str(error)),
            meaning="Nothing was derived.",
            todo="Fix the query; `frazil describe TABLE` shows the columns of its inputs.",
        )
    if _OURS in str(error):
        return None
    if isinstance(error, PythonException) or (error.getSqlState() or "").startswith(_ROW):
        return RepairError(
            f"The query of {name} fails on a row of its inputs.",
            where=cause_line(str(error)),
            meaning=_UNSEEN,
            todo="Let the query say what such a row becomes: try_cast, try_divide, make_valid_utf8, or a "
            "column `$$error`.",
        )
    return None


_WRITTEN, _OF = "written", "values of "
"""What is counted of rows on their way: aliases."""


def insert(
    table: Table, rows: DataFrame, write: Write, upkeep: Upkeep, derivation: str,
    checks: ArrowChecks | None = None,
) -> StagedFiles:  # fmt: skip
    """Writes rows to files that no snapshot names, in the table's columns; `derivation` tells since when.

    Rows that have the columns of ids keep theirs; those without, and those that have null in it, are new.

    Args:
        checks: What tasks ask of the rows as they write them.

    Raises:
        FrazilError: See `spark_job`.
    """
    from frazil.derive.row_tally import RowWatch
    from frazil.tables.writing.insertion import insert_watched

    types = stored_types(table) if ROW_ID_COLUMN in rows.columns else types_of(table)
    fitting, watch = cast(rows, types), RowWatch(checks) if checks else None
    with spark_job(derivation_job(name_of(table))):
        ordered = arranged(fitting, table) if write.sorts else fitting
        files, reports = insert_watched(ordered, table, watch=watch)
    until = latest_commit(upkeep.orphans_after, started_at(derivation))
    return StagedFiles(files, until, reports)


def rows_within(task: Task, box: Box) -> tuple[Candidates, DataFrame]:
    """The files of the head that can hold a row within a box, and the rows that they hold, with their ids.

    Raises:
        CommitConflictError: The head expired meanwhile.
    """
    with files_there(task.table):
        there = files_matching(task.table, box.expression)
        return there, live_frame(task.connections.spark, task.table, there.entries, moves=True)


def write_counted(task: Task, rows: DataFrame) -> StagedFiles:
    """Writes rows to files, and counts them on the way.

    Raises:
        AuditFailedError: The files hold more rows or fewer, or other numbers of values.
        FrazilError: See `insert`.
    """
    spec, job = task.spec, derivation_job(task.name)
    watched = Watched(rows, _measures(task, rows), job, twice=samples(task.table))
    files = insert(task.table, watched.rows, spec.write, spec.upkeep, task.work, task.checks)
    return _audited(task, files, watched)


def _measures(task: Task, rows: DataFrame) -> dict[str, str]:
    """What is counted of rows: themselves, and the values of each column that has none within.

    A function's values are not: where rows are read twice, it may give others.
    """
    there = set(rows.columns) if task.query else set[str]()
    plain = (f.name for f in from_iceberg(task.table.schema()) if not isinstance(f.type, Struct | List | Map))
    return {_WRITTEN: "count(1)"} | {_OF + n: f"count({quoted(n)})" for n in plain if n in there}


def _audited(task: Task, files: StagedFiles, watched: Watched) -> StagedFiles:
    measured, work = watched.measured, f"A derivation of {task.name}"
    written = measured[_WRITTEN]
    audit_rows(files, written, work, f"{written} rows written", "Derive again.")
    made = {alias.removeprefix(_OF): number for alias, number in measured.items() if alias != _WRITTEN}
    stored = values_in_manifests(files.files, task.table.schema()).whole
    if lost := differing(made, stored, done="derived"):
        raise audit_failed(work, lost, "Derive again.")
    task.done("written")
    return files
