"""Tables of Tableflow, and clusters whose topics have moved on since it stopped."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import SqlCatalog

from frazil.clients import Clients
from kit.deployments.tableflow import Logs, Tableflow, clients


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    """A catalog that several threads may ask."""
    return SqlCatalog("glue", uri=f"sqlite:///{tmp_path}/catalog.sqlite", warehouse=tmp_path.as_uri())


@pytest.fixture
def tableflow(catalog: Catalog, tmp_path: Path, topics_end_with_records: None) -> Tableflow:
    """Tableflow has landed two commits of two partitions."""
    made = Tableflow(catalog, tmp_path.as_uri())
    made.enable()
    made.commit({0: (0, 30), 1: (5, 20)})
    made.commit({0: (30, 40), 1: (20, 25)})
    return made


@pytest.fixture
def now(tableflow: Tableflow) -> Clients:
    """Clients of the cluster; the topic has moved on since Tableflow stopped, and has a new partition."""
    return clients(tableflow.catalog, Logs(spans={0: (0, 50), 1: (5, 25), 2: (0, 3)}))
