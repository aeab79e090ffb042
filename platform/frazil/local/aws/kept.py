"""The memory of Glue: what its databases and tables say, in one SQLite file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Entry", "Kept"]

_TABLE = """CREATE TABLE IF NOT EXISTS entry (
    account TEXT, region TEXT, database TEXT, name TEXT, document TEXT,
    PRIMARY KEY (account, region, database, name)
)"""


@dataclass(frozen=True, slots=True)
class Entry:
    """A table of Glue, or a database if its name is empty.

    Args:
        account: AWS account.
        region: AWS region.
        database: Name of the database.
        name: Name of the table, or nothing.
        document: What it says; JSON.
    """

    account: str
    region: str
    database: str
    name: str
    document: dict[str, Any]


class Kept:
    """The file. Its callers hold a lock.

    Args:
        path: Where it lies; made if missing.
    """

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute(_TABLE)

    def __iter__(self) -> Iterator[Entry]:
        """All entries, each database before its tables."""
        for row in self._db.execute("SELECT * FROM entry ORDER BY 1, 2, 3, 4"):
            account, region, database, name, document = row
            yield Entry(account, region, database, name, json.loads(document))

    def put(self, entry: Entry) -> None:
        """Keeps an entry, in the place of the one of that name."""
        self._db.execute(
            "REPLACE INTO entry VALUES (?, ?, ?, ?, ?)",
            (entry.account, entry.region, entry.database, entry.name, json.dumps(entry.document)),
        )

    def drop(self, account: str, region: str, database: str, name: str) -> None:
        """Forgets a table, or a database with its tables if the name is empty."""
        self._db.execute(
            "DELETE FROM entry WHERE account = ? AND region = ? AND database = ? AND (name = ? OR ? = '')",
            (account, region, database, name, name),
        )
