"""Guards of redrives and replays."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

import frazil.landing.replay.outcome as outcome
import frazil.landing.replay.plan as plan
import frazil.landing.replay.run as run
from frazil.landing.position.ledger import Ledger
from frazil.landing.publication import Redriven
from frazil.landing.repairs import redrive
from frazil.tables.metadata.manifests import delete_manifests
from frazil.tables.rewrites import remainder
from kit.model.guards.guard import Guard, nothing, put, put_any
from kit.model.guards.landings import read_only

__all__ = ["REPAIRS"]


def _not_behind_position(self: Redriven, before: Ledger) -> bool:
    return not all(before.covers(*key) for key in self.keys)


def _whatever_was_deleted(self: run._Replayed, tx: Any, table: Any, summary: Any) -> None:
    run.put_in_place(tx, table, self.present.holding.paths, self.staged, summary, delete_manifests(table))


def _by_what_is_told(_: outcome.Comparison, back: int, ledger: Ledger) -> bool:
    return back > 0 and bool(ledger.total_taken or ledger.total_accepted)


def _deletes_are_not_seen(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(run, "refuse_rows", nothing)
    patch.setattr(outcome.Comparison, "_is_strange", _by_what_is_told)


def _nothing_comes_back(patch: pytest.MonkeyPatch) -> None:
    real = outcome.difference
    patch.setattr(outcome, "difference", lambda *args: replace(real(*args), back=0))


def _nothing_was_redriven(patch: pytest.MonkeyPatch) -> None:
    real = run.find_present
    patch.setattr(run, "find_present", lambda *args: replace(real(*args), redriven=frozenset()))


REPAIRS: tuple[Guard, ...] = (
    Guard(
        "a redrive looks at the head that it is bound to",
        put(Redriven, "_are_present", lambda *_: False),
        {"first": ("redrive",), "second": ("redrive",)},
    ),
    Guard(
        "a redrive is dropped where the position went back",
        put(Redriven, "_passed", lambda *_: False),
        {"first": ("redrive",), "second": ("roll back",), "third": ("roll back",)},
    ),
    Guard(
        "a redrive is dropped where rows were taken out since",
        put(Redriven, "_passed", _not_behind_position),
        {"first": ("redrive",), "second": ("redrive", "seven hours", "expire rows")},
    ),
    Guard(
        "the rows of a redrive are counted",
        put(redrive, "audit_rows", nothing),
        {"first": ("redrive",)},
        spoils=0.3,
    ),
    Guard(
        "a replay is of the topic that the table is of",
        put(plan, "look", lambda *_: SimpleNamespace(trouble=None)),
        {"first": ("recreate", "replay")},
    ),
    Guard(
        "the topic that a replay read is the one that was planned",
        put(run, "refuse_other_topic", nothing),
        {"first": ("replay",), "second": ("recreate",)},
    ),
    Guard(
        "what a replay read is what the topic holds",
        put(run, "audit", read_only),
        {"first": ("replay",)},
        spoils=0.3,
    ),
    Guard(
        "what a replay keeps of a file is counted",
        put(remainder, "audit_rows", nothing),
        {"first": ("compact", "replay")},
        spoils=0.3,
    ),
    Guard(
        "a replay brings back no row that was taken out",
        _nothing_comes_back,
        {"first": ("forget", "replay")},
    ),
    Guard(
        "a replay takes out no row that was repaired",
        _nothing_was_redriven,
        {"first": ("redrive", "replay")},
    ),
    Guard(
        "a replay is refused where another engine deleted rows, at each head that it meets",
        _deletes_are_not_seen,
        {"first": ("replay",), "engine": ("delete",)},
    ),
    Guard(
        "a replay brings back no more rows than were ever left out",
        put(outcome.Comparison, "_is_strange", _by_what_is_told),
        {"first": ("land", "seven hours", "expire", "replay"), "engine": ("delete",)},
    ),
    Guard(
        "a replay is dropped where rows were deleted since",
        put(run._Replayed, "put", _whatever_was_deleted),
        {"first": ("replay",), "engine": ("delete",)},
    ),
    Guard(
        "a replay replaces files that are still there",
        put(run, "put_in_place", put_any),
        {"first": ("replay",), "second": ("compact",)},
    ),
    Guard(
        "a replay is dropped where others changed the same rows",
        put(run, "_marks", lambda *_: ()),
        {"first": ("mend", "replay"), "second": ("redrive",)},
    ),
    Guard(
        "a replay is dropped where main went back",
        put(run._Replayed, "_is_behind", lambda *_: True),
        {"first": ("mend", "replay"), "second": ("roll back", "land")},
    ),
)
