"""A login in force."""

from __future__ import annotations

from dataclasses import dataclass

from frazil.local.snowflake.errors import Refused
from frazil.local.snowflake.statements import Name

__all__ = ["Session"]

_PARTS = 3  # database, schema, table


@dataclass(frozen=True, slots=True)
class Session:
    """Who asks, and the database and schema that short names mean."""

    user: str
    database: str | None
    schema: str | None

    def full(self, name: Name) -> Name:
        """A table's name with database and schema.

        Raises:
            Refused: The name is short and the session has no current database or schema.
        """
        current = (self.database, self.schema)[: max(0, _PARTS - len(name))]
        known = tuple(part for part in current if part is not None)
        if len(known) < len(current):
            text = "This session does not have a current database or schema."
            raise Refused(90105, "22000", text)
        return (*known, *name)
