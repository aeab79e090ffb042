"""Carries out the stand-in's own statements, one at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, replace

from sqlglot import exp, parse_one

from frazil_local.snowflake.access import Access
from frazil_local.snowflake.answers import (
    DONE,
    NOTHING_DROPPED,
    Refused,
    Result,
    message,
    missing,
    unsupported,
)
from frazil_local.snowflake.iceberg.governance import get_tags, set_policy, set_tags
from frazil_local.snowflake.iceberg.integrations import (
    verified_integration,
)
from frazil_local.snowflake.iceberg.linked import LinkedDatabases
from frazil_local.snowflake.iceberg.tables import IcebergTables
from frazil_local.snowflake.iceberg.volumes import verified_volume
from frazil_local.snowflake.knobs import Knobs
from frazil_local.snowflake.language.options import (
    check_options,
)
from frazil_local.snowflake.language.parsing import parse_statement
from frazil_local.snowflake.language.statements import (
    Alter,
    Call,
    Calls,
    Create,
    Describe,
    Drop,
    DropDatabase,
    GetTags,
    Grant,
    Refresh,
    Refreshes,
    SetPolicy,
    SetTags,
    Show,
    ShowGrants,
    Statement,
    Use,
)
from frazil_local.snowflake.language.tokens import parse_name
from frazil_local.snowflake.listings import listed, listed_grants, table_information
from frazil_local.snowflake.objects import Objects, Stored
from frazil_local.snowflake.relations import deed_of
from frazil_local.snowflake.rights.session import Session
from frazil_local.snowflake.rights.users import may_take
from frazil_local.snowflake.stored import StoredObjects

_OF_TABLES = (Refresh, Call, Calls, Refreshes, DropDatabase, SetTags, GetTags, SetPolicy)


@dataclass(frozen=True)
class Parts:
    """What an account consists of."""

    access: Access
    objects: Objects
    tables: IcebergTables
    linked: LinkedDatabases
    knobs: Knobs


class Account:
    """The one account of the stand-in."""

    def __init__(self, parts: Parts) -> None:
        self._access, self._objects, self._tables = parts.access, parts.objects, parts.tables
        self._linked, self._knobs = parts.linked, parts.knobs
        self._stored = StoredObjects(parts.access, parts.objects)
        self._one_at_a_time = threading.Lock()

    def parse(self, sql: str) -> Statement | None:
        """The statement, or None if it is one for fakesnow; refuses what can't be read."""
        return parse_statement(sql)

    def look(self) -> None:
        """Lets what follows a catalog do so before the next statement."""
        with self._one_at_a_time:
            self._linked.look()

    def admit(self, tree: exp.Expr, session: Session) -> None:
        """Hears what fakesnow is about to do; refuses to make anything in a catalog-linked database."""
        deed = deed_of(tree, session)
        if deed and deed.verb == "CREATE" and self._linked.has(deed.name):
            raise unsupported(f"{deed.kind} in a catalog-linked database.")

    def done(self, sql: str, session: Session) -> None:
        """Hears what fakesnow did: what is dropped or replaced loses its grants, unless they are copied.

        SHOW has the text of a view as it was sent.
        """
        deed = deed_of(parse_one(sql, read="snowflake"), session)
        if deed and deed.drops_grants:
            self._objects.revoke_within(deed.name)
        if deed and (deed.verb, deed.kind) == ("CREATE", "VIEW"):
            self._tables.keep_text(deed.name, sql)

    def may_take(self, user: str, role: str) -> bool:
        """Whether a user may take a role."""
        return may_take(self._objects, user, role)

    def execute(self, statement: Statement, session: Session) -> Result | None:
        """The statement's result, or None if fakesnow must do it after all; refuses what Snowflake would."""
        of_table = isinstance(statement, _OF_TABLES)
        of_table = of_table or getattr(statement, "kind", None) in ("ICEBERG TABLE", "LINKED DATABASE")
        with self._one_at_a_time:
            return self._of_table(statement, session) if of_table else self._of_object(statement, session)

    def _of_table(self, statement: Statement, session: Session) -> Result | None:
        match statement:
            case Create():
                return self._create_table(statement, session)
            case Drop():
                return self._drop_table(statement, session)
            case DropDatabase():
                return self._drop_database(statement)
            case Alter():
                return self._alter_table(statement, session)
            case Refresh():
                return self._refresh(statement, session)
            case SetTags() | GetTags() | SetPolicy():
                return self._of_tags(statement, session)
            case Describe():
                return self._describe_table(statement, session)
            case Show():
                return listed(statement, self._listable(self._tables.all(), session))
            case Call() | Calls() | Refreshes():
                return self._call(statement, session)
        return None

    def _of_object(self, statement: Statement, session: Session) -> Result | None:
        if isinstance(statement, Create | Alter | Drop):
            statement = replace(statement, name=session.full_of(statement.kind, statement.name))
        match statement:
            case Create():
                return self._stored.create(statement)
            case Alter():
                return self._stored.alter(statement)
            case Drop():
                return self._stored.drop(statement)
            case Describe():
                return self._stored.describe(statement)
            case Show():
                return listed(statement, self._listable(self._objects.all(statement.kind), session))
            case ShowGrants():
                return listed_grants(statement, self._objects.grants(), self._knobs.ways)
            case Grant():
                return self._stored.grant(statement)
            case Use():
                return self._use(statement, session)
        return None

    def _listable(self, objects: Iterable[Stored], session: Session) -> Iterable[Stored]:
        return objects

    def _create_table(self, statement: Create, session: Session) -> Result:
        if statement.kind == "LINKED DATABASE":
            self._linked.create(statement)
            return message(f"Database {statement.name[-1]} successfully created.")
        full = session.full(statement.name)
        check_options(statement.kind, statement.properties)
        if self._tables.create(replace(statement, name=full)):
            return message(f"Table {full[-1]} successfully created.")
        return message(f"{full[-1]} already exists, statement succeeded.")

    def _drop_table(self, statement: Drop, session: Session) -> Result | None:
        full = session.full(statement.name)
        if self._tables.find(full) is None:
            if statement.plain:
                return None
            if statement.if_exists:
                return NOTHING_DROPPED
        self._tables.drop(full)
        return message(f"{full[-1]} successfully dropped.")

    def _alter_table(self, statement: Alter, session: Session) -> Result:
        check_options(statement.kind, statement.assigned)
        self._tables.change(session.full(statement.name), statement.assigned)
        return DONE

    def _drop_database(self, statement: DropDatabase) -> Result:
        self._linked.drop(statement.name)
        if self._tables.drop_database(statement.name):
            self._objects.revoke_within((statement.name,))
            return message(f"{statement.name} successfully dropped.")
        if statement.if_exists:
            return NOTHING_DROPPED
        raise missing("Database", statement.name)

    def _refresh(self, statement: Refresh, session: Session) -> Result:
        full = session.full(statement.name)
        if not (statement.if_exists and self._tables.find(full) is None):
            self._tables.refresh(full)
        return DONE

    def _of_tags(self, statement: SetTags | GetTags | SetPolicy, session: Session) -> Result:
        if isinstance(statement, GetTags):
            return get_tags(statement, self._tables, self._objects, session)
        if isinstance(statement, SetTags):
            set_tags(statement, self._tables, self._objects, session)
        else:
            set_policy(statement, self._tables, self._objects, session)
        return DONE

    def _describe_table(self, statement: Describe, session: Session) -> Result | None:
        full = session.full(statement.name)
        if statement.plain and self._tables.find(full) is None:
            return None
        return self._tables.described(full)

    def _call(self, statement: Call | Calls | Refreshes, session: Session) -> Result:
        if isinstance(statement, Refreshes):
            each = ((place, self._tables.get(session.full(name))) for place, name in statement.asked)
            return Result(("0", "1"), tuple((place, table.text("SHOWN_ON") or None) for place, table in each))
        calls = statement if isinstance(statement, Calls) else Calls((statement,))
        values = {call.column: self._called(call, session) for call in calls.calls}
        if calls.counted:
            values["COUNT(*)"] = str(self._tables.count(session.full(calls.counted)))
        return Result(tuple(values), (tuple(values.values()),))

    def _called(self, statement: Call, session: Session) -> str:
        name = parse_name(statement.argument)
        if statement.function == "SYSTEM$VERIFY_EXTERNAL_VOLUME":
            return verified_volume(self._access, self._objects.get("EXTERNAL VOLUME", name))
        if statement.function == "SYSTEM$VERIFY_CATALOG_INTEGRATION":
            return verified_integration(self._access, self._objects.get("CATALOG INTEGRATION", name))
        if statement.function == "SYSTEM$CATALOG_LINK_STATUS":
            return self._linked.status(name)
        return table_information(self._tables.get(session.full(name)))

    def _use(self, statement: Use, session: Session) -> Result:
        stored = self._objects.get(statement.kind, (statement.name,))
        if statement.kind == "ROLE" and not self.may_take(session.user, stored.plain_name):
            text = f"Requested role '{statement.name}' is not assigned to the executing user."
            raise Refused(3013, "42501", f"SQL execution error: {text}")
        return DONE
