"""A Trino of its own over the stack's catalog: `python tests/kit/engines/trino.py FOLDER` fetches one.

Newer releases than this are not in Maven's repository. It needs Java 24 or newer, which the stack has not.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from socket import socket
from urllib.request import urlopen

from jgo.maven import MavenContext

from frazil.settings.profile import Settings
from kit.runs.waiting import wait_for

__all__ = ["ADDRESS", "HOME", "JAVA", "VERSION", "is_there", "trino_on"]

VERSION = "476"
HOME, JAVA, ADDRESS = "FRAZIL_TEST_TRINO", "FRAZIL_TEST_TRINO_JAVA", "FRAZIL_TEST_TRINO_ADDRESS"
"""Where it was unpacked; the home of its Java; and where it answers, for the script."""

_OPTIONS = (
    "-Xmx1500M", "-XX:TieredStopAtLevel=1", "-XX:+ExitOnOutOfMemoryError", "-Dfile.encoding=UTF-8",
    "-Djdk.attach.allowAttachSelf=true", "--add-modules=jdk.incubator.vector",
)  # fmt: skip


_SERVER = ("trino-server-core", "tar.gz", "0f388f9967c177ae70a47c099082fc95387f0c3cb96d8000d1d41fc3a5223158")
_PLUGIN = ("trino-iceberg", "zip", "99edba5b491ed94d599aeb61e0794272d3569d8b563f3bb8569e8a49daa87b6c")
"""Artifacts of `VERSION`, and the SHA-256 of each."""


def fetch(folder: Path) -> None:
    """Fetches the server and its plugin for Iceberg, 500 MB, and unpacks them."""
    with tarfile.open(_artifact(*_SERVER)) as packed:
        packed.extractall(folder, filter="data")
    with zipfile.ZipFile(_artifact(*_PLUGIN)) as packed:
        packed.extractall(folder / f"trino-server-core-{VERSION}" / "plugin")


def _artifact(name: str, packaging: str, sha256: str) -> Path:
    path = Path(
        MavenContext().project("io.trino", name).at_version(VERSION).artifact("", packaging).resolve()
    )
    with path.open("rb") as file:
        actual = hashlib.file_digest(file, "sha256").hexdigest()
    assert actual == sha256, f"{path.name} is another file than the one that was tried: SHA-256 {actual}"
    return path


def is_there() -> bool:
    """Whether it was fetched, and has a Java."""
    return bool(os.environ.get(HOME) and os.environ.get(JAVA))


@contextmanager
def trino_on(settings: Settings, folder: Path) -> Iterator[str]:
    """Its address, while it runs; what it says is in the folder."""
    home = Path(os.environ[HOME]) / f"trino-server-core-{VERSION}"
    with closing(socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    _configure(home, settings, folder, address)
    named = ("-Dnode.environment=tests", "-Dnode.id=one", f"-Dnode.data-dir={folder}")
    java, config = Path(os.environ[JAVA]) / "bin" / "java", f"-Dconfig={folder / 'config.properties'}"
    command = [java, *_OPTIONS, *named, config, "-cp", f"{home}/lib/*", "io.trino.server.TrinoServer"]
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(command, cwd=folder, stdout=log, stderr=log) as server,
    ):
        try:
            wait_for(lambda: server.poll() is not None or _is_up(address))
            assert server.poll() is None, (folder / "log").read_text()[-2000:]
            yield address
        finally:
            server.kill()


def _is_up(address: str) -> bool:
    with suppress(OSError), urlopen(f"{address}/v1/info", timeout=5) as answer:
        return b'"starting":false' in answer.read()
    return False


def _configure(home: Path, settings: Settings, folder: Path, address: str) -> None:
    assert settings.aws.access_key
    assert settings.aws.secret_key
    catalogs = folder / "catalogs"
    catalogs.mkdir()
    _write(
        catalogs / "lake.properties",
        {
            "connector.name": "iceberg",
            "iceberg.catalog.type": "rest",
            "iceberg.rest-catalog.uri": settings.rest.uri,
            "iceberg.rest-catalog.warehouse": settings.rest.warehouse,
            "iceberg.rest-catalog.sigv4-enabled": "true",
            "iceberg.rest-catalog.signing-name": settings.rest.signing_name,
            "fs.native-s3.enabled": "true",
            "s3.endpoint": settings.s3.endpoint,
            "s3.region": settings.aws.region,
            "s3.path-style-access": "true",
            "s3.aws-access-key": settings.aws.access_key.get_secret_value(),
            "s3.aws-secret-key": settings.aws.secret_key.get_secret_value(),
        },
    )
    _write(
        folder / "config.properties",
        {
            "coordinator": "true",
            "node-scheduler.include-coordinator": "true",
            "node.internal-address": "127.0.0.1",
            "node.bind-ip": "127.0.0.1",
            "http-server.http.port": address.rpartition(":")[2],
            "discovery.uri": address,
            "query.max-memory-per-node": "400MB",
            "catalog.config-dir": str(catalogs),
            "plugin.dir": str(home / "plugin"),
        },
    )


def _write(file: Path, properties: dict[str, str | None]) -> None:
    file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))


if __name__ == "__main__":
    fetch(Path(sys.argv[1]))
