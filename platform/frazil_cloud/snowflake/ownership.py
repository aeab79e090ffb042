"""What all of Snowflake's objects have in common: SHOW lists them, and a comment says whose they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from frazil.errors import ConfigureError, MissingError
from frazil.publishing.snowflake.statements import text
from frazil.quoting import double_quoted
from frazil_cloud.resource import Facts, Known
from frazil_cloud.snowflake.client import Snowflake

ACCOUNT, OBJECTS, USERS, GRANTS = "ACCOUNTADMIN", "SYSADMIN", "USERADMIN", "SECURITYADMIN"
"""Snowflake's own roles: each statement is carried out in the least of them that may do it."""

SYSTEM_ROLES = (ACCOUNT, OBJECTS, USERS, GRANTS)


@dataclass(frozen=True)
class Marked:
    """An object with a name and a comment. Somebody else's object is neither changed nor dropped.

    Args:
        mark: The comment on all that is this deployment's.
        name: All parts of its name, as Snowflake keeps it.
    """

    snowflake: Snowflake = field(repr=False)
    mark: str
    name: tuple[str, ...]
    address: str
    needs: tuple[str, ...] = ()

    kind: ClassVar[str]
    role: ClassVar[str]
    its_own: ClassVar[bool] = True  # somebody else may have made one of that name
    fixed: ClassVar[frozenset[str]] = frozenset()

    def __str__(self) -> str:
        return f"{self.kind} {double_quoted(*self.name)}"

    def wanted(self, known: Known) -> Facts:
        """See `Resource`."""
        return {"name": ".".join(self.name)}

    def read(self, known: Known) -> Facts | None:
        """See `Resource`."""
        if (row := self.row()) is None:
            return None
        if self.its_own and row.get("comment") != self.mark:
            raise _foreign(self, row.get("comment") or "")
        return {"name": ".".join(self.name), **self.facts(row)}

    def facts(self, row: dict[str, Any]) -> Facts:
        """What SHOW tells, and what else there is to tell."""
        return {}

    def create(self, known: Known) -> None:
        """See `Resource`."""
        self.say(f"CREATE {self.kind} IF NOT EXISTS {self.options(known)}".rstrip())

    def options(self, known: Known) -> str:
        """Name and properties, as CREATE takes them."""
        return f"{double_quoted(*self.name)} {self.comment}"

    def update(self, there: Facts, known: Known) -> None:
        """See `Resource`."""

    def delete(self, there: Facts, known: Known) -> None:
        """See `Resource`."""
        self.say(f"DROP {self.kind} IF EXISTS {double_quoted(*self.name)}")

    def verify(self, there: Facts, known: Known) -> None:
        """See `Resource`: others prove it by using it."""

    @property
    def comment(self) -> str:
        """The mark, as CREATE and ALTER take it."""
        return f"COMMENT = {text(self.mark)}"

    def say(self, sql: str) -> list[tuple[Any, ...]]:
        """Carries out a statement in the role that makes such objects."""
        return self.snowflake.query(sql, role=self.role)

    def row(self) -> dict[str, Any] | None:
        """What SHOW lists of it."""
        inside = (
            f" IN {_CONTAINERS[len(self.name)]} {double_quoted(*self.name[:-1])}" if self.name[1:] else ""
        )
        try:
            rows = self.snowflake.shown(f"SHOW {self.kind}S LIKE {text(self.name[-1])}{inside}", role=ACCOUNT)
        except MissingError:  # the database or the schema
            return None
        return next((row for row in rows if row["name"] == self.name[-1]), None)


_CONTAINERS = {2: "DATABASE", 3: "SCHEMA"}


def _foreign(one: Marked, comment: str) -> ConfigureError:
    return ConfigureError(
        f"Snowflake has a {one} that is not of this deployment.",
        where=f"its comment is {comment!r}, not {one.mark!r}",
        meaning="It was neither changed nor dropped.",
        todo=f"Give the deployment another name. If it is its own: ALTER {one} SET {one.comment};",
    )
