"""Kafka Connect with Iceberg's own sink in it, a peer of the bench: a worker, and a connector per landing.

The sink writes only what a record's value has, so Kafka's own transform `InsertField` adds the topic,
partition, offset and timestamp. Avro is decoded by the last converter on Maven Central that knows Confluent's
framing (Apicurio 2.5; Confluent's own is not there).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from socket import socket
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import psutil
from confluent_kafka.admin import NewTopic

from frazil.connections import Connections
from frazil.kafka.facts import topic_fact
from frazil.settings.profile import Settings
from frazil.spec.names import TableName
from frazil.tables.catalogs.client_properties import spark_properties
from frazil_local.home import write_private
from frazil_local.jars import NO_CORE, Jars, cache_folder, java_home, read_lock
from frazil_local.ports import LOOPBACK

__all__ = ["COMMITS", "Sink", "versions"]

_PLUGINS = ("iceberg-sink", "avro-converter")
"""Sets of `jars.lock`, each a plugin of Connect with a class loader of its own."""

COMMITS = 5
"""Seconds between two commits of the sink; 300 unless told."""

_JVM = ("-Xmx2g", NO_CORE, "-Dorg.slf4j.simpleLogger.defaultLogLevel=error")
_WORKER = "org.apache.kafka.connect.cli.ConnectStandalone"
_WAIT = 300.0
_METADATA = ("topic", "partition", "offset", "timestamp")


class Sink:
    """A worker of Connect that runs within a `with`.

    Args:
        connections: Of the stack.
        folder: For plugins, settings and offsets; it holds the keys of S3.
    """

    def __init__(self, connections: Connections, folder: Path) -> None:
        self._connections, self._folder = connections, folder
        self._ends = ExitStack()
        self._port = _free_port()
        self.process = psutil.Process()  # the worker, once it runs

    def __enter__(self) -> Self:
        jars = Jars(cache_folder(), read_lock())
        for name in _PLUGINS:
            (plugin := self._folder / "plugins" / name).mkdir(parents=True)
            for jar in jars.paths(name):
                shutil.copy(jar, plugin)
        classes = os.pathsep.join(map(str, jars.paths("connect")))
        java = java_home(self._folder / "java") / "bin" / "java"
        log = self._ends.enter_context((self._folder / "worker.log").open("wb"))
        command = [str(java), *_JVM, _WORKER, str(self._worker_file())]
        env = {**os.environ, "CLASSPATH": classes}
        worker = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env)
        self._ends.callback(worker.wait)
        self._ends.callback(worker.kill)
        self.process = psutil.Process(worker.pid)
        try:
            _until(lambda: self._ask("connector-plugins") is not None, "the worker answers")
        except BaseException:
            self._ends.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, e: BaseException | None, at: TracebackType | None
    ) -> None:
        self._ends.close()

    def land(self, topic: str, name: TableName) -> None:
        """Runs a connector until all records of a topic are in the table."""
        with self.running(topic, name) as wait:
            wait()

    @contextmanager
    def running(self, topic: str, name: TableName) -> Iterator[Callable[[], None]]:
        """A connector, and what waits until all records that the topic has by then are in the table."""
        control = f"{name.table}_control"
        admin = self._connections.admin
        admin.create_topics([NewTopic(control, 1)])[control].result(30)
        self._ask("connectors", {"name": name.table, "config": self._connector(topic, name, control)})
        try:
            yield partial(self._wait, topic, name)
        finally:
            self._ask(f"connectors/{name.table}", method="DELETE")
            admin.delete_topics([control])[control].result(30)

    def _wait(self, topic: str, name: TableName) -> None:
        table = self._connections.catalog.load_table(name.identifier)
        facts = topic_fact(self._connections.admin, topic)
        count = sum(facts.end.values()) - sum(facts.first.values())
        _until(lambda: _total(table.refresh()) >= count or self._is_broken(name.table), "all is committed")

    def _is_broken(self, connector: str) -> bool:
        status = self._ask(f"connectors/{connector}/status")
        traces = [task["trace"] for task in (status or {"tasks": ()})["tasks"] if task["state"] == "FAILED"]
        assert not traces, traces[0]
        return False

    def _connector(self, topic: str, name: TableName, control: str) -> dict[str, str]:
        settings = self._connections.settings
        return {
            "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
            "tasks.max": "2",
            "topics": topic,
            "consumer.override.auto.offset.reset": "earliest",
            "consumer.override.max.poll.records": "20000",
            "key.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
            "value.converter": "io.apicurio.registry.utils.converter.AvroConverter",
            "value.converter.apicurio.registry.url": _registry(settings),
            "value.converter.apicurio.registry.as-confluent": "true",
            "value.converter.apicurio.registry.use-id": "contentId",
            "transforms": "metadata",
            "transforms.metadata.type": "org.apache.kafka.connect.transforms.InsertField$Value",
            **{f"transforms.metadata.{each}.field": f"$${each}" for each in _METADATA},
            "iceberg.tables": ".".join(name.identifier),
            "iceberg.control.topic": control,
            "iceberg.control.commit.interval-ms": str(COMMITS * 1000),
            **{f"iceberg.catalog.{key}": value for key, value in self._catalog(settings).items()},
        }

    def _catalog(self, settings: Settings) -> Mapping[str, str]:
        """As Spark is told of it, but for the keys: Connect shows a connector's settings to whoever asks."""
        options, keys = spark_properties(settings), self._folder / "keys.properties"
        secrets = {name: value for name, value in options.items() if "key" in name}
        write_private(keys, "".join(f"{name}={value}\n" for name, value in secrets.items()))
        return {**options, **{name: f"${{file:{keys}:{name}}}" for name in secrets}}

    def _worker_file(self) -> Path:
        settings = self._connections.settings
        options = {
            "bootstrap.servers": settings.kafka.bootstrap_servers,
            "listeners": f"http://{LOOPBACK}:{self._port}",
            "plugin.path": str(self._folder / "plugins"),
            "plugin.discovery": "hybrid_warn",
            "offset.storage.file.filename": str(self._folder / "offsets"),
            "offset.flush.interval.ms": "1000",  # so long sleeps a task at its topic's end: 60 s unless told
            "key.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
            "value.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
            "connector.client.config.override.policy": "All",
            "config.providers": "file",
            "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
            "config.providers.file.param.allowed.paths": str(self._folder),
        }
        file = self._folder / "worker.properties"
        write_private(file, "".join(f"{key}={value}\n" for key, value in options.items()))
        return file

    def _ask(self, path: str, body: Mapping[str, Any] | None = None, method: str | None = None) -> Any:
        """What the worker answers; None where it does not, or has nothing to say."""
        request = urllib.request.Request(
            f"http://{LOOPBACK}:{self._port}/{path}",
            None if body is None else json.dumps(body).encode(),
            {"Content-Type": "application/json"},
            method=method,
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as e:
            if e.code in {404, 409}:  # not yet there, or it is being started
                return None
            raise AssertionError(e.read().decode()) from None
        except OSError:
            return None


def versions() -> list[str]:
    """What Connect and its sink are, for the page of results."""
    wanted = ("connect-runtime", "iceberg-kafka-connect", "apicurio-registry-utils-converter")
    coordinates = (jar.coordinates.split(":") for jar in read_lock())
    return sorted({f"{artifact} {version}" for _, artifact, version, *_ in coordinates if artifact in wanted})


def _registry(settings: Settings) -> str:
    """The registry's own interface, beside the one that speaks Confluent's."""
    parts = urlsplit(settings.registry.url)
    return f"{parts.scheme}://{parts.netloc}/apis/registry/v2"


def _total(table: Any) -> int:
    head = table.current_snapshot()
    return int(head.summary["total-records"]) if head else 0


def _until(done: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _WAIT
    while not done():
        assert time.monotonic() < deadline, f"{_WAIT:.0f} seconds, and still not: {what}"
        time.sleep(0.25)


def _free_port() -> int:
    with closing(socket()) as listener:
        listener.bind((LOOPBACK, 0))
        return int(listener.getsockname()[1])
