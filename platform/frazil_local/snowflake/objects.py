"""The account's objects that duckdb has no place for, in a SQLite file that survives a restart."""

from __future__ import annotations

import json
import sqlite3
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from frazil_local.snowflake.answers import already_there, missing
from frazil_local.snowflake.language.statements import Grant, Kind, Name, Properties

_TABLES = """
create table if not exists objects (
    kind text, name text, properties text not null, created_on text not null,
    primary key (kind, name)
);
create table if not exists grants (
    privilege text, on_kind text, on_name text, to_kind text, to_name text, created_on text not null,
    primary key (privilege, on_kind, on_name, to_kind, to_name)
);
"""
_GRANTED_AS = {
    "CATALOG INTEGRATION": "INTEGRATION",
    "SECURITY INTEGRATION": "INTEGRATION",
    "ICEBERG TABLE": "TABLE",
}
_OPTION = "alter table grants add column grant_option text not null default 'false'"
"""Of states that an earlier version made."""
_SET_OPTION = """
update grants set grant_option = ? where (privilege, on_kind, on_name, to_kind, to_name) = (?, ?, ?, ?, ?)
"""
_REVOKE = "delete from grants where (privilege, on_kind, on_name, to_kind, to_name) = (?, ?, ?, ?, ?)"
_REVOKE_WITHIN = """
delete from grants where privilege != 'OWNERSHIP' and on_kind in ('DATABASE', 'SCHEMA', 'TABLE', 'VIEW')
and (on_name = ?1 or instr(on_name, ?2) = 1)
"""
_DISOWN = "delete from grants where privilege = 'OWNERSHIP' and (on_kind, on_name) = (?, ?)"


@dataclass(frozen=True, slots=True)
class Stored:
    """One object as it is kept."""

    kind: Kind
    name: Name
    properties: Properties
    created_on: str

    @property
    def plain_name(self) -> str:
        """The name with dots between its parts."""
        return ".".join(self.name)

    def text(self, property_name: str, default: str = "") -> str:
        """A property that is no list."""
        value = self.properties.get(property_name, default)
        return value if isinstance(value, str) else default


@dataclass(frozen=True, slots=True)
class GrantRow:
    """One privilege that a role or user holds."""

    privilege: str
    on_kind: str
    on_name: str
    to_kind: str
    to_name: str
    created_on: str
    grant_option: str = "false"


def granted_as(kind: str) -> str:
    """The word by which GRANT knows a kind of object."""
    return _GRANTED_AS.get(kind, kind)


class Objects:
    """Users, roles, warehouses, volumes, integrations, Iceberg tables, and who may use what."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.RLock()
        self._database = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._database.executescript(_TABLES)
        if "grant_option" not in [row[1] for row in self._run("pragma table_info(grants)")]:
            self._run(_OPTION)

    def find(self, kind: Kind, name: Name) -> Stored | None:
        """The object, or None where there is none."""
        return next((o for o in self.all(kind) if o.name == name), None)

    def get(self, kind: Kind, name: Name) -> Stored:
        """The object; refuses where there is none."""
        if stored := self.find(kind, name):
            return stored
        raise missing(kind, ".".join(name))

    def all(self, kind: Kind) -> list[Stored]:
        """All objects of a kind, by name."""
        query = "select name, properties, created_on from objects where kind = ? order by name"
        rows = self._run(query, kind)
        return [Stored(kind, tuple(json.loads(n)), json.loads(p), at) for n, p, at in rows]

    def add(self, kind: Kind, name: Name, properties: Properties, *, replace: bool = False) -> None:
        """Keeps a new object; refuses where there is one that is not to be replaced."""
        verb = "insert or replace" if replace else "insert"
        row = (kind, json.dumps(name), json.dumps(properties), now())
        try:
            self._run(f"{verb} into objects values (?, ?, ?, ?)", *row)
        except sqlite3.IntegrityError:
            raise already_there(kind, ".".join(name)) from None

    def change(self, kind: Kind, name: Name, properties: Properties) -> None:
        """Gives an object these properties instead of those that it has."""
        query = "update objects set properties = ? where kind = ? and name = ?"
        self._run(query, json.dumps(properties), kind, json.dumps(name))

    def remove(self, kind: Kind, name: Name) -> None:
        """Forgets an object and what was granted on or to it; of what a role owned, others must take care."""
        owned = "(on_kind, on_name) = (?, ?) or (to_kind, to_name) = (?, ?) and privilege != 'OWNERSHIP'"
        plain = ".".join(name)
        with self._lock:
            self._run("delete from objects where kind = ? and name = ?", kind, json.dumps(name))
            self._run(f"delete from grants where {owned}", granted_as(kind), plain, kind, plain)

    def grant(self, grant: Grant) -> None:
        """Gives or takes away privileges; an object has one owner."""
        on_name, on_kind = ".".join(grant.on_name), granted_as(grant.on_kind)
        with self._lock:
            for privilege in grant.privileges:
                row = (privilege, on_kind, on_name, grant.to_kind, grant.to_name)
                if privilege == "OWNERSHIP":
                    self._run(_DISOWN, on_kind, on_name)
                if grant.revoke and not grant.option:
                    self._run(_REVOKE, *row)
                elif not grant.revoke:
                    self._run("insert or ignore into grants values (?, ?, ?, ?, ?, ?, 'false')", *row, now())
                if grant.option:
                    self._run(_SET_OPTION, "false" if grant.revoke else "true", *row)

    def grants(self) -> list[GrantRow]:
        """All privileges that are held."""
        rows = self._run("select * from grants order by on_kind, on_name, privilege")
        return [GrantRow(*row) for row in rows]

    def grants_on(self, kind: str, name: Name) -> list[Grant]:
        """What was granted on an object, as it could be granted once more."""
        on = (granted_as(kind), ".".join(name))
        return [
            Grant((g.privilege,), g.on_kind, name, "USER" if g.to_kind == "USER" else "ROLE", g.to_name)
            for g in self.grants()
            if (g.on_kind, g.on_name) == on
        ]

    def revoke_within(self, name: Name) -> None:
        """Takes away what was granted on a relation, and on what is in it; owners stay."""
        plain = ".".join(name)
        self._run(_REVOKE_WITHIN, plain, f"{plain}.")

    def close(self) -> None:
        """Closes the file."""
        with self._lock:
            self._database.close()

    def _run(self, query: str, *parameters: str) -> list[Any]:
        with self._lock:
            return self._database.execute(query, parameters).fetchall()


def now() -> str:
    """The time, as Snowflake writes it."""
    return datetime.now(UTC).isoformat(sep=" ", timespec="milliseconds")
