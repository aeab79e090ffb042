"""The ports of the stack: defaults, the user's choice, and who holds one that is taken."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path

import psutil

from frazil.errors import ConfigureError, UsageError
from frazil_local.home import write_private

LOOPBACK = "127.0.0.1"

Ports = Mapping[str, int]
"""Port by name, as in `DEFAULTS`."""

DEFAULTS: Ports = {
    "kafka": 9092, "kafka-controller": 9093,
    "registry": 8081,
    "s3": 8333, "s3-grpc": 8334, "rest": 8181, "catalog": 8182,
    "storage-master": 9333, "storage-master-grpc": 9334, "storage-volume": 9340, "storage-volume-grpc": 9341,
    "storage-filer": 8888, "storage-filer-grpc": 8889, "storage-admin": 8335, "storage-admin-grpc": 8336,
    "storage-metrics": 8337,
    "glue": 5557, "snowflake": 5558,
    "spark": 15002, "spark-upkeep": 15003,
    "kafka-cloud": 9094, "cloud-aws": 5605, "cloud-confluent": 5606, "cloud-snowflake": 5607,
    "postgres": 5434, "connect": 8083,
}  # fmt: skip


def url(ports: Ports, name: str) -> str:
    """Where one of the HTTP servers is."""
    return f"http://{LOOPBACK}:{ports[name]}"


def parse(pairs: Iterable[str]) -> dict[str, int]:
    """Reads `NAME=N` as given on the command line."""
    chosen = {}
    for pair in pairs:
        name, _, number = pair.partition("=")
        if name not in DEFAULTS or not number.isdigit() or not 0 < int(number) < 65536:
            todo = f"Write --port NAME=NUMBER, NAME one of {', '.join(DEFAULTS)}."
            raise UsageError(f"--port {pair} says no port.", todo=todo)
        chosen[name] = int(number)
    return chosen


def recall(memory: Path) -> Ports:
    """The ports of the last start, or the defaults; one that is new since then moves as far as Spark did."""
    if not memory.is_file():
        return DEFAULTS
    try:
        noted = dict(json.loads(memory.read_text())["ports"])
        offset = noted.get("spark", DEFAULTS["spark"]) - DEFAULTS["spark"]
        return {**_moved(offset), **noted}
    except (ValueError, KeyError, TypeError) as e:
        raise ConfigureError(
            "The file of the stack's ports can't be read.",
            where=f"{memory}: {e}",
            todo="Delete it, then `frazil down` and `frazil up`: with the default ports, or say others.",
        ) from None


def choose(memory: Path, chosen: Mapping[str, int] | None = None, offset: int | None = None) -> Ports:
    """The ports of this start: those of the last one, or the defaults with an offset; those chosen win."""
    base = recall(memory) if offset is None else _moved(offset)
    ports = {**base, **(chosen or {})}
    by_number: dict[int, str] = {}
    for name, port in ports.items():
        if not 0 < port < 65536:
            raise UsageError(f"Port {port} for {name} is none.", todo="Use another offset.")
        if port in by_number:
            problem = f"Port {port} is wanted by {by_number[port]} and by {name}."
            raise UsageError(problem, todo=f"Choose another with --port {name}=NUMBER.")
        by_number[port] = name
    return ports


def remember(memory: Path, ports: Ports) -> None:
    """Keeps the choice for the next start."""
    write_private(memory, json.dumps({"ports": dict(ports)}, indent=2) + "\n")


def is_taken(port: int) -> bool:
    """Whether something listens there."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return True
    return False


def taken(part: str, name: str, port: int) -> ConfigureError:
    """The error for a port that something else holds."""
    return ConfigureError(
        f"Port {port} is taken{_holder(port)}; {part} needs it.",
        where=f"{LOOPBACK}:{port} ({name})",
        meaning="Nothing was changed.",
        todo=f"Stop what holds it, or choose another: `frazil up --port {name}=NUMBER`, "
        "or `frazil up --port-offset NUMBER` for all.",
    )


def _moved(offset: int) -> Ports:
    return {name: port + offset for name, port in DEFAULTS.items()}


def _holder(port: int) -> str:
    try:
        listening = [c for c in psutil.net_connections("tcp") if c.status == psutil.CONN_LISTEN]
        pids = [c.pid for c in listening if tuple(c.laddr)[1:] == (port,) and c.pid]
        return f" by process {pids[0]} ({psutil.Process(pids[0]).name()})" if pids else ""
    except psutil.Error:  # macOS shows the sockets of other processes to root only
        return ""
