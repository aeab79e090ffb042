"""Grants: what a role or a user must hold, each by the statement that gives it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from frazil.errors import DifferentError, MissingError, NotAllowedError
from frazil.quoting import double_quoted
from frazil_cloud.resource import Facts, GoesWithAnother, Known
from frazil_cloud.snowflake.client import Snowflake
from frazil_cloud.snowflake.ownership import GRANTS, SYSTEM_ROLES
from frazil_cloud.snowflake.rights.present import Grant, PresentGrant, future_of, present_grant, unquoted

_HELD, MISSING = "granted", "missing"
ADMINISTRATOR = "snowflake/grants/administrator"
"""The address of what lets an administrator take the deployment's roles."""
_EXTRA, _OTHERS = "more than that", "also given to"


@dataclass(frozen=True)
class Surplus:
    """What somebody else gave, by the statement that gave it.

    Args:
        revoke: Takes it away. Empty: it can't be written from what Snowflake tells.
    """

    gave: str
    revoke: str


@dataclass(frozen=True)
class Grants:
    """All that one role or user must be granted, and no more. What is missing is shown as its statement.

    Args:
        inside: The database in which pipelines grant what they need. Empty: there is none.
        holders: Who alone has this role, by kind and name. Empty: nobody looks.
    """

    snowflake: Snowflake = field(repr=False)
    address: str
    needs: tuple[str, ...]
    to_kind: Literal["ROLE", "USER"]
    to_name: str
    grants: tuple[Grant, ...]
    inside: str = ""
    holders: tuple[tuple[str, str], ...] = ()

    fixed: ClassVar[frozenset[str]] = frozenset()

    def wanted(self, known: Known) -> Facts:
        """See `Resource`."""
        needed = {self.statement(grant): _HELD for grant in self.grants}
        return {**needed, _EXTRA: [], **({_OTHERS: []} if self.holders else {})}

    def read(self, known: Known) -> Facts | None:
        """See `Resource`."""
        try:
            present = self._present()
            surplus = {_EXTRA: self._extra(present), **({_OTHERS: self._others()} if self.holders else {})}
        except MissingError:
            return None
        has = {each.grant for each in present}
        grants = {self.statement(each): _HELD if each in has else MISSING for each in self.grants}
        surplus_facts = {name: sorted(each.gave for each in those) for name, those in surplus.items()}
        return {**grants, **surplus_facts} if _HELD in grants.values() else None

    def create(self, known: Known) -> None:
        """See `Resource`."""
        for grant in self.grants:
            self.snowflake.query(self.statement(grant), role=GRANTS)

    def update(self, there: Facts, known: Known) -> None:
        """See `Resource`. What can't be revoked by what Snowflake tells of it, is named.

        Raises:
            DifferentError: Somebody has to revoke it by hand; the rest is done.
        """
        for statement, state in there.items():
            if state == MISSING:
                self.snowflake.query(statement, role=GRANTS)
        surplus = (*self._extra(self._present()), *(self._others() if self.holders else ()))
        for each in surplus:
            if each.revoke:
                self.snowflake.query(each.revoke, role=GRANTS)
        if left := [each.gave for each in surplus if not each.revoke]:
            raise self._unwritten(left)

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
        return f"GRANT {grant.what} TO {self._whom}"

    @property
    def _whom(self) -> str:
        return f"{self.to_kind} {double_quoted(self.to_name)}"

    @property
    def _is_ours(self) -> bool:
        return self.to_name not in SYSTEM_ROLES

    def _present(self) -> list[PresentGrant]:
        rows = self.snowflake.shown(f"SHOW GRANTS TO {self._whom}", role=GRANTS)
        present = [present_grant(row) for row in rows]
        if self.to_kind == "ROLE" and self._is_ours:
            rows = self.snowflake.shown(f"SHOW FUTURE GRANTS TO {self._whom}", role=GRANTS)
            present += [future_of(row) for row in rows]
        return present

    def _extra(self, present: list[PresentGrant]) -> list[Surplus]:
        """What nobody of the deployment gave: owners own, and pipelines grant in its own database."""
        return list(self._each_extra(present)) if self._is_ours else []

    def _each_extra(self, present: list[PresentGrant]) -> Iterator[Surplus]:
        for each in present:
            grant, needed = each.grant, each.grant in self.grants
            if grant.privilege == "OWNERSHIP" or grant.name[:1] == (self.inside,):
                continue
            if not needed or each.passes_on:
                option = " WITH GRANT OPTION" if each.passes_on else ""
                revoke = f"REVOKE {'GRANT OPTION FOR ' if needed else ''}{grant.what} FROM {self._whom}"
                is_written = grant.is_written and not each.is_inherited
                yield Surplus(f"{self.statement(grant)}{option}", revoke if is_written else "")

    def _others(self) -> list[Surplus]:
        """Who else has this role."""
        rows = self.snowflake.shown(f"SHOW GRANTS OF {self._whom}", role=GRANTS)
        having = {(str(row["granted_to"]), unquoted(str(row["grantee_name"]))) for row in rows}
        return [self._other(kind, name) for kind, name in sorted(having - {*self.holders})]

    def _other(self, kind: str, name: str) -> Surplus:
        whom = f"{kind} {double_quoted(name)}"
        is_written = kind in ("ROLE", "USER")
        return Surplus(f"GRANT {self._whom} TO {whom}", f"REVOKE {self._whom} FROM {whom}" * is_written)

    def _unwritten(self, left: list[str]) -> DifferentError:
        return DifferentError(
            f"{self.to_kind.capitalize()} {self.to_name} has more than it needs, which Frazil can't revoke.",
            where="\n".join([self.address, *left]),
            meaning="It stays; all else that differed was changed.",
            todo=f"SHOW GRANTS TO {self._whom}; then revoke it with the object's full signature, or what it "
            "is inherited from.",
        )
