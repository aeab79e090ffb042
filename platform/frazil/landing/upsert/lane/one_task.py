"""Both steps of an upsert in one task: of a small landing, beside others that share the Spark job.

Nothing is shuffled: the task that reads all changes of a landing also merges them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from frazil.landing.lane.task import RETURNED, Slice
from frazil.landing.upsert.lane.deal import Deal, Dealing
from frazil.landing.upsert.lane.merge import Merge
from frazil.tables.writing.task import rows_of


@dataclass(frozen=True, slots=True)
class Upserts:
    """A landing of changes by key, all of which one task reads."""

    deal: Deal
    merge: Merge

    @classmethod
    def of(cls, deal: Deal, merge: Merge) -> Upserts:
        """The same work as both steps do, by one task in each."""
        return cls(replace(deal, tasks=1, known={}), replace(merge, tasks=1))

    def begin(self) -> Slice:
        """See `Work`."""
        return _Upserted(self)


class _Upserted:
    """See `Slice`. Changes wait for the last record: each merge writes the files of the head anew."""

    def __init__(self, of: Upserts) -> None:
        self._merge, self._dealing = of.merge, Dealing(of.deal)
        self._dealt: list[pa.RecordBatch] = []

    @property
    def buffered(self) -> int:
        dealt: int = sum(batch.nbytes for batch in self._dealt)
        return self._dealing.buffered + dealt

    def flush(self) -> None:
        """Nothing: how much one job holds is bounded as it begins, see `Part.memory`."""

    def add(self, batch: pa.RecordBatch) -> None:
        self._dealt += self._dealing.add(batch)

    def close(self, number: int) -> Iterator[pa.RecordBatch]:
        self._dealt += self._dealing.close()
        dealt, self._dealt = self._dealt, []
        for batch in self._merge.run(dealt):
            landing = pa.array([number] * len(batch), pa.int32())
            columns = {name: batch[name] for name in batch.schema.names}
            yield rows_of(RETURNED, landing=landing, **columns)
