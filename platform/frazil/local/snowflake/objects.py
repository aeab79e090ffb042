"""The account's objects that duckdb has no place for, in a SQLite file that survives a restart."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from frazil.local.snowflake.answers import already_there, missing
from frazil.local.snowflake.statements import Grant, Kind, Name, Properties

__all__ = ["Held", "Objects", "Stored"]

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
class Held:
    """One privilege that a role or user holds."""

    privilege: str
    on_kind: str
    on_name: str
    to_kind: str
    to_name: str
    created_on: str


class Objects:
    """Users, roles, warehouses, volumes, integrations, Iceberg tables, and who may use what.

    Args:
        path: The SQLite file, made if missing.
    """

    def __init__(self, path: Path) -> None:
        self._lock = threading.RLock()
        self._database = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._database.executescript(_TABLES)

    def find(self, kind: Kind, name: Name) -> Stored | None:
        """The object, or None where there is none."""
        found = [o for o in self.all(kind) if o.name == name]
        return found[0] if found else None

    def get(self, kind: Kind, name: Name) -> Stored:
        """The object.

        Raises:
            Refused: There is none.
        """
        found = self.find(kind, name)
        if found is None:
            raise missing(kind, ".".join(name))
        return found

    def all(self, kind: Kind) -> list[Stored]:
        """All objects of a kind, by name."""
        query = "select name, properties, created_on from objects where kind = ? order by name"
        with self._locked() as database:
            rows = database.execute(query, (kind,)).fetchall()
        return [Stored(kind, tuple(json.loads(n)), json.loads(p), at) for n, p, at in rows]

    def add(self, kind: Kind, name: Name, properties: Properties, *, replace: bool = False) -> None:
        """Keeps a new object.

        Raises:
            Refused: There is one of that name, and it is not to be replaced.
        """
        verb = "insert or replace" if replace else "insert"
        row = (kind, json.dumps(name), json.dumps(properties), _now())
        try:
            with self._locked() as database:
                database.execute(f"{verb} into objects values (?, ?, ?, ?)", row)
        except sqlite3.IntegrityError:
            raise already_there(kind, ".".join(name)) from None

    def change(self, kind: Kind, name: Name, properties: Properties) -> None:
        """Gives an object these properties instead of those that it has."""
        query = "update objects set properties = ? where kind = ? and name = ?"
        with self._locked() as database:
            database.execute(query, (json.dumps(properties), kind, json.dumps(name)))

    def remove(self, kind: Kind, name: Name) -> None:
        """Forgets an object and what was granted on or to it."""
        plain = ".".join(name)
        with self._locked() as database:
            database.execute("delete from objects where kind = ? and name = ?", (kind, json.dumps(name)))
            database.execute(
                "delete from grants where (on_kind, on_name) = (?, ?) or (to_kind, to_name) = (?, ?)",
                (kind, plain, kind, plain),
            )

    def grant(self, grant: Grant) -> None:
        """Gives or takes away privileges."""
        on_name = ".".join(grant.on_name)
        with self._locked() as database:
            for privilege in grant.privileges:
                held = (privilege, grant.on_kind, on_name, grant.to_kind, grant.to_name)
                if grant.revoke:
                    database.execute(_REVOKE, held)
                else:
                    database.execute("insert or ignore into grants values (?,?,?,?,?,?)", (*held, _now()))

    def grants(self) -> list[Held]:
        """All privileges that are held."""
        with self._locked() as database:
            rows = database.execute("select * from grants order by on_kind, on_name, privilege")
            return [Held(*row) for row in rows.fetchall()]

    def close(self) -> None:
        """Closes the file."""
        with self._locked() as database:
            database.close()

    @contextmanager
    def _locked(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            yield self._database


_REVOKE = """
delete from grants
where (privilege, on_kind, on_name, to_kind, to_name) = (?, ?, ?, ?, ?)
"""


def _now() -> str:
    return datetime.now(UTC).isoformat(sep=" ", timespec="milliseconds")
