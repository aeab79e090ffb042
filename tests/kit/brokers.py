"""One cluster of three brokers on this machine, two of which may be stopped, killed and started.

The third is the controller as well: it stays up, so that somebody elects a leader.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil
from confluent_kafka.admin import AdminClient, NewTopic

from frazil.connections import Connections
from frazil.local.home import Home, template
from frazil.local.jars import NO_CORE, Jars, cache_folder, java_home, read_lock
from frazil.local.ports import LOOPBACK
from frazil.local.server import Launch, Server
from frazil.local.stack import Stack
from kit.dagster_servers import free_port
from kit.processes import kill
from kit.waiting import PATIENCE, wait_for

__all__ = ["MAY_FALL", "STAYS", "Brokers", "three_brokers"]

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
    found = admin.list_topics(topic, timeout=PATIENCE).topics[topic].partitions
    return found[0].leader if found else -1


@contextmanager
def three_brokers(folder: Path) -> Iterator[Brokers]:
    """A new cluster that is up until the context ends."""
    home = Home(folder)
    home.make()
    nodes = (STAYS, *MAY_FALL)
    ports = {"controller": free_port(), **{_name(node): free_port() for node in nodes}}
    java = java_home(home.root / "java") / "bin" / "java"
    stack = Stack(home, ports, [_broker(home, ports, java, node) for node in nodes])
    try:
        stack.up(lambda *_: None)
        yield Brokers(stack)
    finally:
        stack.down(lambda *_: None)


def _name(node: int) -> str:
    return f"broker-{node}"


def _broker(home: Home, ports: Mapping[str, int], java: Path, node: int) -> Server:
    data = home.data(_name(node))
    properties = data / "server.properties"

    def launch() -> Launch:
        classes = os.pathsep.join(map(str, Jars(cache_folder(), read_lock()).paths("kafka")))
        program = (str(java), *_JVM, _LOG, f"-Djava.io.tmpdir={home.scratch}")
        if not properties.exists():
            properties.write_text(_properties(ports, node, data / "log"))
            _format((*program, "-cp", classes), properties, node)
        return Launch((*program, "kafka.Kafka", str(properties)), {"CLASSPATH": classes})

    def ask() -> None:
        AdminClient({"bootstrap.servers": f"{LOOPBACK}:{ports[_name(node)]}", "log_level": "0"}).list_topics(
            timeout=5
        )

    return Server(_name(node), (_name(node),), launch, ask)


def _properties(ports: Mapping[str, int], node: int, log: Path) -> str:
    """As of the embedded stack, and what differs: of a key that stands twice the last line counts."""
    controls = node == STAYS
    own = f"CLIENTS://{LOOPBACK}:{ports[_name(node)]}"
    told = template("server.properties").format(
        host=LOOPBACK, broker=ports[_name(node)], controller=ports["controller"], data=log,
        of_clients="PLAINTEXT", of_controller="PLAINTEXT",
    )  # fmt: skip
    return told + _MORE.format(
        node=node,
        roles="broker,controller" if controls else "broker",
        listeners=f"{own},CONTROLLER://{LOOPBACK}:{ports['controller']}" if controls else own,
    )


def _format(java: tuple[str, ...], properties: Path, node: int) -> None:
    alone = ["--standalone"] if node == STAYS else []
    tool = [*java, "kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", str(properties), *alone]
    done = subprocess.run(tool, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr or done.stdout
