"""Whether what the tasks of an upsert say adds up, by what manifests and footers say."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from frazil.exact import values_of
from frazil.landing.lane.job import Lane
from frazil.landing.plan import Plan
from frazil.landing.upsert.merge import Merged
from frazil.landing.write import Written
from frazil.tables.commits.stage import StagedFiles, audit_failed, audit_rows
from frazil.tables.metadata.manifests import Head
from frazil.tables.rewrites.moved import audit_values
from frazil.tables.writing.presence import Moves, differing, total_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table


def merged(returned: pa.Table, lane: Lane, table: Table, head: Head, plan: Plan, landing: str) -> Merged:
    """What all tasks say together, compared with what manifests and footers say.

    Raises:
        AuditFailedError: It does not add up.
    """
    from frazil.tables.writing.task import count_reads, took_of

    count_reads(table.location(), returned)
    answers = _Answers.of(returned)
    changes = lane.written(answers.reports, answers.bad, answers.files, table, landing, took_of(returned))
    _compare(changes, answers, head, plan)
    _compare_values(changes, answers.reports, plan)
    gone, added = answers.values("values_gone"), answers.values("values_added")
    moves = Moves(gone, added, fewer=bool(head.deleting))
    work, files = _work(plan), changes.files.files
    audit_values(work, table, head.named, answers.removed, files, moves, "Land again.")
    return _merged(changes, answers, table, head)


@dataclass(frozen=True, slots=True)
class _Answers:
    """What tasks returned: of what they decoded, and of what they merged into each partition."""

    reports: list[Mapping[str, Any]]
    bad: list[Any]
    merges: list[Mapping[str, Any]]
    files: list[Mapping[str, Any]]

    @classmethod
    def of(cls, returned: pa.Table) -> _Answers:
        """The answers in rows of `MERGED`."""
        counts = returned.filter(returned["report"].is_valid())
        return cls(
            [json.loads(text) for text in values_of(counts["report"])],
            values_of(counts["bad"]),
            [json.loads(text) for text in values_of(returned["merge"].drop_null())],
            [file for of in values_of(returned["files"]) for file in of or ()],
        )

    @property
    def counted(self) -> Mapping[str, int]:
        """All that was counted, by the names that `Counts` has."""
        names = {name for m in self.merges for name, number in m.items() if isinstance(number, int)}
        return defaultdict(int, {name: sum(m[name] for m in self.merges) for name in names})

    @property
    def removed(self) -> frozenset[str]:
        """Paths of the files that go."""
        return frozenset(path for m in self.merges for path in m["removed"])

    def values(self, name: str) -> Mapping[str, int]:
        """The values of each column that all merges counted under a name."""
        return total_of(m[name] for m in self.merges)

    def vectors(self, head: Head) -> tuple[DataFile, ...]:
        """The vectors that were written, as manifests describe them."""
        from frazil.tables.format_v3.vector_files import WrittenVector, vector_entry

        written = (WrittenVector(**vector) for m in self.merges for vector in m["vectors"])
        return tuple(vector_entry(vector, head.entries[vector.of].data_file) for vector in written)


def _compare(written: Written, answers: _Answers, head: Head, plan: Plan) -> None:
    """Rows are counted by keys and places first, and by what is left out as files are written anew.

    Where delete files take rows away, the rows of the files that go are known within a bound only.
    """
    counted, sent = answers.counted, sum(report["sent"] for report in answers.reports)
    before, exact = head.rows_left(answers.removed)
    gone, added = counted["gone"], counted["added"] + counted["marked"]
    rows = before if exact else min(before, counted["rows"])
    numbers = (
        f"{sent} of {written.good} changes were dealt out, {counted['received']} received; of {before} rows "
        f"{gone} go, {added} come; {counted['rows']} were read, {counted['left_out']} left out, "
        f"{counted['vectored']} deleted by vectors"
    )
    left_out = gone - counted["vectored"]
    if (counted["received"], counted["rows"], counted["left_out"]) != (sent, rows, left_out):
        raise audit_failed(_work(plan), numbers, "Land again.")
    staged = written.files or StagedFiles()
    audit_rows(staged, rows - left_out + added, _work(plan), numbers, "Land again.")


def _compare_values(written: Written, reports: Sequence[Mapping[str, Any]], plan: Plan) -> None:
    """Of what was decoded each value must be in the changes; `audit` compares these with the new files."""
    made = total_of(r["in_rows"] for r in reports)
    if lost := differing(written.values or {}, made, "in the changes"):
        raise audit_failed(_work(plan), lost, "Land again.")


def _merged(changes: Written, answers: _Answers, table: Table, head: Head) -> Merged:
    counted = answers.counted
    return Merged(
        **{f.name: getattr(changes, f.name) for f in fields(Written) if f.name != "values"},
        values=answers.values("values"),
        put=counted["rows"] - counted["left_out"] + counted["added"] + counted["marked"],
        inserted=counted["added"] - (counted["gone"] - counted["bare"]),
        updated=counted["gone"] - counted["deleted"],
        deleted=counted["deleted"],
        ended=counted["bare"] - counted["marked"],
        removed=answers.removed,
        vectors=answers.vectors(head),
        deletes=head.delete_manifests,
        head=table.metadata.current_snapshot_id or 0,
    )


def _work(plan: Plan) -> str:
    return f"A merge of topic {plan.topic}"
