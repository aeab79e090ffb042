"""All bugs that are planted into the engine."""

from __future__ import annotations

from kit.mutants.keyed import KEYED
from kit.mutants.landings import LANDINGS
from kit.mutants.upkeep import UPKEEP

__all__ = ["MUTANTS"]

MUTANTS = [*LANDINGS, *KEYED, *UPKEEP]
