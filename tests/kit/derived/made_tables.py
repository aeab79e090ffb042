"""Tables as the first step of a work makes them, and as it leaves them that is killed on the way."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.table import Table

from frazil.landing.repairs.bad_records import BadRecord
from frazil.landing.repairs.dead_letters import keep_dead_letters
from frazil.landing.schema.tables import ensure_table
from frazil.settings.profile import Settings
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.catalogs.handle import TableHandle
from kit.tables.commits import COLUMNS, NAME, SPEC, ledger

__all__ = ["bare", "fresh_catalog", "make", "make_letters"]


def fresh_catalog() -> InMemoryCatalog:
    """A catalog of a folder of its own, which goes with it: what other tests left lies elsewhere."""
    folder = TemporaryDirectory(prefix="frazil-lake-")
    catalog = InMemoryCatalog("lake", warehouse=Path(folder.name).as_uri())
    weakref.finalize(catalog, folder.cleanup)
    return catalog


def make(catalog: Catalog) -> Table:
    """The table as a landing's first step makes or finds it."""
    with catalog_errors(Settings()):
        return ensure_table(SPEC, TableHandle(catalog, NAME), COLUMNS)


def make_letters(catalog: Catalog) -> object:
    """The dead-letter table, as its first dead letter makes or finds it."""
    letter = {"partition": 0, "offset": 0, "timestamp": None, "headers": None, "raw_key": None}
    known = {**letter, "raw_value": b"x", "timestamp_type": 0, "leader_epoch": 0}
    with catalog_errors(Settings()):
        return keep_dead_letters(
            TableHandle(catalog, NAME), ledger(0, 1), [BadRecord(0, 0, "malformed", "it is", known)]
        )


def bare(catalog: Catalog, maker: Callable[[Any], object]) -> None:
    """Leaves what a maker leaves that is killed before the table has a head."""
    maker(catalog)
    for name in catalog.list_tables(NAME.namespace):
        table = catalog.load_table(name)
        catalog.drop_table(name)
        catalog.create_table(name, table.schema(), partition_spec=table.spec(), properties=table.properties)
