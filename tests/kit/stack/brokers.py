"""Brokers of the tests' own, on this machine: a cluster of three, and one that is reached over a wire.

Of the three, two may be stopped, killed and started. The third is the controller as well: it stays up, so
that somebody elects a leader.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
from confluent_kafka.admin import AdminClient, NewTopic

from frazil.connections import Connections
from frazil_local.home import Home, template
from frazil_local.jars import NO_CORE, Jars, cache_folder, java_home, read_lock
from frazil_local.ports import LOOPBACK
from frazil_local.server import Launch, Server
from frazil_local.stack import Stack
from kit.runs.processes import kill
from kit.runs.waiting import PATIENCE, wait_for
from kit.stack.dagster_servers import free_ports

__all__ = ["MAY_FALL", "STAYS", "Brokers", "FarBroker", "far_broker", "leader", "three_brokers"]

MAY_FALL = [1, 2]
"""The brokers that may be stopped: topics have their replicas there."""

STAYS = 3
"""The controller."""

_CLUSTER = "MkU3OEVBNTcwNTJENDM2Qk"
_JVM = ("-XX:+UseSerialGC", "-XX:-UsePerfData", NO_CORE, "-Xms64m", "-Xmx256m")
_LOG = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"

_MORE = """
node.id={node}
process.roles={roles}
listeners={listeners}
advertised.listeners={listeners}
broker.session.timeout.ms=4000
broker.heartbeat.interval.ms=500
"""
"""A broker that was killed is missed after four seconds, not nine."""

_FAR = """
listeners={own},CLIENTS://{host}:{port},CONTROLLER://{host}:{controller}
advertised.listeners={own},CLIENTS://{host}:{told},CONTROLLER://{host}:{controller}
inter.broker.listener.name=OWN
listener.security.protocol.map=CONTROLLER:PLAINTEXT,CLIENTS:PLAINTEXT,OWN:PLAINTEXT
"""
"""It speaks to itself by a listener of its own."""


class Brokers:
    """The cluster; brokers are told by their numbers."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack

    @property
    def servers(self) -> str:
        """The addresses of all brokers, for clients."""
        return ",".join(f"{LOOPBACK}:{self._stack.ports[_name(n)]}" for n in (*MAY_FALL, STAYS))

    def start(self, *numbers: int) -> None:
        """Starts brokers; returns when they answer."""
        self._stack.up(lambda *_: None, [_name(n) for n in numbers])

    def stop(self, number: int) -> None:
        """A broker hands over what it leads, and ends."""
        self._stack.down(lambda *_: None, [_name(number)])

    def kill(self, number: int) -> None:
        """SIGKILL."""
        (status,) = self._stack.status([_name(number)])
        assert status.pid
        kill([psutil.Process(status.pid)])

    def make_topic(self, connections: Connections, name: str, replicas: Sequence[int] = MAY_FALL) -> None:
        """One partition, led by the first of some brokers; a replica that stayed behind may lead it."""
        config = {"unclean.leader.election.enable": "true", "min.insync.replicas": "1"}
        new = NewTopic(name, num_partitions=1, replica_assignment=[list(replicas)], config=config)
        for future in connections.admin.create_topics([new]).values():
            future.result(PATIENCE)
        wait_for(lambda: leader(connections.admin, name) == replicas[0])


def leader(admin: AdminClient, topic: str) -> int:
    """Who leads its only partition; -1: nobody."""
    partitions = admin.list_topics(topic, timeout=PATIENCE).topics[topic].partitions
    return partitions[0].leader if partitions else -1


@contextmanager
def three_brokers(folder: Path) -> Iterator[Brokers]:
    """A new cluster that is up until the context ends."""
    home = Home(folder)
    home.make()
    nodes = (STAYS, *MAY_FALL)
    names = ["controller", *map(_name, nodes)]
    ports = dict(zip(names, free_ports(len(names)), strict=True))
    stack = Stack(home, ports, [_node(home, ports, node) for node in nodes])
    try:
        stack.up(lambda *_: None)
        yield Brokers(stack)
    finally:
        stack.down(lambda *_: None)


@dataclass(frozen=True, slots=True)
class FarBroker:
    """A broker that tells its clients to come to another port than its own: there a wire has to be.

    Args:
        port: Where it listens.
        advertised: The port that it gives its clients.
    """

    port: int
    advertised: int

    @property
    def address(self) -> str:
        """What clients connect to."""
        return f"{LOOPBACK}:{self.advertised}"


@contextmanager
def far_broker(folder: Path) -> Iterator[FarBroker]:
    """Such a broker, that is up until the context ends."""
    home = Home(folder)
    home.make()
    ports = dict(zip(("controller", "far", "own", "told"), free_ports(4), strict=True))
    broker = FarBroker(ports["far"], ports["told"])
    properties = _properties(ports, "far", home.data("far")) + _FAR.format(
        host=LOOPBACK, own=f"OWN://{LOOPBACK}:{ports['own']}", told=broker.advertised, port=broker.port,
        controller=ports["controller"],
    )  # fmt: skip
    stack = Stack(home, ports, [_broker(home, ports, "far", properties, alone=True)])
    try:
        stack.up(lambda *_: None)
        yield broker
    finally:
        stack.down(lambda *_: None)


def _name(node: int) -> str:
    return f"broker-{node}"


def _node(home: Home, ports: Mapping[str, int], node: int) -> Server:
    """One of three."""
    name, alone = _name(node), node == STAYS
    own = f"CLIENTS://{LOOPBACK}:{ports[name]}"
    properties = _properties(ports, name, home.data(name)) + _MORE.format(
        node=node,
        roles="broker,controller" if alone else "broker",
        listeners=f"{own},CONTROLLER://{LOOPBACK}:{ports['controller']}" if alone else own,
    )
    return _broker(home, ports, name, properties, alone=alone)


def _broker(home: Home, ports: Mapping[str, int], name: str, properties_text: str, *, alone: bool) -> Server:
    """A broker by its properties; `alone`: it is the controller as well."""
    java, properties = java_home(home.root / "java") / "bin" / "java", home.data(name) / "server.properties"

    def launch() -> Launch:
        classes = os.pathsep.join(map(str, Jars(cache_folder(), read_lock()).paths("kafka")))
        program = (str(java), *_JVM, _LOG, f"-Djava.io.tmpdir={home.scratch}")
        if not properties.exists():
            properties.write_text(properties_text)
            _format((*program, "-cp", classes), properties, alone=alone)
        return Launch((*program, "kafka.Kafka", str(properties)), {"CLASSPATH": classes})

    def ask() -> None:
        AdminClient({"bootstrap.servers": f"{LOOPBACK}:{ports[name]}", "log_level": "0"}).list_topics(
            timeout=5
        )

    return Server(name, (name,), launch, ask)


def _properties(ports: Mapping[str, int], name: str, data: Path) -> str:
    """As of the embedded stack, with more to follow: of a key that stands twice the last line counts."""
    return template("server.properties").format(
        host=LOOPBACK, broker=ports[name], controller=ports["controller"], data=data / "log",
        of_clients="PLAINTEXT", of_controller="PLAINTEXT",
    )  # fmt: skip


def _format(java: tuple[str, ...], properties: Path, *, alone: bool) -> None:
    standalone = ["--standalone"] if alone else []
    tool = [*java, "kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", str(properties), *standalone]
    done = subprocess.run(tool, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr or done.stdout
