from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from functools import cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import dagster as dg

    from kit.readers.mirrored import Standing
    from kit.wires.wire import Wire


_NUMBERS = count()
_HERE = Path(__file__).parent


@cache
def _longer() -> frozenset[Path]:
    """The files that `make unit` leaves to `make test`."""
    lines = (_HERE / "longer.txt").read_text().splitlines()
    longer = frozenset(_HERE / line for line in lines if not line.startswith("#"))
    if missing := [str(file) for file in longer if not file.exists()]:
        raise pytest.UsageError(f"longer.txt names files that are not there: {missing}")
    return longer


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Imports no file that the run leaves out: that took a fifth of the CPU of each worker's collection."""
    is_left_out = "not longer" in config.option.markexpr and collection_path in _longer()
    return True if is_left_out else None


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests of the files that `make unit` leaves to `make test`."""
    for item in items:
        if item.path in _longer():
            item.add_marker(pytest.mark.longer)


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the tests' stacks and profiles would be."""
    return tmp_path_factory.mktemp("homes")


@pytest.fixture(autouse=True)
def no_profile_but_the_defaults(homes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps the developer's own stack and Dagster instance out of unit tests.

    Most tests write no file, and take less time than a folder of their own does.
    """
    _forget_the_profile(monkeypatch, homes / str(next(_NUMBERS)))


def _forget_the_profile(patch: pytest.MonkeyPatch, home: Path) -> None:
    for name in list(os.environ):
        if name.startswith(("FRAZIL_", "DAGSTER_", "AWS_")):
            patch.delenv(name)
    patch.setenv("FRAZIL_HOME", str(home))


@pytest.fixture
def topics_end_with_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """No topic ends with markers of transactions: nobody asks a broker what its end holds."""
    position = "frazil.landing.tableflow.position.without_records"
    monkeypatch.setattr(position, lambda *_: frozenset())


# Dagster takes a second to import, which most files of tests need not pay for.
@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    from dagster import DagsterInstance

    with DagsterInstance.ephemeral() as instance:
        yield instance


@pytest.fixture(scope="session")
def graph(tmp_path_factory: pytest.TempPathFactory) -> dg.Definitions:
    """The definitions of the checkout, loaded once for all tests: none of them changes it."""
    from frazil.definitions import defs

    with pytest.MonkeyPatch.context() as patch:
        _forget_the_profile(patch, tmp_path_factory.mktemp("home"))
        return defs()


@pytest.fixture(scope="session")
def landed_twice(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, str]:
    """A table of two landings, made once: where its files are, a copy of them, and its metadata.

    Making it takes PyIceberg ten commits, half of the CPU that a test of one commit needs.
    """
    from kit.tables.commits import lake_on
    from kit.wires.lying import LyingCatalog

    folder, copy = tmp_path_factory.mktemp("lake"), tmp_path_factory.mktemp("copy") / "lake"
    catalog = LyingCatalog(folder)
    metadata = lake_on(catalog).table.metadata_location
    catalog.close()
    shutil.copytree(folder, copy)
    return folder, copy, metadata


@pytest.fixture
def two_landings(landed_twice: tuple[Path, Path, str]) -> tuple[Path, str]:
    """The same as it was made: its folder and its metadata, to be registered."""
    folder, copy, metadata = landed_twice
    shutil.rmtree(folder)
    shutil.copytree(copy, folder)
    return folder, metadata


@pytest.fixture(scope="module")
def wire_and_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Wire, str]]:
    """A wire before a Glue in this process, and its address."""
    from kit.wires.lying import glue_in_process
    from kit.wires.wire import wired

    with glue_in_process(tmp_path_factory.mktemp("glue")) as url, wired({"glue": url}) as (wire, urls):
        yield wire, urls["glue"]


@pytest.fixture(scope="module")
def standing(wire_and_url: tuple[Wire, str], tmp_path_factory: pytest.TempPathFactory) -> Standing:
    """Tables that this Glue shows."""
    from kit.readers.mirrored import Standing

    return Standing(tmp_path_factory.mktemp("standing"), wire_and_url[1])


@pytest.fixture
def wire(wire_and_url: tuple[Wire, str]) -> Iterator[Wire]:
    """Calm again when the test ends."""
    yield wire_and_url[0]
    wire_and_url[0].calm()
