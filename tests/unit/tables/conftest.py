"""Catalogs that lie, with a table in them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from frazil.settings.profile import Settings
from frazil.tables.catalogs.catalog import open_catalog
from kit.tables.commits import Lake, lake_of
from kit.wires.lying import LIES, LyingCatalog, glue_in_process
from kit.wires.wire import Wire, wired


@pytest.fixture
def lying(two_landings: tuple[Path, str]) -> Iterator[LyingCatalog]:
    """A catalog that says of its commits what it is told to."""
    catalog = LyingCatalog(two_landings[0])
    yield catalog
    catalog.close()


@pytest.fixture
def lake(lying: LyingCatalog, two_landings: tuple[Path, str]) -> Lake:
    """The same with a table of two landings."""
    return lake_of(lying, two_landings[1], lambda fate: lying.lies.append(LIES[fate]))


@pytest.fixture(scope="session")
def glue_wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Wire, str]]:
    """A wire before Glue, and its address."""
    with glue_in_process(tmp_path_factory.mktemp("glue")) as url, wired({"glue": url}) as (wire, urls):
        yield wire, urls["glue"]


@pytest.fixture
def glue_lake(glue_wire: tuple[Wire, str], two_landings: tuple[Path, str]) -> Iterator[Lake]:
    """A table that Glue owns, asked over the wire by the client that the engine opens."""
    (wire, url), (folder, metadata) = glue_wire, two_landings
    aws = {"access_key": "key", "secret_key": "secret"}
    catalog = open_catalog(
        Settings.load(catalog="glue", glue={"endpoint": url, "warehouse": folder.as_uri()}, aws=aws)
    )
    yield lake_of(catalog, metadata, lambda fate: wire.once(fate))
    wire.calm()
    catalog.drop_table(("n", "t"))
