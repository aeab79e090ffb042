from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from frazil_local.jars import java_home


@pytest.fixture(autouse=True)
def no_java_of_the_developer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)


def a_java(home: Path, version: str) -> Path:
    home.mkdir()
    (home / "release").write_text(f'IMPLEMENTOR="Somebody"\nJAVA_VERSION="{version}"\n')
    return home


def test_the_java_from_pypi_starts_though_spark_asks_for_a_module_that_it_lacks(
    tmp_path: Path,
) -> None:
    java = java_home(tmp_path / "java with space") / "bin" / "java"

    done = subprocess.run(
        [java, "--add-modules=jdk.incubator.vector", "-Dtwo=two words", "-version"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert 'openjdk version "21' in done.stderr


def test_several_commands_may_be_the_first_one(tmp_path: Path) -> None:
    """Tests of several workers failed at a stack's start: one took the other's unfinished file away."""
    folders = [tmp_path / f"{n}" for n in range(50)]

    with ThreadPoolExecutor(8) as threads:
        for folder in folders:
            made = list(threads.map(lambda _, at=folder: java_home(at), range(8)))
            assert made == [folder] * 8


@pytest.mark.parametrize("version", ["21.0.8", "25"])
def test_the_users_java_is_taken_if_it_is_new_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    theirs = a_java(tmp_path / "theirs", version)
    monkeypatch.setenv("JAVA_HOME", str(theirs))

    assert java_home(tmp_path / "ours") == theirs


@pytest.mark.parametrize("version", ["17.0.15", "1.8.0_402"])
def test_the_users_java_is_left_alone_if_it_is_too_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(a_java(tmp_path / "theirs", version)))

    assert java_home(tmp_path / "ours") == tmp_path / "ours"


def test_a_java_home_that_is_not_there_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))

    assert java_home(tmp_path / "ours") == tmp_path / "ours"
