"""Catalogs that lie, with a table in them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from frazil.settings import Settings
from frazil.tables.catalog import open_catalog
from kit.commits import Lake, lake_on
from kit.lying import LIES, LyingCatalog, glue_in_process
from kit.wire import Wire, wired


@pytest.fixture
def lying(tmp_path: Path) -> Iterator[LyingCatalog]:
    """A catalog that says of its commits what it is told to."""
    catalog = LyingCatalog(tmp_path)
    yield catalog
    catalog.close()


@pytest.fixture
def lake(lying: LyingCatalog) -> Lake:
    """The same with a table of two landings."""
    return lake_on(lying, lambda fate: lying.lies.append(LIES[fate]))


@pytest.fixture(scope="session")
def glue_wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Wire, str]]:
    """A wire before Glue, and its address."""
    with glue_in_process(tmp_path_factory.mktemp("glue")) as url, wired({"glue": url}) as (wire, urls):
        yield wire, urls["glue"]


@pytest.fixture
def glue_lake(glue_wire: tuple[Wire, str], tmp_path: Path) -> Iterator[Lake]:
    """A table that Glue owns, asked over the wire by the client that the engine opens."""
    wire, url = glue_wire
    keys = {"s3_access_key": "key", "s3_secret_key": "secret"}
    catalog = open_catalog(
        Settings(catalog="glue", glue_endpoint=url, glue_warehouse=tmp_path.as_uri(), **keys)
    )
    yield lake_on(catalog, lambda fate: wire.once(fate))
    wire.calm()
    catalog.drop_table(("n", "t"))
