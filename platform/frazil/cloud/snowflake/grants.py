"""Grants: what a role or a user must hold, each by the statement that gives it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from frazil.cloud.resource import Facts, GoesWithAnother, Known
from frazil.cloud.snowflake.client import Snowflake
from frazil.cloud.snowflake.ownership import GRANTS
from frazil.errors import MissingError, NotAllowedError
from frazil.quoting import double_quoted

_HELD, _MISSING = "granted", "missing"


@dataclass(frozen=True)
class Grant:
    """A privilege on an object; a role that is granted is the privilege USAGE on it."""

    privilege: str
    kind: str
    name: tuple[str, ...]

    @property
    def what(self) -> str:
        """As GRANT and REVOKE say it."""
        if self.kind == "ROLE":
            return f"ROLE {double_quoted(*self.name)}"
        return f"{self.privilege} ON {self.kind} {double_quoted(*self.name)}"


@dataclass(frozen=True)
class Grants:
    """All that one role or user must be granted. A grant that is missing shows in a plan as its statement."""

    snowflake: Snowflake = field(repr=False)
    address: str
    needs: tuple[str, ...]
    to_kind: Literal["ROLE", "USER"]
    to_name: str
    grants: tuple[Grant, ...]

    fixed: ClassVar[frozenset[str]] = frozenset()

    def wanted(self, known: Known) -> Facts:
        """See `Resource`."""
        return {self.statement(grant): _HELD for grant in self.grants}

    def read(self, known: Known) -> Facts | None:
        """See `Resource`."""
        try:
            held = self._held()
        except MissingError:
            return None
        found = {self.statement(each): _HELD if each in held else _MISSING for each in self.grants}
        return found if _HELD in found.values() else None

    def create(self, known: Known) -> None:
        """See `Resource`."""
        for grant in self.grants:
            self.snowflake.query(self.statement(grant), role=GRANTS)

    def update(self, there: Facts, known: Known) -> None:
        """See `Resource`."""
        for statement, state in there.items():
            if state == _MISSING:
                self.snowflake.query(statement, role=GRANTS)

    def delete(self, there: Facts, known: Known) -> None:
        """See `Resource`."""
        raise GoesWithAnother

    def verify(self, there: Facts, known: Known) -> None:
        """See `Resource`."""
        if missing := [statement for statement, state in there.items() if state == _MISSING]:
            raise NotAllowedError(
                f"{self.to_kind.capitalize()} {self.to_name} lacks grants.",
                where=self.address,
                meaning="What needs them is refused.",
                todo="\n".join(f"{each};" for each in missing),
            )

    def statement(self, grant: Grant) -> str:
        """Gives one."""
        return f"GRANT {grant.what} TO {self.to_kind} {double_quoted(self.to_name)}"

    def _held(self) -> set[Grant]:
        rows = self.snowflake.shown(
            f"SHOW GRANTS TO {self.to_kind} {double_quoted(self.to_name)}", role=GRANTS
        )
        if self.to_kind == "USER":
            return {Grant("USAGE", "ROLE", _parts(row["role"])) for row in rows}
        return {
            Grant(row["privilege"], row["granted_on"].replace("_", " "), _parts(row["name"])) for row in rows
        }


def _parts(name: str) -> tuple[str, ...]:
    return tuple(part.strip('"') for part in name.split("."))
