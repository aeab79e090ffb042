"""Writes `jars.lock` anew: `python -m frazil.local.jarlock` (or `make lock`)."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from frazil.local.jars import LOCK, fetch, maven, sha256

__all__ = ["WANTED", "write_lock"]

WANTED = (
    ("kafka", "org.apache.kafka:kafka_2.13:4.3.1"),
    ("kafka", "org.slf4j:slf4j-simple:1.7.36"),
    ("registry", "io.apicurio:apicurio-registry-app:3.3.3:all:tar.gz"),
    ("spark", "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"),
    ("spark", "org.apache.iceberg:iceberg-aws-bundle:1.12.0"),
    ("spark", "org.apache.spark:spark-sql-kafka-0-10_2.13:4.1.3"),
    ("spark", "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.1.0-preview1"),
    ("spark", "org.apache.spark:spark-avro_2.13:4.1.1"),
    ("spark", "org.apache.kafka:kafka-clients:3.9.1"),
    ("spark", "org.apache.commons:commons-pool2:2.12.1"),
)
"""Set and coordinates. Kafka's are locked with all that they need at run time, the others alone."""

_HEADER = "# set group:artifact:version[:classifier:packaging] sha256; written by `make lock`\n"


def write_lock(lock: Path = LOCK) -> int:
    """Fetches everything that is wanted and notes its sums; says how many files there are."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(8) as threads:
        wanted = sorted(set(_resolve(maven(Path(folder)))), key=str)
        lines = list(threads.map(lambda each: _line(maven(Path(folder)), *each), wanted))
    lock.write_text(_HEADER + "".join(lines))
    return len(lines)


def _resolve(context: Any) -> Iterator[tuple[str, str]]:
    for use, coordinates in WANTED:
        yield use, coordinates
        if use == "kafka":
            asked = context.create_dependency(coordinates)
            _, needed = context.resolver.resolve([asked])
            yield from ((use, f"{d.groupId}:{d.artifactId}:{d.version}") for d in needed)


def _line(context: Any, use: str, coordinates: str) -> str:
    group, artifact, version, *kind = coordinates.split(":")
    found = context.project(group, artifact).at_version(version).artifact(*kind)
    return f"{use} {coordinates} {sha256(fetch(found))}\n"


if __name__ == "__main__":
    write_lock()
