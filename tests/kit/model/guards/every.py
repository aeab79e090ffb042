"""All guards of the engine that the model tries."""

from __future__ import annotations

from kit.model.guards.commits import COMMITS
from kit.model.guards.cuts import CUTS
from kit.model.guards.forgettings import FORGETTINGS
from kit.model.guards.guard import Guard
from kit.model.guards.landings import LANDINGS
from kit.model.guards.repairs import REPAIRS
from kit.model.guards.upkeep import UPKEEP

__all__ = ["GUARDS"]

GUARDS: tuple[Guard, ...] = (*COMMITS, *LANDINGS, *CUTS, *REPAIRS, *UPKEEP, *FORGETTINGS)
