"""Kafka, broker and controller in one process, and the schema registry."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import uuid
from pathlib import Path
from typing import Any

from frazil.errors import PartDownError
from frazil.kafka.access import librdkafka_access
from frazil.settings.systems.aws import AwsSettings
from frazil.settings.systems.kafka import KafkaSettings
from frazil_local.cloud.confluent.kafka.users import jaas
from frazil_local.home import Home, secret, template, write_private
from frazil_local.jars import NO_CORE, Jars
from frazil_local.locks import USER, locks_of
from frazil_local.ports import LOOPBACK, Ports
from frazil_local.server import Launch, Server, get

_JVM = ("-XX:+UseSerialGC", "-XX:-UsePerfData", NO_CORE)
_OF_KAFKA = ("-Xms256m", "-Xmx768m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
_OF_REGISTRY = ("-Xmx256m", "-XX:TieredStopAtLevel=1")
"""Compiling less saves 60 MB; a registry is asked only once for each schema."""


def kafka_access(home: Home, ports: Ports) -> dict[str, Any]:
    """How clients get in, as the profile says it."""
    servers = {"bootstrap_servers": f"{LOOPBACK}:{ports['kafka']}"}
    if (locks := locks_of(home)) is None:
        return servers
    login = {"mechanism": "PLAIN", "username": USER, "password": secret(home, "kafka")}
    return {**servers, "ca": str(locks.ca), **login}


def kafka(home: Home, ports: Ports, java: Path, jars: Jars) -> Server:
    """The broker; `java` is a JAVA_HOME."""

    def launch() -> Launch:
        data = home.data("kafka")
        properties = data / "server.properties"
        write_private(properties, _properties(home, ports, data / "log"))
        classes = os.pathsep.join(map(str, jars.paths("kafka")))
        program = (str(java / "bin" / "java"), *_JVM, *_OF_KAFKA, f"-Djava.io.tmpdir={home.scratch}")
        if not (data / "log" / "meta.properties").exists():
            _format((*program, "-cp", classes), properties)
        return Launch((*program, "kafka.Kafka", str(properties)), {"CLASSPATH": classes})

    def ask() -> None:
        from confluent_kafka.admin import AdminClient

        access = KafkaSettings(**kafka_access(home, ports))
        options = {"bootstrap.servers": access.bootstrap_servers, "log_level": "0"}
        AdminClient({**options, **librdkafka_access(access, AwsSettings())}).list_topics(timeout=5)

    listens = ("kafka", "kafka-controller", *(["kafka-cloud"] if home.clouds.exists() else []))
    return Server("kafka", listens, launch, ask)


def _properties(home: Home, ports: Ports, log: Path) -> str:
    locks = locks_of(home)
    places = {
        "host": LOOPBACK,
        "broker": ports["kafka"],
        "controller": ports["kafka-controller"],
        "of_clients": "SASL_SSL" if locks else "PLAINTEXT",
        "of_controller": "SSL" if locks else "PLAINTEXT",
    }
    properties = template("server.properties").format(data=log, **places)
    if home.clouds.exists():
        known = jaas(secret(home, "kafka-cloud"))
        properties += template("cloud.properties").format(cloud=ports["kafka-cloud"], jaas=known, **places)
    if locks is None:  # who comes by the clients' listener of an open stack is nobody in particular
        return properties + (template("judged.properties") if home.clouds.exists() else "")
    login = {"user": USER, "password": secret(home, "kafka")}
    return properties + template("locked.properties").format(both=locks.both, ca=locks.ca, **login)


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


def registry_access(home: Home, ports: Ports) -> dict[str, Any]:
    """How clients of Confluent's registry get in, as the profile says it."""
    place = f"{LOOPBACK}:{ports['registry']}/apis/ccompat/v7"
    if (locks := locks_of(home)) is None:
        return {"url": f"http://{place}"}
    login = f"{USER}:{secret(home, 'registry')}"
    return {"url": f"https://{place}", "ca": str(locks.ca), "user_info": login}


def registry(home: Home, ports: Ports, java: Path, jars: Jars) -> Server:
    """The registry: Apicurio, speaking Confluent's protocol; its H2 database is one file."""

    def launch() -> Launch:
        data = home.data("registry")
        properties = data / "registry.properties"
        options = {**_OPTIONS, **_listener(home, ports["registry"])}
        options["apicurio.datasource.url"] = f"jdbc:h2:file:{data / 'registry'}"
        write_private(properties, "".join(f"{name}={value}\n" for name, value in options.items()))
        flags = (f"-Djava.io.tmpdir={home.scratch}", f"-Dquarkus.config.locations={properties.as_uri()}")
        program = next(jars.unpacked("registry").rglob("quarkus-run.jar"))
        return Launch((str(java / "bin" / "java"), *_JVM, *_OF_REGISTRY, *flags, "-jar", str(program)))

    def ask() -> None:
        access = registry_access(home, ports)
        login = base64.b64encode(access.get("user_info", "").encode()).decode()
        headers = {"Authorization": f"Basic {login}"} if login else {}
        json.loads(get(f"{access['url']}/subjects", headers, ca=access.get("ca")))

    return Server("registry", ("registry",), launch, ask)


_OPTIONS: dict[str, object] = {
    "quarkus.http.host": LOOPBACK,
    "quarkus.management.host-enabled": "false",  # nobody asks it, and it would answer everybody
    "quarkus.http.access-log.enabled": "false",
    "quarkus.log.level": "WARN",
    'quarkus.log.category."io.apicurio".level': "WARN",  # else a line for each request
    "apicurio.storage.kind": "sql",
    "apicurio.storage.sql.kind": "h2",
}


def _listener(home: Home, port: int) -> dict[str, object]:
    """Where it listens, and whom it lets in."""
    if (locks := locks_of(home)) is None:
        return {"quarkus.http.port": port}
    users, everything = "quarkus.security.users.embedded", "quarkus.http.auth.permission.all"
    return {
        "quarkus.http.ssl-port": port,
        "quarkus.http.insecure-requests": "disabled",
        "quarkus.http.ssl.certificate.files": locks.certificate,
        "quarkus.http.ssl.certificate.key-files": locks.key,
        "quarkus.http.auth.basic": "true",  # Quarkus calls it fixed at build time; Apicurio reads it here
        f"{users}.plain-text": "true",
        f"{users}.users.{USER}": secret(home, "registry"),
        f"{users}.roles.{USER}": "sr-admin",
        f"{everything}.paths": "/*",
        f"{everything}.policy": "authenticated",
    }
