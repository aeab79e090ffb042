"""The schema registry: Apicurio, speaking Confluent's protocol."""

from __future__ import annotations

import json
from pathlib import Path

from frazil.local.asking import get
from frazil.local.home import Home
from frazil.local.jars import Jars
from frazil.local.ports import LOOPBACK, Ports
from frazil.local.server import Launch, Server

__all__ = ["registry", "registry_url"]

_JVM = (
    "-Xmx256m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",  # saves 60 MB; a registry is asked once for each schema
    "-XX:-UsePerfData",
)


def registry_url(ports: Ports) -> str:
    """For clients of Confluent's registry."""
    return f"http://{LOOPBACK}:{ports['registry']}/apis/ccompat/v7"


def registry(home: Home, ports: Ports, java: Path, jars: Jars) -> Server:
    """The registry; its H2 database is one file.

    Args:
        home: Of the stack.
        ports: Of the stack.
        java: JAVA_HOME.
        jars: Where the program comes from.
    """

    def launch() -> Launch:
        options = {
            "java.io.tmpdir": home.scratch,
            "quarkus.http.host": LOOPBACK,
            "quarkus.http.port": ports["registry"],
            "quarkus.management.host": LOOPBACK,
            "quarkus.management.port": ports["registry-management"],
            "quarkus.http.access-log.enabled": "false",
            "quarkus.log.level": "WARN",
            'quarkus.log.category."io.apicurio".level': "WARN",  # else a line for each request
            "apicurio.storage.kind": "sql",
            "apicurio.storage.sql.kind": "h2",
            "apicurio.datasource.url": f"jdbc:h2:file:{home.data('registry') / 'registry'}",
        }
        flags = [f"-D{name}={value}" for name, value in options.items()]
        program = _program(jars.unpacked("registry"))
        return Launch((str(java / "bin" / "java"), *_JVM, *flags, "-jar", str(program)))

    def ask() -> None:
        json.loads(get(f"{registry_url(ports)}/subjects"))

    return Server("registry", ("registry", "registry-management"), launch, ask)


def _program(folder: Path) -> Path:
    return next(folder.rglob("quarkus-run.jar"))
