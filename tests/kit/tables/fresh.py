"""A catalog in this process with a folder of its own: what other tests left lies elsewhere."""

from __future__ import annotations

import weakref
from pathlib import Path
from tempfile import TemporaryDirectory

from pyiceberg.catalog.memory import InMemoryCatalog


def fresh_catalog() -> InMemoryCatalog:
    """An empty one; its folder goes with it."""
    folder = TemporaryDirectory(prefix="frazil-lake-")
    catalog = InMemoryCatalog("lake", warehouse=Path(folder.name).as_uri())
    weakref.finalize(catalog, folder.cleanup)
    return catalog
