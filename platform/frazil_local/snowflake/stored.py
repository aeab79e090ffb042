"""Statements on the account's objects: made, altered, dropped, described, granted."""

from __future__ import annotations

from typing import Any

from frazil_local.snowflake.access import Access
from frazil_local.snowflake.answers import DONE, NOTHING_DROPPED, Refused, Result, already_there, message
from frazil_local.snowflake.iceberg.integrations import checked_integration, described_integration
from frazil_local.snowflake.iceberg.volumes import checked_volume, described_volume
from frazil_local.snowflake.language.options import (
    check_changes,
    check_names,
    check_options,
    check_privileges,
)
from frazil_local.snowflake.language.statements import Alter, Create, Describe, Drop, Grant
from frazil_local.snowflake.objects import Objects
from frazil_local.snowflake.rights.users import checked_user, described_user

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
_USED_AS = {"EXTERNAL VOLUME": "EXTERNAL_VOLUME", "CATALOG INTEGRATION": "CATALOG"}
"""The property by which an Iceberg table names one."""


class StoredObjects:
    """Carries out statements on objects that Iceberg tables are not."""

    def __init__(self, access: Access, objects: Objects) -> None:
        self._access, self._objects = access, objects

    def create(self, statement: Create) -> Result:
        """Makes one, or says that it is there."""
        kind, name = statement.kind, statement.name
        there = self._objects.find(kind, name)
        if there and statement.if_not_exists:
            return message(f"{there.plain_name} already exists, statement succeeded.")
        if there and not statement.or_replace:
            raise already_there(kind, there.plain_name)
        check_options(kind, statement.properties)
        checked = _CHECKS.get(kind, dict)(statement.properties)
        if there:
            self._objects.remove(kind, name)  # with all that was granted on it, as Snowflake does
        if kind in _USED_AS:
            self._access.welcome()
        self._objects.add(kind, name, checked)
        return message(f"{kind.capitalize()} {'.'.join(name)} successfully created.")

    def alter(self, statement: Alter) -> Result:
        """Changes its properties."""
        kind, name = statement.kind, statement.name
        if statement.if_exists and self._objects.find(kind, name) is None:
            return DONE
        before = self._objects.get(kind, name).properties
        check_changes(kind, statement.assigned)
        check_options(kind, statement.assigned)
        check_names(kind, statement.unset)
        changed: dict[str, Any] = {**before, **statement.assigned}
        if kind == "USER":
            changed = checked_user(changed, before)
        left = {k: v for k, v in changed.items() if k not in statement.unset}
        self._objects.change(kind, name, left)
        return DONE

    def drop(self, statement: Drop) -> Result:
        """Removes one that nothing uses."""
        kind, name = statement.kind, statement.name
        if statement.if_exists and self._objects.find(kind, name) is None:
            return NOTHING_DROPPED
        self._objects.get(kind, name)
        self._check_unused(statement)
        self._objects.remove(kind, name)
        return message(f"{'.'.join(name)} successfully dropped.")

    def _check_unused(self, statement: Drop) -> None:
        uses = _USED_AS.get(statement.kind)
        tables = self._objects.all("ICEBERG TABLE") if uses else []
        users = [t.plain_name for t in tables if uses and (t.text(uses),) == statement.name]
        if users:
            text = f"{statement.kind.capitalize()} {statement.name[0]} is used by {', '.join(users)}."
            raise Refused(3540, "42601", f"SQL execution error: {text}")

    def describe(self, statement: Describe) -> Result:
        """What it is."""
        stored = self._objects.get(statement.kind, statement.name)
        if describe := _DESCRIPTIONS.get(statement.kind):
            return describe(stored)
        row = (stored.created_on, stored.plain_name, stored.kind)
        return Result(("created_on", "name", "kind"), (row,))

    def grant(self, statement: Grant) -> Result:
        """Grants or revokes privileges."""
        check_privileges(statement)
        self._objects.get(statement.to_kind, (statement.to_name,))
        match statement.on_kind:
            case "ROLE" | "USER" | "WAREHOUSE" | "EXTERNAL VOLUME":
                self._objects.get(statement.on_kind, statement.on_name)
            case "INTEGRATION":
                self._objects.get("CATALOG INTEGRATION", statement.on_name)
        self._objects.grant(statement)
        return DONE
