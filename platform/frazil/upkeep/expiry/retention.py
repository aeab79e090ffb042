"""Which snapshots of a table may go: decided from its metadata alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import TYPE_CHECKING

from frazil.spec.upkeep import Upkeep
from frazil.tables.commits.erasure import must_go
from frazil.tables.commits.leftovers import branches_of_works, dead_branches
from frazil.tables.metadata.snapshots import UPKEEP, ancestors, is_first, made_at, summary_of
from frazil.upkeep.compaction.plan import is_rewrite

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.refs import SnapshotRef
    from pyiceberg.table.snapshots import Snapshot

_LEDGERS = ("frazil.spans", "frazil.inputs")  # what the snapshot of a landing says, and that of a derivation

_PLAN = "frazil.plan"
_FAR = 1000  # commits of other tools on top of a ledger, beyond which it is not kept for them


def plan_expiry(
    metadata: TableMetadata, upkeep: Upkeep, now: float, needed: Set[int] = frozenset()
) -> tuple[int, ...]:
    """Ids of the snapshots to expire, in the table's order (docs/upkeep.md says what is kept, and why).

    `needed` are those that readers need (`references`).
    """
    over = aged_refs(metadata, now)
    refs = {name: ref for name, ref in metadata.refs.items() if name not in over}
    kept = {ref.snapshot_id for ref in refs.values()}
    known = {snapshot.snapshot_id for snapshot in metadata.snapshots}
    reachable = set(kept)
    main = [s.snapshot_id for s in ancestors(metadata)]
    for name, ref in refs.items():
        if ref.snapshot_ref_type.value == "branch":  # a tag keeps nothing behind it
            line = list(ancestors(metadata, name))
            reachable |= {s.snapshot_id for s in line}
            kept |= _of_line(line, name, ref, upkeep, now)
    bases = {
        s
        for name in branches_of_works(metadata).keys() & refs
        for s in _down_to_main(metadata, name, set(main))
    }
    kept |= bases  # of work under way: its own snapshots, and the one of `main` that it began with
    kept |= _once_on_main(metadata, reachable, upkeep, now)
    kept |= needed
    kept |= _what_tells_positions(metadata, kept & known)
    kept -= must_go(metadata, now) - {ref.snapshot_id for ref in refs.values()} - bases
    return tuple(s.snapshot_id for s in metadata.snapshots if s.snapshot_id not in kept)


def aged_refs(metadata: TableMetadata, now: float) -> tuple[str, ...]:
    """Branches and tags that are older than they themselves say they may become (`max-ref-age-ms`).

    While snapshots must go from before rows were forgotten, also the branches of dead works.
    """
    by_id = {s.snapshot_id: s for s in metadata.snapshots}
    dead = dead_branches(metadata, now) if must_go(metadata, now) else {}
    return tuple(dead) + tuple(
        name
        for name, ref in metadata.refs.items()
        if ref.max_ref_age_ms is not None
        and name not in ("main", *dead)
        and ref.snapshot_id in by_id
        and _age(by_id[ref.snapshot_id], now) * 1000 > ref.max_ref_age_ms
    )


def _of_line(line: Sequence[Snapshot], name: str, ref: SnapshotRef, upkeep: Upkeep, now: float) -> set[int]:
    """The snapshots that a branch keeps: by its own rules where it has any, else by the table's."""
    least = ref.min_snapshots_to_keep or (upkeep.min_snapshots if name == "main" else 1)
    own = ref.max_snapshot_age_ms
    longest = upkeep.keep_snapshots_for.total_seconds() if own is None else own / 1000
    return {
        s.snapshot_id
        for n, s in enumerate(line)
        if n < least or (n < upkeep.max_snapshots and _age(s, now) < longest)
    }


def _down_to_main(metadata: TableMetadata, branch: str, main: set[int]) -> Iterator[int]:
    for snapshot in ancestors(metadata, branch):
        yield snapshot.snapshot_id
        if snapshot.snapshot_id in main:
            return


def _once_on_main(metadata: TableMetadata, reachable: set[int], upkeep: Upkeep, now: float) -> set[int]:
    """Young snapshots that no branch leads to any more, such as those that a rollback left behind."""
    seen = {entry.snapshot_id for entry in metadata.snapshot_log}
    longest = upkeep.keep_snapshots_for.total_seconds()
    loose = [
        s
        for s in metadata.snapshots
        if s.snapshot_id not in reachable
        and _age(s, now) < longest
        and (s.snapshot_id in seen or not _is_scaffold(s))
    ]
    newest = sorted(loose, key=lambda s: s.timestamp_ms, reverse=True)
    return {s.snapshot_id for s in newest[: upkeep.max_snapshots]}


def _is_scaffold(snapshot: Snapshot) -> bool:
    """Whether a landing or a compaction made it for its branch; `main` has the files in one of its own."""
    summary = summary_of(snapshot)
    return _PLAN in summary or (is_rewrite(snapshot) and UPKEEP not in summary)


def _what_tells_positions(metadata: TableMetadata, kept: set[int]) -> set[int]:
    """The snapshots between each kept one and the ledger with its position: a rollback must find it."""
    by_id = {s.snapshot_id: s for s in metadata.snapshots}
    landed = any(ledger in metadata.properties for ledger in _LEDGERS)
    return {below for each in kept for below in _down_to_ledger(by_id, each, kept, landed)}


def _down_to_ledger(by_id: dict[int, Snapshot], snapshot_id: int, kept: set[int], landed: bool) -> list[int]:
    """The snapshots below, up to the next kept one; none where no ledger, or only a far one, is below.

    The first snapshot of a table that was landed later is as good as a ledger: it says that nothing was.
    """
    below: list[int] = []
    snapshot = by_id[snapshot_id]
    while not _has_ledger(snapshot):
        parent = by_id.get(snapshot.parent_snapshot_id or 0)
        if parent is None:
            return below if landed and is_first(snapshot) else []
        if parent.snapshot_id in kept:
            return below
        below.append(parent.snapshot_id)
        if len(below) > _FAR:
            return []
        snapshot = parent
    return below


def _has_ledger(snapshot: Snapshot) -> bool:
    summary = summary_of(snapshot)
    return any(ledger in summary for ledger in _LEDGERS)


def _age(snapshot: Snapshot, now: float) -> float:
    return now - made_at(snapshot)
