"""Two clusters side by side: the profile's own, and a named one that has a topic of the same name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from pyiceberg.catalog.sql import SqlCatalog

from frazil.clients import Clients
from frazil.errors import PartDownError
from frazil.settings.profile import Settings

__all__ = ["EU", "Lake", "lake_in", "write_clusters"]

EU = "orders-eu"
TOPICS = "type: assets.topic_tables.TopicTables\nattributes:\n"
DERIVED = "---\ntype: assets.derived_tables.DerivedTables\nattributes:\n"


class Lake(Clients):
    """An environment whose catalog is a folder: a new one for each connection. No Kafka answers."""

    folder: ClassVar[Path]

    @property
    def admin(self) -> Any:
        raise PartDownError("Kafka does not answer.", where=self.settings.cluster)

    @cached_property
    def catalog(self) -> SqlCatalog:
        place = self.folder / self.settings.cluster
        place.mkdir()
        return SqlCatalog("lake", uri=f"sqlite:///{place}/catalog.db", warehouse=place.as_uri())


@contextmanager
def lake_in(folder: Path) -> Iterator[Lake]:
    """The profile in force; its catalogs are in a folder."""
    folder.mkdir()
    Lake.folder = folder
    lake = Lake(Settings.load())
    try:
        yield lake
    finally:
        for clients in lake._named.values():
            vars(clients).get("catalog", lake.catalog).close()


def write_clusters(root: Path, connection: str = EU, topic: str = "orders", column: str = "id") -> Path:
    """Two pipelines of one topic's name, each with a table made of its own."""
    large = "large" if topic == "orders" else f"{topic}_large"
    for name, line in (("here", ""), ("there", f"  connection: {connection}\n")):
        (root / name).mkdir(parents=True)
        text = f"{TOPICS}{line}  tables:\n    - {{topic: {topic}, publish: []}}\n"
        text += f"{DERIVED}{line}  tables:\n    - {{table: {large}, sql: large.sql, publish: []}}\n"
        (root / name / "defs.yaml").write_text(text)
        (root / name / "large.sql").write_text(f"SELECT {column} FROM {topic}")
    return root
