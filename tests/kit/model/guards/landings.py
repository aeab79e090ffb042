"""Guards of a landing, of its dead letters, and of a merge by keys."""

from __future__ import annotations

from typing import Any

from frazil.landing import land
from frazil.landing.position import history
from frazil.landing.position.ledger import Ledger
from frazil.landing.publication import Landed
from frazil.landing.repairs import dead_letters
from frazil.landing.upsert import arrow, merge
from frazil.landing.upsert.lane import audit as upsert_lane
from frazil.tables.commits import stage
from frazil.tables.rewrites import remainder
from kit.model.guards.guard import LANDERS, Guard, nothing, put, put_any

__all__ = ["LANDINGS", "read_only"]


def read_only(plan: Any, written: Any, rows: int, values: Any) -> None:
    """An audit that compares the rows with what was read, and that with nothing."""
    if rows != written.rows:
        raise land.AuditFailedError("rows", meaning="Nothing of it is visible.")


def _count_nothing(plan: Any, written: Any, rows: int, counts: Any) -> None:
    if written.tally != sum(counts.values(), land.Tally()):
        raise land.AuditFailedError("tally", meaning="Nothing of it is visible.")


def _unbound(self: Landed, table: Any) -> Ledger:
    return self.ledger.following(Ledger.newest(table.metadata))


LANDINGS: tuple[Guard, ...] = (
    Guard(
        "a landing follows the position that it was planned from",
        put(Landed, "next_entry", _unbound),
        LANDERS,
    ),
    Guard("what was read is what the topic holds", put(land, "audit", read_only), LANDERS, spoils=0.3),
    Guard(
        "the files hold the rows that were counted",
        put(land, "audit", _count_nothing),
        LANDERS,
        lane=False,
        spoils=0.3,
    ),
    Guard(
        "the topic that was read is the one that was planned",
        put(land, "refuse_other_topic", nothing),
        {"first": ("land",), "second": ("recreate",)},
    ),
    Guard(
        "a topic that was recreated is another one",
        put(history.History, "_is_other", property(lambda _: False)),
        {"first": ("recreate", "produce", "land")},
    ),
    Guard(
        "of two landings one keeps the dead letters",
        put(dead_letters._Kept, "next_entry", _unbound),
        LANDERS,
    ),
    Guard(
        "dead letters that a dead landing kept are not kept again",
        put(dead_letters, "_kept", lambda *_: set()),
        LANDERS,
    ),
    Guard(
        "dead letters are kept before the landing is visible",
        put(land, "keep_dead_letters", nothing),
        LANDERS,
    ),
    Guard(
        "a merge replaces files that are still there",
        put(merge, "put_in_place", put_any),
        {"first": ("land",), "second": ("compact",)},
        keyed=True,
    ),
    Guard(
        "a merge is dropped where rows were deleted since",
        put(stage, "delete_manifests", lambda _: frozenset()),
        {"first": ("land", "land"), "engine": ("delete", "delete")},
        keyed=True,
    ),
    Guard(
        "a merge is put on the line that it was merged with",
        put(merge.MergeLanded, "_same_line", nothing),
        {"first": ("land",), "second": ("land", "roll back")},
        keyed=True,
    ),
    Guard(
        "the rows that a merge keeps are counted",
        put(remainder, "audit_rows", nothing),
        LANDERS,
        spoils=0.3,
        keyed=True,
    ),
    Guard(
        "the rows that a merge keeps by columns are counted",
        put(arrow, "audit_rows", nothing),
        LANDERS,
        lane=True,
        spoils=0.3,
        keyed=True,
    ),
    Guard(
        "the rows that one job decodes and merges are counted",
        put(upsert_lane, "_compare", nothing),
        LANDERS,
        lane=True,
        spoils=0.3,
        keyed=True,
    ),
)
