"""A target of its own: a JSON file beside others that says where a table's metadata is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import ClassVar

from pyiceberg.table import Table
from pyiceberg.types import IcebergType

from frazil.connections import Connections
from frazil.publishing.labels import Labels
from frazil.publishing.target import Maker, Shown
from frazil.settings.profile import Settings
from frazil.spec.names import AssetPath, things
from frazil.spec.table import AnyTable
from frazil.tables.catalogs.handle import TableHandle


class PointerFile:
    """One table's file."""

    word: ClassVar[str] = "pointer"
    check: ClassVar[str] = "pointer_current"
    icon: ClassVar[str] = "iceberg"
    blocking: ClassVar[bool] = False
    maker: Maker | None = None
    page: str | None = None
    folder: ClassVar[Path]

    def __init__(self, spec: AnyTable, settings: Settings) -> None:
        self.name = things(spec, settings).table

    @property
    def path(self) -> AssetPath:
        return (self.word, *self.name.identifier)

    @property
    def upstream(self) -> AssetPath:
        return ("iceberg", *self.name.identifier)

    @property
    def about(self) -> str:
        return "A file."

    @property
    def relations(self) -> tuple[str, ...]:
        return (f"{self.name}.json",)

    def column_type(self, kind: IcebergType) -> str:
        return str(kind)

    def columns(self, table: Table) -> None:
        return None

    def labels(self) -> Labels:
        """See `Target`."""
        return {}

    def sync(self, connections: Connections) -> Shown:
        location = TableHandle(connections.catalog, self.name).load().metadata_location
        (self.folder / self.relations[0]).write_text(json.dumps(location))
        return Shown(self.path, self.upstream, self.relations[0], location, changed=True)

    def read(self, connections: Connections) -> Shown | None:
        file = self.folder / self.relations[0]
        if not file.exists():
            return None
        return Shown(self.path, self.upstream, self.relations[0], json.loads(file.read_text()))

    def drop(self, connections: Connections) -> None:
        (self.folder / self.relations[0]).unlink(missing_ok=True)
