"""Guards of what is forgotten: whoever began before may hold it, and must not publish it behind the look."""

from __future__ import annotations

from typing import Any

import pytest

from frazil.derive import dead_letters, derive, publish
from frazil.landing import publication
from frazil.landing.repairs import selection
from frazil.landing.replay import run
from frazil.upkeep.forgetting import forget
from kit.model.guards.guard import Guard, nothing, put

__all__ = ["FORGETTINGS"]


def _nobody_counts(*modules: Any) -> Any:
    def out(patch: pytest.MonkeyPatch) -> None:
        for module in modules:
            patch.setattr(module, "forgettings", lambda _: 0)

    return out


def _no_redrive_compares(patch: pytest.MonkeyPatch) -> None:
    """Rows that were found and taken are counted in the ledger, too."""
    _nobody_counts(publication, selection)(patch)
    patch.setattr(publication.Redriven, "_passed", lambda *_: False)


def _known_at_the_start(self: forget._Forgetting) -> list[Any]:
    known = self.__dict__.setdefault("_known", [])
    if not known:
        known.append(list(forget.made_of(self._handle.name, self.condition, self.derived, self.connections)))
    return list(known[0])


FORGETTINGS: tuple[Guard, ...] = (
    Guard(
        "a redrive is dropped where rows were looked for to be forgotten since",
        _no_redrive_compares,
        {"first": ("redrive",), "second": ("forget",)},
    ),
    Guard(
        "a replay is dropped where rows were looked for to be forgotten since",
        put(run, "_marks", lambda *_: ()),
        {"first": ("mend", "replay"), "second": ("forget",)},
    ),
    Guard(
        "a derivation is dropped where rows of its inputs were forgotten since",
        put(derive, "refuse_forgotten", nothing),
        {"first": ("derive",), "second": ("forget",)},
    ),
    Guard(
        "a derivation is dropped where rows of its own table were forgotten since",
        _nobody_counts(publish, derive, dead_letters),
        {"first": ("derive",), "second": ("forget",)},
        sweeps=True,
    ),
    Guard(
        "what is made of a table is looked for once its own rows are forgotten",
        put(forget._Forgetting, "_tables_made", _known_at_the_start),
        {"first": ("derive",), "second": ("forget",)},
    ),
)
