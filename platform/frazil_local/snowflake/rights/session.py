"""One session of the stand-in's account."""

from __future__ import annotations

from dataclasses import dataclass

from frazil_local.snowflake.answers import Refused
from frazil_local.snowflake.language.statements import Name

_IN_SCHEMAS = ("ICEBERG TABLE", "TAG", "MASKING POLICY", "TABLE", "VIEW")


@dataclass(frozen=True, slots=True)
class Session:
    """Who asks, in which role, and what short names mean."""

    user: str
    role: str
    warehouse: str | None = None
    database: str | None = None
    schema: str | None = None

    def full(self, name: Name) -> Name:
        """A table's name with database and schema; refuses a short one that the session can't complete."""
        current = (self.database, self.schema)[: max(0, 3 - len(name))]
        known = tuple(part for part in current if part is not None)
        if len(known) < len(current):
            raise Refused(90105, "22000", "This session does not have a current database or schema.")
        return (*known, *name)

    def full_of(self, kind: str, name: Name) -> Name:
        """The name of an object of a kind: with database and schema where it lies in one."""
        return self.full(name) if kind in _IN_SCHEMAS else name
