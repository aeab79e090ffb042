"""What a replay makes of each record: no record is lost by it, and no removed record comes back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import TYPE_CHECKING

from frazil.errors import OffsetsLostError, RepairError
from frazil.landing.plan import Plan
from frazil.landing.position.ledger import EMPTY, Ledger
from frazil.landing.repairs.bad_records import BadRecord
from frazil.landing.replay.difference import Present, difference
from frazil.landing.write import Written
from frazil.spec.names import TableName
from frazil.tables.keys import Key, keys_in, within_sql
from frazil.tables.spark.faults import Job

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Outcome:
    """What becomes of the records.

    Attributes:
        new_letters: Bad records of which there is no dead letter yet.
        dead_letters: Records that are dead letters now, and were rows or left out.
        redriven: Dead letters that are rows now.
        left_out: Records that are neither.
    """

    new_letters: tuple[BadRecord, ...]
    dead_letters: int
    redriven: int
    left_out: int

    def entry(self, plan: Plan, written: Written, present: Present, run_id: str) -> Ledger:
        """What the snapshot will say."""
        return replace(
            EMPTY,
            replayed=written.good,
            replaced=present.holding.rows,
            replayed_spans=plan.busy,
            returned=written.good - present.holding.rows + self.dead_letters - self.redriven,
            dead_letters=self.dead_letters,
            redriven=self.redriven,
            bytes=written.bytes,
            schema_ids=written.schema_ids,
            landing=written.landing,
            run_id=run_id,
            version=version("frazil"),
        )


@dataclass(frozen=True)
class Comparison:
    """What was read now, beside what is there.

    `new`: the files of the new rows. `keeps_letters`: whether what can't be
    decoded becomes a dead letter, by the spec. `noted`: dead letters that this replay has kept already.
    """

    spark: SparkSession
    name: TableName
    names: tuple[str, str]
    plan: Plan
    written: Written
    bad: Sequence[BadRecord]
    new: Sequence[DataFile]
    keeps_letters: bool
    noted: frozenset[Key]
    job: Job

    def outcome(self, present: Present) -> Outcome:
        """Judges each record by what a head has of it.

        Raises:
            OffsetsLostError: Of some rows or dead letters Kafka has no record any more.
            RepairError: A row can't be decoded any more, or was repaired; or some come back that were to go.
        """
        bad = {b.key: b for b in self.bad}
        turned = keys_in(present.table, bad, self.names)
        # A forgetting takes the dead letters of repaired rows first, and then the rows.
        repaired = (turned if present.forgot else present.redriven & bad.keys()) - self.noted
        if repaired and present.ledger.total_redriven:
            raise self._was_repaired(bad[min(repaired)], len(repaired))
        if turned and not self.keeps_letters:
            raise self._turned_bad(bad[min(turned)], len(turned))
        fine = present.letters - bad.keys()
        sql = within_sql(self.plan.busy, self.names)
        compared = difference(self.spark, self.name, present, self.new, sql, self.names, fine, self.job)
        back = compared.back - len(compared.mended)
        if lost := compared.gone - len(turned) + len(fine - compared.mended):
            raise self._lost(lost)
        if self._is_strange(back, present.ledger):
            raise self._comes_back(back)
        new = bad.keys() - present.letters
        if present.forgot and self.keeps_letters and (again := new - turned):
            raise self._kept_again(bad[min(again)], len(again))
        return Outcome(
            new_letters=tuple(bad[key] for key in sorted(new - present.redriven) if self.keeps_letters),
            dead_letters=len(new) if self.keeps_letters else 0,
            redriven=len(compared.mended),
            left_out=self.written.skipped + (0 if self.keeps_letters else len(new)),
        )

    def _is_strange(self, back: int, ledger: Ledger) -> bool:
        """Whether rows that come back may have been deleted: more do than records were ever left out."""
        left_out = ledger.total_bad - ledger.total_dead_letters
        return back > 0 and bool(ledger.total_taken or ledger.total_accepted or back > left_out)

    def _was_repaired(self, first: BadRecord, count: int) -> RepairError:
        return RepairError(
            f"{count} rows of {self.name} are of bad records, and their dead letters are or were there.",
            where=f"partition {first.partition}, offset {first.offset}: {first.reason}",
            meaning="A redrive repaired them, and a replay would undo it; or one died. Nothing was changed.",
            todo="Name offsets without them.",
        )

    def _turned_bad(self, first: BadRecord, count: int) -> RepairError:
        return RepairError(
            f"{count} rows of {self.name} can't be decoded any more.",
            where=f"partition {first.partition}, offset {first.offset}: {first.reason}",
            meaning="A replay would take them out of the table. Nothing was changed.",
            todo="Fix the schema; or set on_bad_record: dead_letter, which keeps such records.",
        )

    def _lost(self, count: int) -> OffsetsLostError:
        return OffsetsLostError(
            f"Of {count} rows or dead letters of {self.name} topic {self.plan.topic} has no record any more.",
            where=f"within {dict(self.plan.busy)}",
            meaning="A compaction of the topic took them, or the spec leaves them out by now: a replay would "
            "lose them. Nothing was changed.",
            todo="Name other offsets; or land the topic as it is now into a table of another name.",
        )

    def _comes_back(self, count: int) -> RepairError:
        return RepairError(
            f"A replay would bring {count} rows back into {self.name} that are not there now.",
            where=f"within {dict(self.plan.busy)}",
            meaning="Rows of the table expired, were forgotten, or were deleted by others: these may be "
            "some. Nothing was changed.",
            todo="Name offsets of which no row is gone.",
        )

    def _kept_again(self, first: BadRecord, count: int) -> RepairError:
        return RepairError(
            f"A replay would keep {count} dead letters of {self.name} that are not there now.",
            where=f"partition {first.partition}, offset {first.offset}: {first.reason}",
            meaning="Dead letters of the table were forgotten: these may be some. Nothing was changed.",
            todo="Name offsets without them.",
        )
