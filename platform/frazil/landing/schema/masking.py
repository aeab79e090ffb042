"""The masks that a table's rows were written with: a change is approved, for older rows stay as they are."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from frazil.formats.evolution import Verdict, target
from frazil.formats.logical import Struct, Where, find, same_type
from frazil.formats.masks.columns import NOTES
from frazil.spec.migrations import Migration, masking
from frazil.tables.commits.ledger import read

if TYPE_CHECKING:
    from pyiceberg.table import Transaction
    from pyiceberg.table.metadata import TableMetadata

MASKS = "frazil.masks"
"""Table property: the masks of its columns, and the migrations that changed them, as JSON."""


@dataclass(frozen=True, slots=True)
class NotedMasks:
    """What a table knows of its masks: the mark of each by path, and the ids of migrations that are done."""

    marks: Mapping[str, str] = field(default_factory=dict)
    done: tuple[str, ...] = ()

    @classmethod
    def of(cls, metadata: TableMetadata) -> NotedMasks:
        """What stands in a table's properties."""
        return read(MASKS, metadata.properties.get(MASKS, "{}"), _read)

    @property
    def properties(self) -> dict[str, str]:
        """The same, as a table keeps it; nothing where it never had a mask."""
        if not self.marks and not self.done:
            return {}
        return {MASKS: json.dumps({"marks": dict(sorted(self.marks.items())), "done": self.done})}


def mask_verdicts(
    noted: NotedMasks, marks: Mapping[str, str], migrations: Sequence[Migration], have: Struct, wanted: Struct
) -> list[Verdict]:
    """Changes of masks of columns that hold rows: approved ones, and those that stop the table.

    Args:
        marks: What the spec asks for.
        have: The table's columns.
        wanted: Those that the newest schemas ask for, masked.
    """
    before = _renamed(noted, migrations, wanted)
    return list(_verdicts(noted, before, marks, migrations, have, wanted))


def stage_masks(
    tx: Transaction, noted: NotedMasks, marks: Mapping[str, str], changes: Sequence[Verdict], wanted: Struct,
    migrations: Sequence[Migration],
) -> None:  # fmt: skip
    """Stages what the table notes of its masks, and the comments of columns whose masks changed."""
    changed = {v.where.dotted for v in changes}
    done = {m.id for m in migrations if m.mask and m.mask.column in changed}
    now = NotedMasks(marks, tuple(sorted({*noted.done, *done})))
    if now.properties == noted.properties:
        return
    with tx.update_schema() as update:
        for path in changed:
            if own := find(wanted, path):
                update.update_column(tuple(path.split(".")), doc=own.doc or None)
    tx.set_properties(now.properties or {MASKS: "{}"})


def _verdicts(
    noted: NotedMasks, before: Mapping[str, str], marks: Mapping[str, str], migrations: Sequence[Migration],
    have: Struct, wanted: Struct,
) -> Iterator[Verdict]:  # fmt: skip
    for path in sorted({*before, *marks}):
        was, now = before.get(path, ""), marks.get(path, "")
        current, asked = find(have, path), find(wanted, path)
        if was == now or current is None or asked is None or not same_type(current.type, asked.type):
            continue
        yield _verdict(path, was, now, _approval(noted, path, now, migrations))


def _verdict(path: str, was: str, now: str, approval: str) -> Verdict:
    where = Where(tuple(path.split(".")), path)
    leaves = (
        f"rows, files and snapshots of before keep {path} {_in_words(was)}, and so do files of their "
        "statistics"
        if was.partition(" ")[0] != now.partition(" ")[0]
        else f"the key is another one, or {path} is decrypted now: the same value has one hash in older "
        "rows, and another in new ones"
    )
    if approval:
        return Verdict(where, "mask", True, f"approved by migration {approval}: {leaves}")
    todo = (
        f"Approve it under migrations: `{masking(path, _word(now))}`; to change older rows, too, land the "
        "topic into a table of another name, or replay its offsets and let snapshots expire (docs/masks.md)."
    )
    return Verdict(where, "mask", False, f"its mask becomes {_word(now)}, and {leaves}", todo)


def _approval(noted: NotedMasks, path: str, now: str, migrations: Sequence[Migration]) -> str:
    fitting = (m.id for m in migrations if m.mask and (m.mask.column, m.mask.to) == (path, _word(now)))
    return next((id_ for id_ in fitting if id_ not in noted.done), "")


def _word(mark: str) -> str:
    return mark.partition(" ")[0] or "none"


def _in_words(mark: str) -> str:
    word = _word(mark)
    return f"masked by {word}" if word in NOTES else "as it came" if word == "none" else word


def _renamed(noted: NotedMasks, migrations: Sequence[Migration], wanted: Struct) -> dict[str, str]:
    """The marks of before, by the names that the columns have now."""
    renames = {m.column: target(m) for m in migrations if m.rename and find(wanted, m.column) is None}
    return {renames.get(path, path): mark for path, mark in noted.marks.items()}


def _read(text: str) -> NotedMasks:
    document = json.loads(text)
    marks = {str(path): str(mark) for path, mark in document.get("marks", {}).items()}
    return NotedMasks(marks, tuple(map(str, document.get("done", []))))
