"""Tables of Tableflow, and clusters whose topics have moved on since it stopped."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import SqlCatalog

from frazil.clients import Clients
from kit.deployments.tableflow import Logs, Tableflow, clients


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    """A catalog that several threads may ask."""
    return catalog_in(tmp_path)


def catalog_in(folder: Path) -> Catalog:
    return SqlCatalog("glue", uri=f"sqlite:///{folder}/catalog.sqlite", warehouse=folder.as_uri())


@pytest.fixture(scope="session")
def landed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two commits of two partitions, which are most of the CPU of a test, and a copy of them."""
    folder = tmp_path_factory.mktemp("tableflow")
    made = Tableflow(catalog_in(folder), folder.as_uri())
    made.enable()
    made.commit({0: (0, 30), 1: (5, 20)})
    made.commit({0: (30, 40), 1: (20, 25)})
    return folder, Path(shutil.copytree(folder, f"{folder}-copy"))


@pytest.fixture
def tableflow(landed: tuple[Path, Path], topics_end_with_records: None) -> Tableflow:
    """Tableflow has landed two commits of two partitions."""
    folder, copy = landed
    shutil.rmtree(folder)
    shutil.copytree(copy, folder)
    return Tableflow(catalog_in(folder), folder.as_uri())


@pytest.fixture
def now(tableflow: Tableflow) -> Clients:
    """Clients of the cluster; the topic has moved on since Tableflow stopped, and has a new partition."""
    return clients(tableflow.catalog, Logs(spans={0: (0, 50), 1: (5, 25), 2: (0, 3)}))
