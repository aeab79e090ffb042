"""The account where privileges count: the same statements, behind the guard, and with owners."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from sqlglot import exp, parse_one

from frazil_local.snowflake.account import Account, Parts
from frazil_local.snowflake.answers import Refused, Result, missing
from frazil_local.snowflake.language.parsing import parse_relation, parse_statement
from frazil_local.snowflake.language.statements import (
    RELATIONS,
    Create,
    Current,
    Drop,
    DropDatabase,
    Grant,
    Show,
    Statement,
)
from frazil_local.snowflake.objects import Stored, granted_as
from frazil_local.snowflake.relations import Relations, deed_of, tables_of
from frazil_local.snowflake.rights.guard import Guard
from frazil_local.snowflake.rights.privileges import Privileges, hidden
from frazil_local.snowflake.rights.session import Session


class StrictAccount(Account):
    """Refuses what the role of a session may not do, and notes who owns what was made."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._privileges = Privileges(parts.objects)
        self._privileges.seed()
        self._guard = Guard(parts.objects, self._privileges)
        self._relations = Relations(parts.objects, self._privileges)

    def parse(self, sql: str) -> Statement | None:
        """See `Account`: it also knows lists and comments of what fakesnow makes."""
        return parse_relation(sql) or parse_statement(sql)

    def execute(self, statement: Statement, session: Session) -> Result | None:
        """See `Account`."""
        if isinstance(statement, Current):
            return _current(statement, session)
        self._check_named(statement, session)
        self._guard.check(statement, session)
        result = super().execute(statement, session)
        self._follow(statement, session)
        return result

    def admit(self, tree: exp.Expr, session: Session) -> None:
        """Refuses what fakesnow must not do for this session; opens the Iceberg tables that it reads."""
        super().admit(tree, session)
        self._guard.check_query(tree, session)
        if isinstance(tree, exp.Query):
            self._open(tree, session)
        elif isinstance(tree, exp.Describe):
            with suppress(Refused):  # Snowflake describes what it may not read: the storage is not asked
                self._open(tree, session)

    def _open(self, tree: exp.Expr, session: Session) -> None:
        for name in self._relations.read_by(tables_of(tree), session):
            self._tables.open(name)

    def done(self, sql: str, session: Session) -> None:
        """Follows what fakesnow did for this session."""
        if deed := deed_of(_parsed(sql), session):
            self._relations.done(replace(deed, text=sql), session)

    def may_take(self, user: str, role: str) -> bool:
        """See `Account`: nobody takes a role that was not granted, directly or through another."""
        granted = [g.on_name for g in self._objects.grants() if (g.to_kind, g.to_name) == ("USER", user)]
        inherited = {low for each in granted for low in self._privileges.roles(each)}
        return role in {*inherited, "PUBLIC"} and self._objects.find("ROLE", (role,)) is not None

    def _listable(self, objects: Iterable[Stored], session: Session) -> Iterable[Stored]:
        owners = {
            (g.on_kind, g.on_name): g.to_name for g in self._objects.grants() if g.privilege == "OWNERSHIP"
        }
        for each in objects:
            if self._guard.sees(each.kind, each.name, session):
                owner = owners.get((granted_as(each.kind), each.plain_name), "ACCOUNTADMIN")
                yield replace(each, properties={**each.properties, "OWNER": owner})

    def _check_named(self, statement: Statement, session: Session) -> None:
        match statement:
            case Grant(on_kind=kind, on_name=name) if kind in (*RELATIONS, "ICEBERG TABLE"):
                kinds: Any = ("TABLE", "ICEBERG TABLE") if "TABLE" in kind else (kind,)
                if not any(self._objects.find(each, name) for each in kinds):
                    raise missing(kind, ".".join(name))
            case Show(scope=scope) if scope:
                if not self._guard.sees("DATABASE", scope[:1], session):
                    raise hidden(scope[0])

    def _follow(self, statement: Statement, session: Session) -> None:
        match statement:
            case Create(kind=kind, name=name):
                kind = "DATABASE" if kind == "LINKED DATABASE" else kind
                full = session.full_of(kind, name)
                if not self._privileges.has_owner(kind, full):
                    self._privileges.own(session.role, kind, full)
            case Drop(kind="ROLE", name=name):
                self._privileges.inherit(name[-1], session.role)
            case DropDatabase(name=database):
                self._relations.forget("DATABASE", (database,))


def _current(statement: Current, session: Session) -> Result:
    values = {
        "CURRENT_ROLE": session.role,
        "CURRENT_USER": session.user,
        "CURRENT_WAREHOUSE": session.warehouse,
    }
    names = tuple(f"{function}()" for function in statement.functions)
    return Result(names, (tuple(values[function] for function in statement.functions),))


def _parsed(sql: str) -> exp.Expr:
    return parse_one(sql, read="snowflake")
