"""Grants: what a role or a user must hold, each by the statement that gives it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from frazil.cloud.resource import Facts, GoesWithAnother, Known
from frazil.cloud.snowflake.client import Snowflake
from frazil.cloud.snowflake.ownership import GRANTS, SYSTEM_ROLES
from frazil.errors import MissingError, NotAllowedError
from frazil.quoting import double_quoted

_HELD, MISSING = "granted", "missing"
ADMINISTRATOR = "snowflake/grants/administrator"
"""The address of what lets an administrator take the deployment's roles."""
_EXTRA = "more than that"
_MEANT: Mapping[str, str] = {
    "VOLUME": "EXTERNAL VOLUME",
    "CATALOG INTEGRATION": "INTEGRATION",
    "ICEBERG TABLE": "TABLE",
}
"""What SHOW GRANTS calls a kind, and what is meant: by the general word, or from bundle 2026_06 by the
specific one (terraform-provider-snowflake `pkg/sdk/grants.go`, BCR-2371)."""
_PART = re.compile(r'"((?:[^"]|"")*)"|([^."]+)')


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
        if self.kind == "ACCOUNT":
            return f"{self.privilege} ON ACCOUNT"
        return f"{self.privilege} ON {self.kind} {double_quoted(*self.name)}"


@dataclass(frozen=True)
class Grants:
    """All that one role or user must be granted, and no more. What is missing is shown as its statement.

    Args:
        inside: The database in which pipelines grant what they need. Empty: there is none.
    """

    snowflake: Snowflake = field(repr=False)
    address: str
    needs: tuple[str, ...]
    to_kind: Literal["ROLE", "USER"]
    to_name: str
    grants: tuple[Grant, ...]
    inside: str = ""

    fixed: ClassVar[frozenset[str]] = frozenset()

    def wanted(self, known: Known) -> Facts:
        """See `Resource`."""
        return {**{self.statement(grant): _HELD for grant in self.grants}, _EXTRA: []}

    def read(self, known: Known) -> Facts | None:
        """See `Resource`."""
        try:
            held = self._held()
        except MissingError:
            return None
        found = {self.statement(each): _HELD if each in held else MISSING for each in self.grants}
        extra = sorted(self.statement(each) for each in held - {*self.grants} if self._is_extra(each))
        return {**found, _EXTRA: extra} if _HELD in found.values() else None

    def create(self, known: Known) -> None:
        """See `Resource`."""
        for grant in self.grants:
            self.snowflake.query(self.statement(grant), role=GRANTS)

    def update(self, there: Facts, known: Known) -> None:
        """See `Resource`."""
        for statement, state in there.items():
            if state == MISSING:
                self.snowflake.query(statement, role=GRANTS)
        for statement in there[_EXTRA]:
            self.snowflake.query(_revoked(statement), role=GRANTS)

    def delete(self, there: Facts, known: Known) -> None:
        """See `Resource`."""
        raise GoesWithAnother

    def verify(self, there: Facts, known: Known) -> None:
        """See `Resource`."""
        if missing := [statement for statement, state in there.items() if state == MISSING]:
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
        return {_grant_of(row) for row in rows}

    def _is_extra(self, grant: Grant) -> bool:
        """Whether nobody of the deployment gave it: owners own, and pipelines grant in its own database."""
        is_ours = self.to_name not in SYSTEM_ROLES
        return is_ours and grant.privilege != "OWNERSHIP" and grant.name[:1] != (self.inside,)


def _revoked(statement: str) -> str:
    given, to, whom = statement.removeprefix("GRANT ").rpartition(" TO ")
    return f"REVOKE {given} FROM {whom}" if to else statement


def _grant_of(row: Mapping[str, Any]) -> Grant:
    """A row of SHOW GRANTS: a role that a user has, or a privilege; each has its columns (BCR-1803)."""
    if role := row.get("role"):
        return Grant("USAGE", "ROLE", _parts(str(role)))
    kind = str(row["granted_on"]).replace("_", " ")
    return Grant(str(row["privilege"]), _MEANT.get(kind, kind), _parts(str(row["name"])))


def _parts(name: str) -> tuple[str, ...]:
    """The parts of a name, as SHOW writes them: quoted where they have to be."""
    return tuple(quoted.replace('""', '"') or plain for quoted, plain in _PART.findall(name))
