"""Stand-ins for the jobs of Spark that a replay has: what it reads and writes, and how that differs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.errors import PySparkException

import frazil.landing.replay.outcome as outcome
import frazil.landing.replay.plan as plan
import frazil.landing.replay.run as run
from frazil.landing.replay.difference import Difference
from frazil.tables.spark.faults import spark_job
from kit.model.parts.spark import is_within
from kit.model.parts.standins import StandIns

__all__ = ["Replays"]


class Replays(StandIns):
    """Those of a replay."""

    def each(self) -> Iterator[tuple[Any, str, Any]]:
        """See `StandIns.each`."""
        yield plan, "topic_fact", self._edges.topic_fact
        yield run, "write_rows", self._edges.write_rows
        yield run, "find_bad", self._edges.find_bad
        yield outcome, "difference", self.difference

    def difference(
        self, _spark: Any, name: Any, present: Any, new: Any, sql: str, _names: Any, letters: Any, job: Any
    ) -> Difference:
        """Of offsets, as the engine asks: it knows no log."""
        with spark_job(job):
            self.world.stage.step()
            table = self.world.catalog.load_table(name.identifier)
            rows = self.world.store.rows(table, present.head)
            old = {(p, at) for _, p, at in rows if is_within((_, p, at), sql)}
            try:
                now = {(p, at) for f in new for _, p, at in self.world.store.rows_of(f.file_path)}
            except FileNotFoundError as e:
                raise PySparkException(f"NotFoundException: {e}") from e
        return Difference(len(old - now), len(now - old), frozenset(now & set(letters)))
