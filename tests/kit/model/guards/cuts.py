"""Guards of a cut: every table of it gets its tag, upon just what its topic held."""

from __future__ import annotations

from typing import Any

from frazil.landing import land, publication
from frazil.landing.cut import create
from frazil.landing.position.ledger import Ledger, read_ledger
from kit.model.guards.guard import Guard, nothing, put

__all__ = ["CUTS"]


def _begun_anywhere(self: create._Begun, table: Any) -> Ledger:
    before = read_ledger(table.metadata)
    assert before
    return self.entry.beside(before)


CUTS: tuple[Guard, ...] = (
    Guard(
        "a landing ends at the next cut",
        put(land, "limited", lambda plan, _: plan),
        {"first": ("cut", "produce", "land")},
    ),
    Guard(
        "a landing that would go past a cut is dropped",
        put(publication, "refuse_passing", nothing),
        {"first": ("land",), "second": ("cut",), "third": ("produce",)},
    ),
    Guard(
        "the commit that brings a table to a cut tags it",
        put(publication, "tag_reached", nothing),
        {"first": ("cut", "land")},
    ),
    Guard(
        "a cut begins where no table is past it",
        put(create._Begun, "next_entry", _begun_anywhere),
        {"first": ("produce", "land"), "second": ("cut",)},
    ),
)
