"""The AWS stand-in, `python -m frazil_local.servers.aws`: moto, with a Glue that Iceberg can rely on.

`UpdateTable` honours VersionId and SkipArchive, nothing is forgotten but tags, and what botocore's model of
Glue does not allow is refused, and so are tags that Lake Formation does not have. As shipped, moto takes
texts of any length, and ignores VersionId: of 200 rows that 4 concurrent writers committed, 130 were left.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from moto.core.exceptions import JsonRESTError
from moto.glue import urls
from moto.glue.models import glue_backends
from moto.glue.responses import GlueResponse
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import run_simple

from frazil_local.ports import LOOPBACK
from frazil_local.servers.glue_model import refusals
from frazil_local.servers.lake_formation import forget_tags, keep_tags

_TABLE = """CREATE TABLE IF NOT EXISTS entry (
    account TEXT, region TEXT, database TEXT, name TEXT, document TEXT,
    PRIMARY KEY (account, region, database, name)
)"""
_ENTRIES = "SELECT * FROM entry ORDER BY 1, 2, 3, 4"


def _database(parameters: dict[str, Any]) -> tuple[str, ...]:
    return parameters["Name"], ""


def _table(parameters: dict[str, Any]) -> tuple[str, ...]:
    return parameters["DatabaseName"], parameters["TableInput"]["Name"]


_CHANGED: dict[str, Callable[[dict[str, Any]], tuple[str, ...]]] = {
    "CreateDatabase": lambda parameters: _database(parameters["DatabaseInput"]),
    "UpdateDatabase": _database,
    "DeleteDatabase": _database,
    "CreateTable": _table,
    "UpdateTable": _table,
    "DeleteTable": lambda parameters: (parameters["DatabaseName"], parameters["Name"]),
    "BatchDeleteTable": lambda parameters: (parameters["DatabaseName"], *parameters["TablesToDelete"]),
}
"""What a request changes, by its action: the name of a database, and of tables in it; empty for itself."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A table of Glue and what it says; a database where the name is empty."""

    account: str
    region: str
    database: str
    name: str
    document: dict[str, Any]


class Kept:
    """The memory of Glue: what its databases and tables say, in one SQLite file. Its callers hold a lock."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute(_TABLE)

    def __iter__(self) -> Iterator[Entry]:
        """All entries, each database before its tables."""
        for account, region, database, name, document in self._db.execute(_ENTRIES):
            yield Entry(account, region, database, name, json.loads(document))

    def put(self, entry: Entry) -> None:
        """Keeps an entry, in the place of the one of that name."""
        row = (entry.account, entry.region, entry.database, entry.name, json.dumps(entry.document))
        self._db.execute("REPLACE INTO entry VALUES (?, ?, ?, ?, ?)", row)

    def drop(self, account: str, region: str, database: str, name: str) -> None:
        """Forgets a table, or a database with its tables if the name is empty."""
        whose = "account = ? AND region = ? AND database = ? AND (name = ? OR ? = '')"
        self._db.execute(f"DELETE FROM entry WHERE {whose}", (account, region, database, name, name))


def keep_glue(kept: Kept) -> None:
    """Makes moto serve `StrictGlue`, beginning with what was kept when the last server ended; and tags."""
    for entry in kept:
        _restore(entry)
    StrictGlue.kept = kept
    urls.url_paths["{0}/$"] = StrictGlue.dispatch
    keep_tags()


class StrictGlue(GlueResponse):
    """Every change under one lock, and written down before it is answered."""

    kept: ClassVar[Kept]  # moto makes one of these for each request, so it can't be handed in
    _lock: ClassVar = threading.RLock()

    def call_action(self) -> Any:
        """Answers a request, after writing down what it may have changed."""
        if refused := refusals(self._get_action(), self.parameters):
            message = f"{len(refused)} validation error detected: " + "; ".join(refused)
            raise JsonRESTError("ValidationException", message[:2000])
        changed = _CHANGED.get(self._get_action())
        if changed is None:
            return super().call_action()
        with self._lock:
            answer = super().call_action()
            database, *names = changed(self.parameters)
            for name in names:
                self._write_down(database, name)
            return answer

    def update_table(self) -> Any:
        """Replaces what a table says, if nobody else did since it was read."""
        table = self.glue_backend.get_table(*_table(self.parameters))
        current = str(table._current_version)
        _check(self.parameters.get("VersionId"), current)
        answer = super().update_table()
        if self.parameters.get("SkipArchive"):
            table.versions.pop(current, None)
        return answer

    def _write_down(self, database: str, name: str) -> None:
        account, region = self.current_account, self.region
        known = self.glue_backend.databases.get(database)
        thing = known.tables.get(name) if known and name else known
        if thing is None:
            self.kept.drop(account, region, database, name)
            forget_tags(account, region, database, name)
        else:
            self.kept.put(Entry(account, region, database, name, _document(thing, name)))


def _check(given: object, current: str) -> None:
    if given is not None and str(given) != current:
        raise JsonRESTError(
            "ConcurrentModificationException",
            "Update table failed due to concurrent modifications: "
            f"version {given} was given, version {current} is current.",
        )


def _document(thing: Any, name: str) -> dict[str, Any]:
    if not name:
        return {"input": thing.input}
    version = thing._current_version
    return {"input": thing.versions[str(version)], "version": version}


def _restore(entry: Entry) -> None:
    backend = glue_backends[entry.account][entry.region]
    if not entry.name:
        backend.create_database(entry.database, entry.document["input"])
        return
    table = backend.create_table(entry.database, entry.name, entry.document["input"])
    table._current_version = version = entry.document["version"]
    table.versions = {str(version): entry.document["input"]}


class _Quiet(MotoRequestHandler):
    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Not a line for each request: a landing makes dozens."""


def _main() -> None:
    """Serves until it is told to end."""
    port = int(os.environ["FRAZIL_AWS_PORT"])
    os.environ["MOTO_PORT"] = str(port)  # moto's answers name it
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    keep_glue(Kept(Path(os.environ["FRAZIL_AWS_STATE"]) / "glue.sqlite"))
    serve = DomainDispatcherApplication(create_backend_app)
    run_simple(LOOPBACK, port, serve, threaded=True, request_handler=_Quiet)


if __name__ == "__main__":
    _main()
