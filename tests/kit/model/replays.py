"""Stand-ins for the jobs of Spark that a replay has: what it reads and writes, and how that differs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import frazil.landing.replay.outcome as outcome
import frazil.landing.replay.plan as plan
import frazil.landing.replay.run as run
from frazil.tables.faults import spark_job
from frazil.tables.manifests import added_files
from kit.model.spark import is_within
from kit.model.standins import StandIns

__all__ = ["Replays"]


class Replays(StandIns):
    """Those of a replay."""

    def each(self) -> Iterator[tuple[Any, str, Any]]:
        """See `StandIns.each`."""
        yield plan, "topic_fact", self._edges.topic_fact
        yield run, "decoder_for", self._edges.decoder_for
        yield run, "write_branch", self._edges.write_branch
        yield run, "find_bad", self._edges.find_bad
        yield outcome, "differences", self.differences

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
