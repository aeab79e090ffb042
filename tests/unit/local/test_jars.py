from __future__ import annotations

import hashlib
import io
import tarfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from frazil.errors import ConfigureError
from frazil_local.jars import LOCK, WANTED, Jar, Jars, read_lock


@dataclass
class Repository:
    """Serves bytes where Maven Central would, and counts the requests."""

    content: bytes
    asked: list[str] = field(default_factory=list)

    def fetch(self, artifact: Any) -> Path:
        self.asked.append(artifact.filename)
        path = Path(artifact.cached_path)
        path.parent.mkdir(parents=True)
        path.write_bytes(self.content)
        return path


def locked(content: bytes, coordinates: str = "org.example:thing:1.0") -> list[Jar]:
    return [Jar("kafka", coordinates, hashlib.sha256(content).hexdigest())]


def test_the_committed_lock_names_no_address_and_a_sum_for_each_file() -> None:
    assert "//" not in LOCK.read_text()
    assert {len(jar.sha256) for jar in read_lock()} == {64}


def test_the_committed_lock_holds_all_that_is_wanted() -> None:
    assert set(WANTED) <= {(jar.use, jar.coordinates) for jar in read_lock()}


def test_kafka_is_locked_with_what_it_needs_at_run_time() -> None:
    names = {jar.coordinates.split(":")[1] for jar in read_lock() if jar.use == "kafka"}

    assert {"kafka-server", "kafka-raft", "scala-library", "slf4j-simple"} <= names


def test_a_lock_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigureError, match=r"jars\.lock"):
        read_lock(tmp_path / "jars.lock")


def test_a_line_of_the_lock_with_a_part_missing_is_refused(tmp_path: Path) -> None:
    lock = tmp_path / "jars.lock"
    lock.write_text("kafka org.example:thing:1.0\n")

    with pytest.raises(ConfigureError, match="can't be read"):
        read_lock(lock)


def test_a_jar_is_fetched_once(tmp_path: Path) -> None:
    maven = Repository(b"jar")
    jars = Jars(tmp_path, locked(b"jar"), maven.fetch)

    first, second = jars.paths("kafka"), jars.paths("kafka")

    assert first == second
    assert first[0].read_bytes() == b"jar"
    assert maven.asked == ["thing-1.0.jar"]


def test_a_jar_that_is_not_the_one_locked_is_refused_and_not_kept(tmp_path: Path) -> None:
    jars = Jars(tmp_path, locked(b"jar"), Repository(b"other").fetch)

    with pytest.raises(ConfigureError, match=r"thing:1\.0 is not the file that was locked") as refused:
        jars.paths("kafka")

    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    assert refused.value.todo == "Look at what lies between here and Maven Central before trying again."
    straight = Jars(tmp_path, locked(b"jar"), Repository(b"jar").fetch)
    assert straight.paths("kafka")[0].read_bytes() == b"jar"


def test_only_the_jars_of_the_set_asked_for_are_fetched(tmp_path: Path) -> None:
    maven = Repository(b"jar")

    assert Jars(tmp_path, locked(b"jar"), maven.fetch).paths("spark") == ()
    assert maven.asked == []


def test_an_archive_is_unpacked_once(tmp_path: Path) -> None:
    archive = archive_of("app/run.txt", b"run")
    jars = Jars(tmp_path, locked(archive, "org.example:app:1:all:tar.gz"), Repository(archive).fetch)

    folder = jars.unpacked("kafka")
    (folder / "app" / "mark").touch()

    assert (jars.unpacked("kafka") / "app" / "mark").exists()
    assert (folder / "app" / "run.txt").read_bytes() == b"run"


def archive_of(name: str, content: bytes) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as tar:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        tar.addfile(member, io.BytesIO(content))
    return stream.getvalue()
