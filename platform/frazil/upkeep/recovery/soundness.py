"""Whether a state of a table can be taken: each file that its head needs is there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from frazil.errors import MALFORMED
from frazil.tables.catalogs.catalog import is_gone
from frazil.tables.metadata.named import content_named, manifests_named
from frazil.upkeep.recovery.moves import MovedFiles, Moves
from frazil.upkeep.recovery.places import Bucket, Place
from frazil.upkeep.recovery.states import State
from frazil.upkeep.storage import statistics_of

if TYPE_CHECKING:
    from pyiceberg.io import FileIO
    from pyiceberg.table.snapshots import Snapshot


@dataclass(frozen=True, slots=True)
class Soundness:
    """What a look at the files of a state found.

    Attributes:
        fault: Why it can't be taken; empty where it can.
        doubts: What is not as it should be, or was not looked at.
    """

    fault: str = ""
    doubts: tuple[str, ...] = ()


def soundness_of(state: State, place: Place, bucket: Bucket, io: FileIO, moves: Moves) -> Soundness:
    """Looks for the files of a state in the listing; reads manifests and their lists, and no data file."""
    if (named := moves.to(state.metadata.location).rstrip("/")) != place.location:
        return Soundness(
            f"it is of {named}, and lies in {place.location}: its files were moved or copied, and no --moved "
            "says so"
        )
    head = state.metadata.current_snapshot_id
    current = state.metadata.snapshot_by_id(head) if head is not None else None
    if head is not None and current is None:
        return Soundness(f"it does not tell of its own head, snapshot {head}")
    look = _Look(bucket, io, moves)
    if current and (fault := look.fault(current)):
        return Soundness(fault)
    return Soundness(doubts=tuple(look.doubts(state)))


class _Look:
    """One look at the files of one state."""

    def __init__(self, bucket: Bucket, io: FileIO, moves: Moves) -> None:
        self._bucket, self._moves = bucket, moves
        self._io = cast("FileIO", MovedFiles(io, moves)) if moves.pairs else io
        self._whole: set[str] = set()  # manifests of which all files are there
        self._outside = 0

    def fault(self, snapshot: Snapshot) -> str:
        """What of a snapshot is missing; nothing, if it is empty."""
        try:
            manifests = manifests_named(self._io, [snapshot])
            new = [manifest for path, manifest in manifests.items() if path not in self._whole]
            named = [snapshot.manifest_list, *manifests, *content_named(self._io, new)]
        except OSError as e:
            if not is_gone(e):
                raise
            return f"a manifest, or the list of them, is gone: {e!s:.200}"
        except MALFORMED as e:
            return f"a manifest, or the list of them, can't be read: {type(e).__name__}"
        files = [*map(self._moves.to, named)]
        covered = [path for path in files if self._bucket.covers(path)]
        self._outside += len(files) - len(covered)
        if missing := [path for path in covered if not self._bucket.has(path)]:
            return f"{len(missing):,} files are gone, {missing[0]} among them"
        self._whole |= manifests.keys()
        return ""

    def doubts(self, state: State) -> Iterator[str]:
        """What is wrong with all that is not the head, and what lies elsewhere."""
        metadata, head = state.metadata, state.metadata.current_snapshot_id
        for name, ref in metadata.refs.items():
            snapshot = metadata.snapshot_by_id(ref.snapshot_id)
            if ref.snapshot_id != head and (fault := self.fault(snapshot) if snapshot else "its snapshot"):
                yield f"{ref.snapshot_ref_type} {name} can't be read: {fault}"
        if gone := self._gone([snapshot.manifest_list for snapshot in metadata.snapshots]):
            yield f"{gone:,} older snapshots can't be read: their lists of manifests are gone"
        if gone := self._gone(list(statistics_of(metadata))):
            yield f"{gone:,} statistics files are gone"
        if self._outside:
            yield f"{self._outside:,} files lie outside {self._bucket.prefix}, and were not looked for"

    def _gone(self, paths: Sequence[str]) -> int:
        here = map(self._moves.to, paths)
        return sum(self._bucket.covers(path) and not self._bucket.has(path) for path in here)
