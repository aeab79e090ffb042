"""Catalogs that lie, with a table in them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from frazil.settings.profile import Settings
from frazil.tables.catalog import open_catalog
from kit.commits import NAME, Lake, lake_on
from kit.lying import LIES, LyingCatalog, glue_in_process
from kit.wire import Wire, wired


@pytest.fixture(scope="session")
def landed_twice(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, str]:
    """A table of two landings, made once: where its files are, a copy of them, and its metadata.

    Making it takes PyIceberg ten commits, half of the CPU that a test of one commit needs.
    """
    folder, copy = tmp_path_factory.mktemp("lake"), tmp_path_factory.mktemp("copy") / "lake"
    catalog = LyingCatalog(folder)
    metadata = lake_on(catalog).table.metadata_location
    catalog.close()
    shutil.copytree(folder, copy)
    return folder, copy, metadata


@pytest.fixture
def lying(landed_twice: tuple[Path, Path, str]) -> Iterator[LyingCatalog]:
    """A catalog that says of its commits what it is told to."""
    folder, copy, _ = landed_twice
    shutil.rmtree(folder)
    shutil.copytree(copy, folder)
    catalog = LyingCatalog(folder)
    yield catalog
    catalog.close()


@pytest.fixture
def lake(lying: LyingCatalog, landed_twice: tuple[Path, Path, str]) -> Lake:
    """The same with a table of two landings."""
    lying.create_namespace(NAME.namespace)
    lying.register_table(NAME.identifier, landed_twice[2])
    return Lake(lying, lambda fate: lying.lies.append(LIES[fate]))


@pytest.fixture(scope="session")
def glue_wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Wire, str]]:
    """A wire before Glue, and its address."""
    with glue_in_process(tmp_path_factory.mktemp("glue")) as url, wired({"glue": url}) as (wire, urls):
        yield wire, urls["glue"]


@pytest.fixture
def glue_lake(glue_wire: tuple[Wire, str], tmp_path: Path) -> Iterator[Lake]:
    """A table that Glue owns, asked over the wire by the client that the engine opens."""
    wire, url = glue_wire
    aws = {"access_key": "key", "secret_key": "secret"}
    catalog = open_catalog(
        Settings.load(catalog="glue", glue={"endpoint": url, "warehouse": tmp_path.as_uri()}, aws=aws)
    )
    yield lake_on(catalog, lambda fate: wire.once(fate))
    wire.calm()
    catalog.drop_table(("n", "t"))
