"""Kafka, broker and controller in one process, and the schema registry."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import uuid
from pathlib import Path

from frazil.errors import PartDownError
from frazil.local.home import Home, template
from frazil.local.jars import Jars
from frazil.local.ports import LOOPBACK, Ports, url
from frazil.local.server import Launch, Server, get

_JVM = ("-XX:+UseSerialGC", "-XX:-UsePerfData")
_OF_KAFKA = ("-Xms256m", "-Xmx768m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
_OF_REGISTRY = ("-Xmx256m", "-XX:TieredStopAtLevel=1")
"""Compiling less saves 60 MB; a registry is asked only once for each schema."""


def kafka(home: Home, ports: Ports, java: Path, jars: Jars) -> Server:
    """The broker; `java` is a JAVA_HOME."""

    def launch() -> Launch:
        data = home.data("kafka")
        properties = data / "server.properties"
        told = {"host": LOOPBACK, "broker": ports["kafka"], "controller": ports["kafka-controller"]}
        properties.write_text(template("server.properties").format(data=data / "log", **told))
        classes = os.pathsep.join(map(str, jars.paths("kafka")))
        program = (str(java / "bin" / "java"), *_JVM, *_OF_KAFKA, f"-Djava.io.tmpdir={home.scratch}")
        if not (data / "log" / "meta.properties").exists():
            _format((*program, "-cp", classes), properties)
        return Launch((*program, "kafka.Kafka", str(properties)), {"CLASSPATH": classes})

    def ask() -> None:
        from confluent_kafka.admin import AdminClient

        client = AdminClient({"bootstrap.servers": f"{LOOPBACK}:{ports['kafka']}", "log_level": 0})
        client.list_topics(timeout=5)

    return Server("kafka", ("kafka", "kafka-controller"), launch, ask)


def _format(java: tuple[str, ...], properties: Path) -> None:
    """Makes the log folder of a new cluster."""
    tool = (*java, "kafka.tools.StorageTool", "format", "--standalone", "--ignore-formatted")
    command = (*tool, "-t", _cluster_id(), "-c", str(properties))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PartDownError("Kafka can't make its log folder.", where=(done.stderr or done.stdout).strip())


def _cluster_id() -> str:
    """An id as `StorageTool random-uuid` makes it, without waiting a second for a JVM."""
    while (text := base64.urlsafe_b64encode(uuid.uuid4().bytes).decode()[:22]).startswith("-"):
        pass
    return text


def registry_url(ports: Ports) -> str:
    """For clients of Confluent's registry."""
    return f"{url(ports, 'registry')}/apis/ccompat/v7"


def registry(home: Home, ports: Ports, java: Path, jars: Jars) -> Server:
    """The registry: Apicurio, speaking Confluent's protocol; its H2 database is one file."""

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
        program = next(jars.unpacked("registry").rglob("quarkus-run.jar"))
        return Launch((str(java / "bin" / "java"), *_JVM, *_OF_REGISTRY, *flags, "-jar", str(program)))

    def ask() -> None:
        json.loads(get(f"{registry_url(ports)}/subjects"))

    return Server("registry", ("registry", "registry-management"), launch, ask)
