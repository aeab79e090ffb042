"""What a table's properties say where nothing is to be landed into it, and who stopped it."""

from __future__ import annotations

from collections.abc import Mapping

SUSPENDED = "frazil.suspended"
"""Table property that says why a table is suspended; gone with the next landing."""

SUSPENDED_BY = "frazil.suspended-by"
"""Table property that says who suspends it; nobody is named where a record does."""

SCHEMA, PAUSE, TABLEFLOW = "schema", "pause", "tableflow"
"""Its values: a schema that does not fit; a person, for a while; the topic was released to Tableflow."""

MARKS = (SUSPENDED, SUSPENDED_BY)
"""What goes when a table is resumed."""


def is_halted(properties: Mapping[str, str]) -> bool:
    """Whether a person stopped it: then nothing but `frazil resume` starts it again."""
    return properties.get(SUSPENDED_BY) in (PAUSE, TABLEFLOW)
