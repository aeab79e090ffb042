"""What Snowflake denies: each statement needs its privileges, as its documents of access control say.

Left out: future grants, managed access schemas, database roles, secondary roles, masking.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from frazil_local.snowflake.answers import Refused
from frazil_local.snowflake.language.statements import (
    Alter,
    Call,
    Create,
    Describe,
    Drop,
    DropDatabase,
    Grant,
    Kind,
    Name,
    Refresh,
    SetPolicy,
    SetTags,
    Statement,
    Use,
)
from frazil_local.snowflake.language.tokens import parse_name
from frazil_local.snowflake.objects import Objects
from frazil_local.snowflake.relations import Deed, deed_of, full_name, tables_of
from frazil_local.snowflake.rights.privileges import Privileges, hidden, insufficient
from frazil_local.snowflake.rights.session import Session

_ON_ACCOUNT = {
    "ROLE": ("USERADMIN", "CREATE ROLE"),
    "USER": ("USERADMIN", "CREATE USER"),
    "WAREHOUSE": ("SYSADMIN", "CREATE WAREHOUSE"),
    "DATABASE": ("SYSADMIN", "CREATE DATABASE"),
    "LINKED DATABASE": ("SYSADMIN", "CREATE DATABASE"),
    "EXTERNAL VOLUME": ("ACCOUNTADMIN", "CREATE EXTERNAL VOLUME"),
    "CATALOG INTEGRATION": ("ACCOUNTADMIN", "CREATE INTEGRATION"),
    "SECURITY INTEGRATION": ("ACCOUNTADMIN", "CREATE INTEGRATION"),
}
"""Who makes what belongs to the account: a role of Snowflake's, or the privilege that stands for it."""

_DESCRIBED_BY = {
    "USER": "MONITOR",
    "EXTERNAL VOLUME": "USAGE",
    "CATALOG INTEGRATION": "USAGE",
    "WAREHOUSE": "USAGE",
}
_CHANGES: dict[type[exp.Expr], str] = {
    exp.Insert: "INSERT",
    exp.Update: "UPDATE",
    exp.Delete: "DELETE",
    exp.Merge: "UPDATE",
}
_WRITES = (*_CHANGES, exp.Create, exp.Drop, exp.Alter)
_NO_WAREHOUSE = Refused(606, "57P03", "No active warehouse selected in the current session.")


class Guard:
    """Refuses what the role of a session may not do."""

    def __init__(self, objects: Objects, privileges: Privileges) -> None:
        self._objects, self._privileges = objects, privileges

    def check(self, statement: Statement, session: Session) -> None:
        """Refuses a statement of the stand-in's own that the session may not run."""
        match statement:
            case Create():
                self._check_create(statement, session)
            case Alter(kind=kind, name=name) | Drop(kind=kind, name=name):
                self._check_owner(kind, session.full_of(kind, name), session)
            case Refresh(name=name):
                self._check_owner("ICEBERG TABLE", session.full(name), session)
            case SetTags(name=name, tags=tags):
                self._check_applied("TAG", session.full(name), [tag for tag, _ in tags], session)
            case SetPolicy(name=name, policy=policy):
                policies = [policy] if policy else []
                self._check_applied("MASKING POLICY", session.full(name), policies, session)
            case DropDatabase(name=database):
                self._check_owner("DATABASE", (database,), session)
            case Grant(on_kind=on_kind, on_name=name):
                self._check_grant(on_kind, name, session)
            case _:
                self._check_use(statement, session)

    def _check_use(self, statement: Statement, session: Session) -> None:
        match statement:
            case Use(kind="WAREHOUSE", name=name):
                if not self._holds(session, "WAREHOUSE", (name,), "USAGE", "OPERATE"):
                    text = "SQL compilation error:\nObject does not exist, or operation cannot be performed."
                    raise Refused(2043, "02000", text)
            case Describe(kind=kind, name=full) if kind in _DESCRIBED_BY and full != (session.user,):
                if not self._holds(session, kind, full, _DESCRIBED_BY[kind]):
                    raise hidden(".".join(full))
            case Call(function="SYSTEM$VERIFY_EXTERNAL_VOLUME", argument=argument):
                self._check_owner("EXTERNAL VOLUME", parse_name(argument), session)
            case Call(function="SYSTEM$VERIFY_CATALOG_INTEGRATION", argument=argument):
                if not self._holds(session, "INTEGRATION", parse_name(argument), "USAGE"):
                    raise hidden(argument)

    def check_query(self, tree: exp.Expr, session: Session) -> None:
        """Refuses a statement for fakesnow that the session may not run."""
        deed = deed_of(tree, session)
        if deed and deed.verb == "CREATE":
            self._check_made(deed, session)
        elif deed:
            self._check_owner(deed.kind, deed.name, session)
        if isinstance(tree, (exp.Query, *_WRITES)):
            self._check_reads(tree, deed, session)

    def sees(self, kind: str, name: Name, session: Session) -> bool:
        """Whether SHOW lists an object; users and roles are known to all."""
        return kind in ("USER", "ROLE") or self._privileges.sees(session.role, kind, name)

    def _check_create(self, statement: Create, session: Session) -> None:
        kind, name = statement.kind, statement.name
        if statement.or_replace:
            self._check_owner(kind, session.full_of(kind, name), session)
        if kind in ("TAG", "MASKING POLICY"):
            self._need(session, "SCHEMA", session.full(name)[:2], f"CREATE {kind}")
        elif kind == "ICEBERG TABLE":
            self._check_iceberg(session.full(name), statement, session)
        else:
            self._check_on_account(kind, session)

    def _check_iceberg(self, name: Name, statement: Create, session: Session) -> None:
        def named(option: str) -> Name:
            return (str(statement.properties.get(option, "")).upper(),)

        self._need(session, "DATABASE", name[:1], "USAGE")
        self._need(session, "SCHEMA", name[:2], "USAGE")
        self._need(session, "SCHEMA", name[:2], "CREATE ICEBERG TABLE")
        self._need(session, "EXTERNAL VOLUME", named("EXTERNAL_VOLUME"), "USAGE")
        self._need(session, "INTEGRATION", named("CATALOG"), "USAGE")

    def _check_applied(self, kind: Kind, table: Name, names: Iterable[Name], session: Session) -> None:
        """Sets tags and policies who may apply any of the account, or owns the table and may apply each."""
        if self._holds(session, "ACCOUNT", ("ACCOUNT",), f"APPLY {kind}"):
            return
        self._check_owner("ICEBERG TABLE", table, session)
        for name in map(session.full, names):
            if self._objects.find(kind, name):  # what is missing is said to be missing
                self._need(session, kind, name, "APPLY")

    def _check_on_account(self, kind: str, session: Session) -> None:
        role, privilege = _ON_ACCOUNT[kind]
        has_role = role in self._privileges.roles(session.role)
        if not has_role and not self._holds(session, "ACCOUNT", ("ACCOUNT",), privilege):
            raise insufficient("account")

    def _check_made(self, deed: Deed, session: Session) -> None:
        if deed.or_replace:
            self._check_owner(deed.kind, deed.name, session)
        match deed.kind:
            case "DATABASE":
                self._check_on_account("DATABASE", session)
            case "SCHEMA":
                self._need(session, "DATABASE", deed.name[:1], "CREATE SCHEMA")
            case _:
                self._need(session, "DATABASE", deed.name[:1], "USAGE")
                self._need(session, "SCHEMA", deed.name[:2], "USAGE")
                self._need(session, "SCHEMA", deed.name[:2], f"CREATE {deed.kind}")

    def _check_owner(self, kind: Kind, name: Name, session: Session) -> None:
        kinds: tuple[Kind, ...] = ("TABLE", "ICEBERG TABLE") if kind == "TABLE" else (kind,)
        there = any(self._objects.find(each, name) for each in kinds)
        if there and not self._holds(session, kind, name):  # what is missing is said to be missing
            raise insufficient(f"{kind.lower()} '{'.'.join(name)}'")

    def _check_grant(self, kind: str, name: Name, session: Session) -> None:
        if not self._privileges.manages_grants(session.role) and not self._holds(session, kind, name):
            raise insufficient(f"{kind.lower()} '{'.'.join(name)}'")

    def _check_reads(self, tree: exp.Expr, deed: Deed | None, session: Session) -> None:
        target = tree.this if isinstance(tree, _WRITES) else None
        written = {id(t) for t in target.find_all(exp.Table)} if isinstance(target, exp.Expr) else set()
        tables = tables_of(tree)
        change = _CHANGES.get(type(tree))
        reads = any(id(t) not in written for t in tables)
        if change or (reads and not (deed and deed.kind == "VIEW")):
            self._check_warehouse(session)
        for table in tables:
            privilege = change if id(table) in written else "SELECT"
            if privilege:
                self._check_read(full_name(table, session), privilege, session)

    def _check_warehouse(self, session: Session) -> None:
        if session.warehouse is None:
            raise _NO_WAREHOUSE
        self._need(session, "WAREHOUSE", (session.warehouse,), "USAGE")

    def _check_read(self, name: Name, privilege: str, session: Session) -> None:
        if not self._holds(session, "DATABASE", name[:1], "USAGE"):
            raise hidden(name[0])
        if not self._holds(session, "SCHEMA", name[:2], "USAGE"):
            raise hidden(".".join(name[:2]))
        if not any(self._holds(session, kind, name, privilege) for kind in ("TABLE", "VIEW")):
            raise hidden(".".join(name))

    def _need(self, session: Session, kind: str, name: Name, privilege: str) -> None:
        if not self._holds(session, kind, name, privilege):
            raise insufficient(f"{kind.lower()} '{'.'.join(name)}'")

    def _holds(self, session: Session, kind: str, name: Name, *privileges: str) -> bool:
        return self._privileges.holds(session.role, kind, name, *privileges)
