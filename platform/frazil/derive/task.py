"""What a kind of derived table is handed, and what it hands back: the one seam between run and kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from frazil.connections import Connections
from frazil.derive.ledger import DerivedLedger
from frazil.derive.queries.query import Query
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import TableName
from frazil.tables.stage import StagedFiles

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyspark.sql import DataFrame


__all__ = ["Kind", "Result", "Step", "Task"]

Step = Callable[[str], None]
"""Told the name of each step that is done: planned, branched, written, kept, published."""


@dataclass(frozen=True)
class Task:
    """One derivation, as far as a kind must know it.

    Args:
        connections: The outside systems.
        spec: The table's spec.
        name: The table.
        table: The table as loaded: what is merged is of its head.
        query: The query; None where a Python function makes the rows.
        before: Its newest ledger; None at the first run, and where all is made anew.
        delta: The query upon what is new in the inputs, or upon the whole of them where `before` is None.
            Rows that the query calls bad are not in it.
        branch: A name for a branch of the output, made by the kind and dropped by the run.
        done: To be told: branched, written.
    """

    connections: Connections
    spec: DerivedSpec
    name: TableName
    table: Table
    query: Query | None
    before: DerivedLedger | None
    delta: DataFrame
    branch: str
    done: Step = lambda _: None


@dataclass(frozen=True)
class Result:
    """What a kind made of it; nothing of it is visible.

    Args:
        staged: Data files of the branch, which join `main`. Where `task.before` is None, they take the place
            of all that is there.
        removed: Files of `main` in whose place they are: path to rows. Where one is gone from the head
            meanwhile, the kind is asked again.
        late: Rows of windows that were closed.
        watermark: The new one.
        state_bytes: Bytes of the files in `removed`.
    """

    staged: StagedFiles
    removed: Mapping[str, int] = field(default_factory=dict)
    late: int = 0
    watermark: int | None = None
    state_bytes: int = 0

    @property
    def rows(self) -> int:
        """Of the new files."""
        return self.staged.rows


class Kind(Protocol):
    """One way in which a table's rows follow from those of its inputs."""

    def shape(self, spec: DerivedSpec, delta: DataFrame) -> DataFrame:
        """What the table holds where `delta` is upon all that there ever was; tells its columns, too."""
        ...

    def write(self, task: Task) -> Result:
        """Writes what is new upon a branch (`frazil.derive.write`), merged with what is there, or all anew.

        Raises:
            CommitConflictError: Another commit came in between; the kind is asked again on the new head.
        """
        ...

    def letters(self, task: Task) -> DataFrame | None:
        """Rows of the delta that are late and kept apart, as strings `reason` and `row`; None: never any."""
        ...
