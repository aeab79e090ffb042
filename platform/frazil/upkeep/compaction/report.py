"""What a compaction did, or would do, in words and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from frazil.spec.names import TableName
from frazil.tables.metadata.manifests import Head
from frazil.upkeep.compaction.plan import Round
from frazil.upkeep.work import Number, WorkReport, size_text


@dataclass(frozen=True, slots=True)
class Done:
    """What rounds did; several can be added up."""

    files: int = 0
    bytes: int = 0
    into: int = 0
    written: int = 0  # bytes of the new files
    rounds: int = 0
    conflicts: int = 0
    overtaken: int = 0  # rounds that were dropped, because others changed their files
    snapshot_id: int | None = None  # the newest snapshot that was made

    def __add__(self, other: Done) -> Done:
        names = [f.name for f in fields(self) if f.name != "snapshot_id"]
        sums = {name: getattr(self, name) + getattr(other, name) for name in names}
        return Done(**sums, snapshot_id=other.snapshot_id or self.snapshot_id)


def became(done: Done) -> str:
    """In words, such as `41 files of 3.2 MB became 1 of 2.9 MB`."""
    return f"{_files(done.files)} of {size_text(done.bytes)} became {done.into} of {size_text(done.written)}"


def would(name: TableName, head: Head, rounds: Sequence[Round], crowded: bool) -> WorkReport:
    """The report of a dry run; `crowded` tells whether manifests would be merged."""
    files, size = sum(len(r.files) for r in rounds), sum(r.bytes for r in rounds)
    older, current = (sum(r.into for r in rounds if r.older == which) for which in (True, False))
    # What files of an older layout leave is put together with the others; nobody knows where it comes to lie.
    into, least = (max(older, current), "at least ") if older else (current, "")
    done = Done(files, size, into=into, rounds=len(rounds))
    parts = [f"{_files(files)} of {size_text(size)} would become {least}{done.into}"] if rounds else []
    parts += [f"{len(head.manifests)} manifests would become few"] if crowded else []
    anew = {file.path for each in rounds for file in each.files}
    idle = len(head.deletions.idle(anew, head.snapshot.sequence_number or 0))
    parts += [f"{_files(idle, 'delete file')} would go"] if idle else []
    text = f"{', '.join(parts)}." if parts else _as_it_is(head)
    numbers = _numbers(head, None, done)
    return WorkReport(str(name), "compaction", bool(parts), text, numbers=numbers, dry_run=True)


def did(name: TableName, before: Head, after: Head, done: Done, seconds: float) -> WorkReport:
    """The report of a run, with the table's head before it, and the head after it."""
    parts = [became(done)] if done.rounds else []
    if len(after.manifests) < len(before.manifests):
        parts.append(f"{len(before.manifests)} manifests became {len(after.manifests)}")
    if (gone := before.deletes.files - after.deletes.files) > 0:
        parts.append(f"{_files(gone, 'delete file')} went")
    if done.overtaken:
        parts.append(f"overtaken by others, and dropped: {done.overtaken}")
    return WorkReport(
        table=str(name),
        kind="compaction",
        done=done.snapshot_id is not None,
        text=f"{', '.join(parts)}; {seconds * 1000:.0f} ms." if parts else _as_it_is(before),
        snapshot_id=done.snapshot_id,
        numbers=_numbers(before, after, done),
        conflicts=done.conflicts,
        seconds=round(seconds, 3),
    )


def _as_it_is(head: Head) -> str:
    return f"Nothing to gain: {_files(len(head.files))} of {size_text(head.bytes)} stay as they are."


def _files(count: int, kind: str = "file") -> str:
    return f"1 {kind}" if count == 1 else f"{count} {kind}s"


def _numbers(before: Head, after: Head | None, done: Done) -> dict[str, Number]:
    later = after or before
    return {
        "files_before": len(before.files),
        "files_after": len(after.files) if after else len(before.files) - done.files + done.into,
        "bytes_before": before.bytes,
        "bytes_after": later.bytes,
        "files_rewritten": done.files,
        "bytes_rewritten": done.bytes,
        "files_written": done.into,
        "bytes_written": done.written,
        "rounds": done.rounds,
        "overtaken": done.overtaken,
        "manifests_before": len(before.manifests),
        "manifests_after": len(later.manifests),
        "delete_files_before": before.deletes.files,
        "delete_files_after": later.deletes.files,
    }
