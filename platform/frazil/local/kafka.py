"""Kafka: broker and controller in one process."""

from __future__ import annotations

import base64
import os
import subprocess
import uuid
from pathlib import Path

from frazil.errors import PartDownError
from frazil.local.home import Home
from frazil.local.jars import Jars
from frazil.local.ports import LOOPBACK, Ports
from frazil.local.server import Launch, Server

__all__ = ["kafka"]

_PROPERTIES = """process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers={host}:{controller}
listeners=PLAINTEXT://{host}:{broker},CONTROLLER://{host}:{controller}
advertised.listeners=PLAINTEXT://{host}:{broker},CONTROLLER://{host}:{controller}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={data}
num.partitions=3
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
log.cleaner.dedupe.buffer.size=16777216
"""

_JVM = (
    "-Xms256m",
    "-Xmx768m",
    "-XX:+UseSerialGC",
    "-XX:-UsePerfData",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
)


def kafka(home: Home, ports: Ports, java: Path, jars: Jars) -> Server:
    """The broker.

    Args:
        home: Of the stack.
        ports: Of the stack.
        java: JAVA_HOME.
        jars: Where its class path comes from.
    """

    def launch() -> Launch:
        data = home.data("kafka")
        properties = data / "server.properties"
        properties.write_text(_properties(data / "log", ports))
        classes = os.pathsep.join(map(str, jars.paths("kafka")))
        program = (str(java / "bin" / "java"), *_JVM, f"-Djava.io.tmpdir={home.scratch}")
        if not (data / "log" / "meta.properties").exists():
            _format((*program, "-cp", classes), properties)
        return Launch((*program, "kafka.Kafka", str(properties)), {"CLASSPATH": classes})

    def ask() -> None:
        from confluent_kafka.admin import AdminClient

        client = AdminClient({"bootstrap.servers": f"{LOOPBACK}:{ports['kafka']}", "log_level": 0})
        client.list_topics(timeout=5)

    return Server("kafka", ("kafka", "kafka-controller"), launch, ask)


def _properties(log: Path, ports: Ports) -> str:
    return _PROPERTIES.format(
        host=LOOPBACK, broker=ports["kafka"], controller=ports["kafka-controller"], data=log
    )


def _format(java: tuple[str, ...], properties: Path) -> None:
    """Makes the log folder of a new cluster."""
    tool = (*java, "kafka.tools.StorageTool", "format", "--standalone", "--ignore-formatted")
    done = subprocess.run(
        (*tool, "-t", _cluster_id(), "-c", str(properties)),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise PartDownError("Kafka can't make its log folder.", where=(done.stderr or done.stdout).strip())


def _cluster_id() -> str:
    """As `StorageTool random-uuid` makes it, without the second that a JVM takes."""
    while (text := base64.urlsafe_b64encode(uuid.uuid4().bytes).decode()[:22]).startswith("-"):
        pass
    return text
