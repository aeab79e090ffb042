"""Databases, schemas, tables and views, which fakesnow makes; the account keeps their owners and comments."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from frazil_local.snowflake.answers import Refused
from frazil_local.snowflake.language.statements import RELATIONS, Kind, Name
from frazil_local.snowflake.objects import Objects
from frazil_local.snowflake.rights.privileges import Privileges
from frazil_local.snowflake.rights.session import Session

_PARTS = {"DATABASE": 1, "SCHEMA": 2, "TABLE": 3, "VIEW": 3}


@dataclass(frozen=True, slots=True)
class Deed:
    """What a statement of fakesnow's does to one of them."""

    verb: Literal["CREATE", "ALTER", "DROP"]
    kind: Kind
    name: Name
    comment: str = ""
    reads: tuple[Name, ...] = ()
    or_replace: bool = False
    text: str = ""
    copies_grants: bool = False

    @property
    def drops_grants(self) -> bool:
        """Whether what was granted on the one before is gone with it."""
        replaces = self.verb == "CREATE" and self.or_replace and not self.copies_grants
        return replaces or self.verb == "DROP"


def deed_of(tree: exp.Expr, session: Session) -> Deed | None:
    """What a parsed statement makes, changes or drops; None if it does nothing of that."""
    kind = str(tree.args.get("kind") or "").upper()
    if kind not in RELATIONS or not isinstance(tree, exp.Create | exp.Drop | exp.Alter | exp.Comment):
        return None
    target = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    if not isinstance(target, exp.Table):
        return None
    name = full_name(target, session, kind)
    if not isinstance(tree, exp.Create):
        return Deed("DROP" if isinstance(tree, exp.Drop) else "ALTER", kind, name)
    schema_comment, query = tree.find(exp.SchemaCommentProperty), tree.expression
    reads = tuple(full_name(table, session) for table in tables_of(query)) if query else ()
    comment = schema_comment.this.name if schema_comment else ""
    copies = tree.find(exp.CopyGrantsProperty) is not None
    replaces = bool(tree.args.get("replace"))
    return Deed("CREATE", kind, name, comment, reads, or_replace=replaces, copies_grants=copies)


def tables_of(tree: exp.Expr) -> list[exp.Table]:
    """The tables and views that a query names, without those that it defines itself and those of lists."""
    own = {cte.alias_or_name for cte in tree.find_all(exp.CTE)}
    named = [table for table in tree.find_all(exp.Table) if table.name and table.name not in own]
    return [table for table in named if table.db.upper() != "INFORMATION_SCHEMA"]


def full_name(table: exp.Table, session: Session, kind: str = "TABLE") -> Name:
    """All parts of a name; refuses one that the session can't complete."""
    names = tuple(p.name if p.args.get("quoted") else p.name.upper() for p in table.parts)
    lacking = _PARTS[kind] - len(names)
    current = (session.database, session.schema)[:lacking] if lacking > 0 else ()
    if None in current:
        raise Refused(90105, "22000", "This session does not have a current database or schema.")
    return (*(str(part) for part in current), *names)


class Relations:
    """The register of what fakesnow made."""

    def __init__(self, objects: Objects, privileges: Privileges) -> None:
        self._objects, self._privileges = objects, privileges

    def done(self, deed: Deed, session: Session) -> None:
        """Follows what fakesnow did."""
        if deed.verb == "DROP":
            self.forget(deed.kind, deed.name)
        elif deed.verb == "CREATE" and (deed.or_replace or not self._objects.find(deed.kind, deed.name)):
            granted = self._objects.grants_on(deed.kind, deed.name) if deed.copies_grants else ()
            self._add(deed.kind, deed.name, deed.comment, deed.reads, session, deed.text)
            for grant in granted:
                if grant.privileges != ("OWNERSHIP",):  # the role that replaces it owns it
                    self._objects.grant(grant)
            if deed.kind == "DATABASE":
                self._add("SCHEMA", (*deed.name, "PUBLIC"), "", (), session)

    def forget(self, kind: Kind, name: Name) -> None:
        """Drops one with all that is in it."""
        for each in (*RELATIONS, "ICEBERG TABLE"):
            for inside in self._objects.all(each):
                if inside.name[: len(name)] == name and (len(inside.name) > len(name) or each == kind):
                    self._objects.remove(each, inside.name)

    def read_by(self, tables: Iterable[exp.Table], session: Session) -> set[Name]:
        """The tables that a query reads, also through views."""
        names: set[Name] = set()
        added = {full_name(table, session) for table in tables}
        while added:
            names |= added
            views = [view for name in added if (view := self._objects.find("VIEW", name))]
            added = {tuple(name) for view in views for name in json.loads(view.text("READS", "[]"))} - names
        return names

    def _add(
        self, kind: Kind, name: Name, comment: str, reads: tuple[Name, ...], session: Session, text: str = ""
    ) -> None:
        self._objects.remove(kind, name)
        self._objects.add(kind, name, {"COMMENT": comment, "READS": json.dumps(reads), "TEXT": text})
        self._privileges.own(session.role, kind, name)
