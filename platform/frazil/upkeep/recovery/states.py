"""The states of a table that its metadata files tell of, newest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from frazil.errors import MALFORMED
from frazil.tables.catalogs.catalog import is_gone
from frazil.tables.catalogs.pyiceberg import read_metadata
from frazil.tables.metadata.snapshots import number_or_none, summary_of
from frazil.tables.metadata.stored import StoredFile, number_of
from frazil.upkeep.recovery.moves import UNMOVED, Moves
from frazil.upkeep.recovery.places import Place
from frazil.upkeep.storage import key_of

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table.metadata import TableMetadata

BEGUN = "frazil.rebuilding"
"""Property of a table that a rebuild made and gave no history yet: the metadata file that tells of it."""


@dataclass(frozen=True)
class State:
    """A table as one metadata file has it."""

    path: str
    metadata: TableMetadata
    moves: Moves = UNMOVED

    @property
    def order(self) -> tuple[int, int]:
        """Of two states of one table the later one has the greater: no commit lowers either number."""
        return getattr(self.metadata, "last_sequence_number", 0), self.metadata.last_updated_ms

    @property
    def before(self) -> tuple[str, ...]:
        """The metadata files before it, oldest first, as far back as it tells."""
        return tuple(self.moves.to(entry.metadata_file) for entry in self.metadata.metadata_log)

    @property
    def is_begun(self) -> bool:
        """Whether it is of a rebuild that did not end, and tells of nothing."""
        return is_begun(self.metadata)

    @property
    def is_bare(self) -> bool:
        """Whether it has no rows."""
        head = self.metadata.current_snapshot_id
        current = self.metadata.snapshot_by_id(head) if head is not None else None
        return current is None or number_or_none(summary_of(current), "total-records") == 0

    @property
    def at(self) -> datetime:
        """When it was committed."""
        return datetime.fromtimestamp(self.metadata.last_updated_ms / 1000, UTC)


@dataclass(frozen=True)
class Line:
    """What the metadata files of a place tell.

    Attributes:
        head: The newest state; None where no file can be read.
        rivals: Other ones that no state after them names: one of them may have been the head.
        others: States of other tables, which lay at the same place before.
        doubts: What could not be told, for people.
    """

    head: State | None
    rivals: tuple[State, ...] = ()
    others: tuple[State, ...] = ()
    doubts: tuple[str, ...] = ()


def is_begun(metadata: TableMetadata) -> bool:
    """Whether a table is one that a rebuild made and did not end."""
    return BEGUN in metadata.properties and not metadata.snapshots


class Metadata:
    """Reads metadata files of one catalog's storage, each once.

    Args:
        catalog: Whose storage it is.
        moves: Where the files are that they name.
    """

    def __init__(self, catalog: Catalog, moves: Moves = UNMOVED) -> None:
        self._catalog, self._moves = catalog, moves
        self._read: dict[str, State | str] = {}

    def read(self, path: str) -> State | str:
        """The state that a file tells of, or why it tells of none."""
        from pyiceberg.exceptions import ValidationError

        if path not in self._read:
            try:
                self._read[path] = self._state(path)
            except (ValidationError, NotImplementedError, *MALFORMED) as e:
                self._read[path] = f"{path} can't be read: {type(e).__name__}"
            except OSError as e:
                if not is_gone(e):
                    raise
                self._read[path] = f"{path} is gone"
        return self._read[path]

    def _state(self, path: str) -> State:
        from pyiceberg.table.metadata import TableMetadataUtil

        metadata = TableMetadataUtil.parse_raw(read_metadata(self._catalog, path).decode())
        return State(path, metadata, self._moves)


def line_at(place: Place, metadata: Metadata) -> Line:
    """The newest state of a place, found by reading the few files that may tell of it."""
    states, doubts = _read_newest(place.metadata, metadata)
    if not states:
        return Line(None, doubts=tuple(doubts))
    newest = max(states, key=lambda state: state.metadata.last_updated_ms)
    own = [state for state in states if state.metadata.table_uuid == newest.metadata.table_uuid]
    others = tuple(state for state in states if state not in own)
    named = {key_of(path) for state in own for path in state.before}
    heads = [state for state in own if key_of(state.path) not in named]
    head = max(heads or own, key=lambda state: state.order)
    rivals = tuple(state for state in heads if state is not head and _competes(state, head))
    doubts += [_doubt_about(rival, head) for rival in rivals]
    return Line(head, rivals, others, tuple(doubts))


def states_until(line: Line, place: Place, metadata: Metadata, moment: datetime | None) -> Iterator[State]:
    """The states up to a moment, newest first: the line's own, and then those that it does not name."""
    if line.head is None:
        return
    logged = [line.head.path, *(rival.path for rival in line.rivals), *reversed(line.head.before)]
    known = {key_of(path) for path in logged}
    others = sorted((f for f in place.metadata if key_of(f.path) not in known), key=_by_name, reverse=True)
    for path in (*logged, *(file.path for file in others)):
        state = metadata.read(path)
        if isinstance(state, State) and _is_of(state, line.head) and (not moment or state.at <= moment):
            yield state


def _is_of(state: State, head: State) -> bool:
    return state.metadata.table_uuid == head.metadata.table_uuid


def _read_newest(files: Sequence[StoredFile], metadata: Metadata) -> tuple[list[State], list[str]]:
    """The states of the newest files that tell of one, and what is wrong with those that do not."""
    doubts: list[str] = []
    while files:
        newest = _newest(files)
        read = [metadata.read(path) for path in newest]
        doubts += [each for each in read if isinstance(each, str)]
        if states := [each for each in read if isinstance(each, State) and not each.is_begun]:
            return states, doubts
        files = [file for file in files if file.path not in newest]
    return [], doubts


def _newest(files: Sequence[StoredFile]) -> set[str]:
    """The files of the highest number, and that of the latest time.

    A copy of a bucket has other times, and SeaweedFS begins to count again with each table that is made.
    """
    most = max(_by_name(file)[0] for file in files)
    latest = max(files, key=lambda file: (file.modified, _by_name(file)))  # some count whole seconds
    return {latest.path, *(file.path for file in files if _by_name(file)[0] == most)}


def _by_name(file: StoredFile) -> tuple[int, float]:
    return number_of(file.path), file.modified


def _competes(state: State, head: State) -> bool:
    """Whether a state may be the one that the catalog named last: it and the head have one state before them.

    One that came before the head's own is of a commit that was refused.
    """
    same = state.metadata.refs == head.metadata.refs and state.metadata.properties == head.metadata.properties
    siblings = state.before[-1:] == head.before[-1:]
    later = state.order[0] >= head.order[0] or state.order[1] > head.order[1]
    return not same and (siblings or later)


def _doubt_about(rival: State, head: State) -> str:
    return (
        f"two files claim to be the newest: {head.path} was taken, and not {rival.path}; the catalog may "
        "have refused either"
    )
