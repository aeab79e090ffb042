"""Kafka Connect with Debezium in it: what changes in PostgreSQL becomes records of Kafka."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from frazil_local.home import Home, secret, template, write_private
from frazil_local.jars import NO_CORE, Jars
from frazil_local.northwind import postgres
from frazil_local.northwind.database import DATABASE, create_northwind
from frazil_local.ports import LOOPBACK, Ports, url
from frazil_local.server import Launch, Server, get

PART = "connect"

_USER = "frazil"
_JVM = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-XX:TieredStopAtLevel=1", NO_CORE)
_LOG = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
_WORKER = "org.apache.kafka.connect.cli.ConnectStandalone"
_ROLES = "KafkaConnect"
_LOGIN = "org.apache.kafka.connect.rest.basic.auth.extension.PropertyFileLoginModule"


def connect(home: Home, ports: Ports, java: Path, jars: Jars) -> Server:
    """A worker with one connector, which reads Northwind's tables; `java` is a JAVA_HOME."""

    def launch() -> Launch:
        create_northwind(home, ports)
        data = home.data(PART)
        plugin = jars.unpacked("debezium")
        worker, connector = data / "worker.properties", data / f"{DATABASE}.json"
        config = template("connect.properties")
        places = {"host": LOOPBACK, "kafka": ports["kafka"], "connect": ports[PART]}
        write_private(worker, config.format(data=data, plugin=plugin, **places))
        write_private(
            connector, json.dumps({"name": DATABASE, "config": connector_of(home, ports, DATABASE)})
        )
        write_private(_login_file(home), f"password={secret(home, postgres.PART)}\n")
        classes = os.pathsep.join(map(str, jars.paths(PART)))
        flags = (
            _LOG,
            f"-Djava.io.tmpdir={home.scratch}",
            f"-Djava.security.auth.login.config={_users(home)}",
        )
        command = (str(java / "bin" / "java"), *_JVM, *flags, _WORKER, str(worker), str(connector))
        return Launch(command, {"CLASSPATH": classes})

    def ask() -> None:
        states = connector_states(home, ports, DATABASE)
        if set(states) != {"RUNNING"} or len(states) < 2:
            raise ConnectionError(f"its connector is {', '.join(states).lower()}")

    return Server(PART, (PART,), launch, ask, ("kafka", postgres.PART))


def connector_of(home: Home, ports: Ports, database: str, **more: str) -> dict[str, str]:
    """The settings of a connector that reads all tables of a database.

    Their topics are named `<database>.public.<table>`. The password is not among them, for
    Connect shows them to anyone who can ask it.
    """
    return {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "plugin.name": "pgoutput",
        "database.hostname": LOOPBACK,
        "database.port": str(ports[postgres.PART]),
        "database.user": postgres.USER,
        "database.password": f"${{file:{_login_file(home)}:password}}",
        "database.dbname": database,
        "topic.prefix": database,
        "slot.name": database,
        "publication.name": database,
        "publication.autocreate.mode": "filtered",  # else PostgreSQL refuses to update a table without a key
        "schema.include.list": "public",
        "topic.creation.default.replication.factor": "1",
        "topic.creation.default.partitions": "1",
        **more,
    }


def connector_states(home: Home, ports: Ports, name: str) -> list[str]:
    """The state of a connector, and of each of its tasks; an OSError where it can't be told."""
    status: dict[str, Any] = ask_connect(home, ports, f"connectors/{name}/status")
    return [each["state"] for each in (status["connector"], *status["tasks"])]


def ask_connect(home: Home, ports: Ports, path: str, body: Mapping[str, Any] | None = None) -> Any:
    """What Connect answers to one request; an OSError where it refuses it."""
    headers = {**login_headers(home), "Content-Type": "application/json"}
    sent = None if body is None else json.dumps(body).encode()
    return json.loads(get(f"{url(ports, PART)}/{path}", headers, sent) or b"null")


def login_headers(home: Home) -> dict[str, str]:
    """What a request to Connect must have."""
    login = base64.b64encode(f"{_USER}:{secret(home, PART)}".encode()).decode()
    return {"Authorization": f"Basic {login}"}


def _login_file(home: Home) -> Path:
    """The file that tells Connect how to get into the database."""
    return home.data(PART) / "database.properties"


def _users(home: Home) -> Path:
    """The file that tells Connect whom it lets in."""
    data = home.data(PART)
    users, login = data / "users.properties", data / "login.conf"
    write_private(users, f"{_USER}={secret(home, PART)}\n")
    write_private(login, f'{_ROLES} {{ {_LOGIN} required file="{users}"; }};\n')
    return login
