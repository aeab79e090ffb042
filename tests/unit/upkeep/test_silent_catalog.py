"""Upkeep of a table whose catalog is down says so, and does not blame Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from frazil.clients import Clients
from frazil.errors import PartDownError
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec
from frazil.upkeep.kinds import KINDS
from frazil.upkeep.run import do_work
from kit.wires.lying import LyingCatalog


@pytest.mark.parametrize("kind", KINDS)
def test_a_catalog_that_is_down_is_named_as_such(tmp_path: Path, kind: str) -> None:
    catalog = LyingCatalog(tmp_path)
    catalog.is_down = True
    clients = Clients(Settings())
    clients.__dict__["catalog"] = catalog

    with pytest.raises(PartDownError, match="The Iceberg catalog does not answer"):
        do_work(KINDS[kind], TableSpec(topic="t"), clients, 0.0)
