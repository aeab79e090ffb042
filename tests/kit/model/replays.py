"""Stand-ins for the jobs of Spark that a replay has: rows of some offsets, by file and compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyiceberg.table import Table

import frazil.landing.replay.outcome as outcome
import frazil.landing.replay.plan as plan
import frazil.landing.replay.run as run
import frazil.tables.remainder as remainder
from frazil.tables.faults import spark_job
from frazil.tables.manifests import added_files
from kit.model.spark import is_within

if TYPE_CHECKING:
    from kit.model.edges import Edges
    from kit.model.world import World

__all__ = ["Replays"]


class Replays:
    """Of the round that is played."""

    def __init__(self, edges: Edges) -> None:
        self._edges = edges

    @property
    def world(self) -> World:
        """Of the present round."""
        assert self._edges.world
        return self._edges.world

    def stand_ins(self) -> Iterator[tuple[Any, str, Any]]:
        """Each with the module and the name whose place it takes."""
        yield plan, "topic_fact", self._edges.topic_fact
        yield run, "decoder_for", self._edges.decoder_for
        yield run, "write_branch", self._edges.write_branch
        yield run, "find_bad", self._edges.find_bad
        yield remainder, "rows_by_file", self.rows_by_file
        yield outcome, "differences", self.differences

    def rows_by_file(self, _spark: Any, name: Any, table: Table, sql: str, job: Any) -> dict[str, int]:
        """By the files that hold them, without rows that were deleted."""
        with spark_job(job):
            self.world.stage.step()
            head = table.metadata.current_snapshot_id
            alive = {*map(tuple, self.world.store.rows(table, head))}
            found: Counter[str] = Counter()
            for manifest in self.world.store.manifests(table, table.current_snapshot()):
                for file in (f for f in self.world.store.named(manifest) if not f.deletes):
                    rows = map(tuple, self.world.store.rows_of(file.path))
                    found[file.path] += sum(row in alive and is_within(row, sql) for row in rows)
        return dict(+found)

    def differences(
        self, _spark: Any, name: Any, head: int, new: Any, sql: str, _names: Any, job: Any
    ) -> tuple[int, int]:
        """Of offsets, as the engine asks: it knows no log."""
        with spark_job(job):
            self.world.stage.step()
            table = self.world.catalog.load_table(name.identifier)
            old = {(p, at) for _, p, at in self.world.store.rows(table, head) if is_within((_, p, at), sql)}
            tip = table.metadata.snapshot_by_id(new[1])
            files = added_files(table, tip) if tip else ()
            now = {(p, at) for f in files for _, p, at in self.world.store.rows_of(f.file_path)}
        return len(old - now), len(now - old)
