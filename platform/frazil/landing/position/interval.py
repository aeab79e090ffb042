"""How often a table with a `budget` lands: a property of the table says what was chosen, and why."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import timedelta

from frazil.errors import MALFORMED
from frazil.spec.topic import TableSpec

PROPERTY = "frazil.land-interval"


@dataclass(frozen=True, slots=True)
class ChosenInterval:
    """Seconds between two landings, and why it is those: a sentence with numbers."""

    every: float
    why: str

    @property
    def freshness(self) -> timedelta:
        """What `freshness` would be written for it."""
        return timedelta(seconds=2 * self.every)

    def properties(self) -> dict[str, str]:
        """The same as table properties."""
        return {PROPERTY: json.dumps(asdict(self))}


_NOT_YET = "Nothing is chosen yet: that needs an hour of landings. Until then it is `land_when.age`."


def interval_of(spec: TableSpec, chosen: ChosenInterval | None) -> ChosenInterval:
    """How often a table with a budget lands, and why: as any other, until an interval was chosen."""
    return chosen or ChosenInterval(spec.interval.total_seconds(), _NOT_YET)


def chosen_interval(properties: Mapping[str, str]) -> ChosenInterval | None:
    """What a table's properties say; what can't be read counts as not chosen."""
    try:
        known = json.loads(properties[PROPERTY])
        every = float(known["every"])
        return ChosenInterval(every, str(known["why"])) if every > 0 else None
    except MALFORMED:
        return None
