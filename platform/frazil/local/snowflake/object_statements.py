"""Carries out statements about users, roles, warehouses, volumes and integrations."""

from __future__ import annotations

from typing import Any

from frazil.local.snowflake.errors import Refused, already_there, missing
from frazil.local.snowflake.listings import listed, listed_grants
from frazil.local.snowflake.objects import Objects
from frazil.local.snowflake.results import Result, message
from frazil.local.snowflake.sessions import Session
from frazil.local.snowflake.statements import (
    Alter,
    Create,
    Describe,
    Drop,
    Grant,
    Show,
    ShowGrants,
    Statement,
    Use,
)
from frazil.local.snowflake.users import checked_user, described_user, may_take
from frazil.local.snowflake.volumes import (
    checked_integration,
    checked_volume,
    described_integration,
    described_volume,
)

__all__ = ["ObjectStatements"]

_DONE = message("Statement executed successfully.")
_CHECKS = {
    "USER": checked_user,
    "EXTERNAL VOLUME": checked_volume,
    "CATALOG INTEGRATION": checked_integration,
}
_DESCRIPTIONS = {
    "USER": described_user,
    "EXTERNAL VOLUME": described_volume,
    "CATALOG INTEGRATION": described_integration,
}


class ObjectStatements:
    """Statements about what the account holds, Iceberg tables apart.

    Args:
        objects: What the account holds.
    """

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def execute(self, statement: Statement, session: Session) -> Result | None:
        """The statement's result.

        Raises:
            Refused: Snowflake would refuse it, too.
        """
        match statement:
            case Create():
                return self._create(statement)
            case Alter():
                return self._alter(statement)
            case Drop():
                return self._drop(statement)
            case Describe():
                return self._describe(statement)
            case Show():
                return listed(statement, self._objects.all(statement.kind))
            case ShowGrants():
                return listed_grants(statement, self._objects.grants())
            case Grant():
                return self._grant(statement)
            case Use():
                return self._use(statement, session)
        return None

    def _create(self, statement: Create) -> Result:
        kind, name = statement.kind, statement.name
        there = self._objects.find(kind, name)
        if there and statement.if_not_exists:
            return message(f"{there.plain_name} already exists, statement succeeded.")
        if there and not statement.or_replace:
            raise already_there(kind, there.plain_name)
        checked = _CHECKS.get(kind, dict)(statement.properties)
        self._objects.add(kind, name, checked, replace=statement.or_replace)
        return message(f"{kind.capitalize()} {'.'.join(name)} successfully created.")

    def _alter(self, statement: Alter) -> Result:
        found = self._objects.find(statement.kind, statement.name)
        if found is None and statement.if_exists:
            return _DONE
        found = self._objects.get(statement.kind, statement.name)
        changed: dict[str, Any] = {**found.properties, **statement.assigned}
        if statement.kind == "USER":
            changed = checked_user(changed)
        left = {k: v for k, v in changed.items() if k not in statement.unset}
        self._objects.change(statement.kind, statement.name, left)
        return _DONE

    def _drop(self, statement: Drop) -> Result:
        kind, name = statement.kind, statement.name
        if self._objects.find(kind, name) is None:
            if statement.if_exists:
                return message("Drop statement executed successfully.")
            raise missing(kind, ".".join(name))
        self._check_unused(statement)
        self._objects.remove(kind, name)
        return message(f"{'.'.join(name)} successfully dropped.")

    def _check_unused(self, statement: Drop) -> None:
        property_name = {"EXTERNAL VOLUME": "EXTERNAL_VOLUME", "CATALOG INTEGRATION": "CATALOG"}
        uses = property_name.get(statement.kind)
        users = [
            t.plain_name
            for t in self._objects.all("ICEBERG TABLE")
            if uses and (t.text(uses),) == statement.name
        ]
        if users:
            text = f"{statement.kind.capitalize()} {statement.name[0]} is used by {', '.join(users)}."
            raise Refused(3540, "42601", f"SQL execution error: {text}")

    def _describe(self, statement: Describe) -> Result:
        found = self._objects.get(statement.kind, statement.name)
        describe = _DESCRIPTIONS.get(statement.kind)
        if describe is not None:
            return describe(found)
        row = (found.created_on, found.plain_name, found.kind)
        return Result(("created_on", "name", "kind"), (row,))

    def _grant(self, statement: Grant) -> Result:
        self._objects.get(statement.to_kind, (statement.to_name,))
        match statement.on_kind:
            case "ROLE" | "USER" | "WAREHOUSE" | "EXTERNAL VOLUME":
                self._objects.get(statement.on_kind, statement.on_name)
            case "INTEGRATION":
                self._objects.get("CATALOG INTEGRATION", statement.on_name)
        self._objects.grant(statement)
        return _DONE

    def _use(self, statement: Use, session: Session) -> Result:
        found = self._objects.get(statement.kind, (statement.name,))
        if statement.kind == "ROLE" and not may_take(self._objects, session.user, found.plain_name):
            text = f"Requested role '{statement.name}' is not assigned to the executing user."
            raise Refused(3013, "42501", f"SQL execution error: {text}")
        return _DONE
