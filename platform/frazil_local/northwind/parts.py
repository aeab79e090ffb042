"""The parts that a stack `--with northwind` has besides."""

from __future__ import annotations

import os
from pathlib import Path

from frazil.pipelines.folder import folders_in
from frazil_local.home import Home
from frazil_local.jars import Jars
from frazil_local.northwind.connect import connect
from frazil_local.northwind.postgres import postgres
from frazil_local.ports import Ports
from frazil_local.server import Server

_PIPELINE = "northwind"
"""Its folder in `assets`, beside those that everybody has."""


def has_northwind(home: Home) -> bool:
    """Whether a stack is started with Northwind's database."""
    return home.northwind.exists()


def add_northwind(home: Home) -> None:
    """Makes a stack start with it from now on."""
    home.northwind.touch(mode=0o600)


def leave_northwind(home: Home) -> None:
    """Makes a stack that is down start without; the data stays until `wipe`."""
    home.northwind.unlink(missing_ok=True)


def northwind_servers(home: Home, ports: Ports, java: Path, jars: Jars) -> list[Server]:
    """PostgreSQL, and Kafka Connect, which sends its changes to the stack's Kafka."""
    return [postgres(home, ports), connect(home, ports, java, jars)]


def with_pipeline(written: str, wanted: bool) -> str:
    """The setting `pipelines` with Northwind's folder, or without it."""
    own, shipped = folders_in("", _PIPELINE), folders_in("", "pipelines")
    others = [folder for folder in folders_in(written, "pipelines") if folder not in own]
    folders = [*others, *own] if wanted else others
    return "" if folders == shipped else os.pathsep.join(map(str, folders))
