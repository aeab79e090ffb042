"""A table that is made of the topic's, and stand-ins for the jobs of Spark that make its rows."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from functools import cache
from itertools import dropwhile, takewhile
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from pyiceberg.table.snapshots import Operation, Snapshot
from pyspark.errors import PySparkException

import frazil.derive.derive as deriving
from frazil.derive.positions.inputs import Increment
from frazil.derive.write import Result, Task, derivation_job
from frazil.formats.types import from_iceberg
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import TableName
from frazil.spec.upkeep import Upkeep
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.commits.stage import StagedFiles
from frazil.tables.commits.works import started_at
from frazil.tables.creation import create_table, load_with_head
from frazil.tables.metadata.manifests import added_files
from frazil.tables.metadata.snapshots import ancestors
from frazil.tables.spark.faults import spark_job
from kit.model.parts.spark import Rows, found_at
from kit.model.parts.standins import StandIns
from kit.model.works.rewrites import LANE_LIVES, TASK_STEPS
from kit.model.world import NAME

if TYPE_CHECKING:
    from pyiceberg.table import Table

__all__ = ["MADE", "Derivations", "made_spec"]

MADE = TableName("n", "made")


@cache
def made_spec() -> DerivedSpec:
    """Every row of the topic's table by itself, with the column that tells whom it is of."""
    file = Path(tempfile.mkdtemp()) / "made.sql"
    file.write_text(f"SELECT quantity FROM {NAME}")
    upkeep = Upkeep(min_snapshots=1, keep_snapshots_for=timedelta(0), orphans_after=timedelta(hours=12))
    return DerivedSpec(table=MADE.table, namespace=MADE.namespace, sql=file, publish=[], upkeep=upkeep)


class Derivations(StandIns):
    """Those of a derivation whose kind is rows."""

    def each(self) -> Iterator[tuple[Any, str, Any]]:
        """See `StandIns.each`."""
        kind = SimpleNamespace(shape=lambda _, rows: rows, write=self.write, letters=lambda _: None)
        of = deriving._Derivation
        yield deriving, "kind_of", lambda _: kind
        yield deriving, "samples", lambda _: False
        yield deriving, "bad_count", lambda _: {}
        yield deriving, "good_rows", lambda rows: rows
        yield deriving, "Watched", lambda rows, *_, **__: SimpleNamespace(rows=rows, measured={})
        yield deriving, "rows_read", lambda _, __, new: new.rows
        yield deriving, "refuse_loss", lambda *_: None
        yield of, "_rows", lambda own, plan, new: self.rows(plan.inputs, new)
        yield of, "_output", lambda own, plan, _: self.output(own._handle.catalog, plan.inputs[str(NAME)])

    @contextmanager
    def rows(self, inputs: Mapping[str, Table], new: Mapping[str, Increment]) -> Iterator[Rows]:
        """The rows of an increment: all of a snapshot, or those of the files that were added since."""
        table, increment = inputs[str(NAME)], new[str(NAME)]
        with spark_job(derivation_job(MADE)):
            if increment.since is None:
                yield Rows(row for _, row in found_at(self.world, table, increment.to.snapshot))
                return
            self.world.stage.step()
            try:
                files = [f.file_path for s in _appended(table, increment) for f in added_files(table, s)]
                yield Rows(row for path in files for row in self.world.store.rows_of(path))
            except FileNotFoundError as e:
                raise PySparkException(f"NotFoundException: {e}") from e

    def output(self, catalog: Any, source: Table) -> Table:
        """With the columns of the input."""
        fields = list(from_iceberg(source.schema()))
        return load_with_head(TableHandle(catalog, MADE)) or create_table(
            TableHandle(catalog, MADE), fields, (), {}
        )

    def write(self, task: Task) -> Result:
        """Files that no snapshot names, as tasks write them."""
        rows: Any = task.delta
        if not rows:
            return Result(StagedFiles())
        with spark_job(derivation_job(MADE)):
            file = self.world.write_rows(task.table, [*rows])
            for _ in range(TASK_STEPS):  # files take their time
                self.world.stage.step()
        task.done("written")
        return Result(StagedFiles((file,), until=started_at(task.work) + LANE_LIVES))


def _appended(table: Table, increment: Increment) -> Iterator[Snapshot]:
    """The snapshots behind a position that added rows, and changed none, up to the one that was planned."""
    line = dropwhile(lambda s: s.snapshot_id != increment.to.snapshot, ancestors(table.metadata))
    for snapshot in takewhile(lambda s: s.snapshot_id != increment.since, line):
        if snapshot.summary and snapshot.summary.operation is Operation.APPEND:
            yield snapshot
