"""A table on disk that Glue shows, landed without Kafka or Spark; and the way on which Athena reads it."""

from __future__ import annotations

import copy
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.table import StaticTable, Table

from frazil.clients import Clients
from frazil.formats.logical import Field, Primitive
from frazil.landing.position.ledger import Ledger
from frazil.publishing.glue import Glue
from frazil.settings.profile import Settings
from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.catalogs.pyiceberg import transaction
from frazil.tables.commits.commit import commit
from frazil.tables.creation import create_table
from frazil.tables.writing.data_files import write_files
from frazil.upkeep.expiry.expiry import expire
from frazil.upkeep.orphans import remove_orphans
from frazil.upkeep.work import WorkReport

__all__ = ["DAY", "NAME", "Mirror", "Standing", "one_record"]

NAME = TableName("unit", "orders")
LEDGER = {"frazil.spans": '{"0": [0, 0]}'}
"""What expiry looks for in a landing's snapshot."""

FEW = {"write.metadata.previous-versions-max": "5"}
DAY = 86400.0


def one_record(number: int) -> Mapping[str, str]:
    """The ledger of a landing of one record, by which the rows add up."""
    whole = Ledger(
        topic="orders", topic_id="one", spans={0: (number, number + 1)}, start={0: 0}, records=1,
        total_records=number + 1,
    )  # fmt: skip
    return whole.properties()


@dataclass
class Mirror:
    """One table, its Glue entry, and how much was landed.

    Args:
        folder: Where its files are.
        glue: The address of Glue.
        spec: Of the table.
        ledger: What the snapshot of each landing notes, by its number.
    """

    folder: Path
    glue: str
    spec: TableSpec
    ledger: Callable[[int], Mapping[str, str]] = lambda _: LEDGER
    landed: int = 0
    synced: str = ""
    connections: Clients = field(init=False)

    def __post_init__(self) -> None:
        aws = {"access_key": "key", "secret_key": "secret"}
        glue = {"endpoint": self.glue, "database": self.folder.name}
        nobody = {"url": "http://127.0.0.1:1"}  # else a stack that runs here is asked for the subject
        self._settings = Settings.load(glue=glue, aws=aws, registry=nobody)
        self.connect()
        columns = [Field("quantity", Primitive("long"), optional=True)]
        create_table(TableHandle(self.connections.catalog, NAME), columns, (), FEW)

    def connect(self, **known: Any) -> None:
        """Takes new clients, but for those that are known."""
        self.connections = Clients(self._settings)
        # A database in memory is another one in each thread.
        database = f"sqlite:///{self.folder}/catalog.db"
        catalog = InMemoryCatalog("unit", warehouse=self.folder.as_uri(), uri=database)
        self.connections.__dict__.update(known, catalog=catalog)

    @property
    def table(self) -> Table:
        """As the catalog that owns it has it now."""
        return self.connections.catalog.load_table(NAME.identifier)

    def land(self, times: int = 1, after_each: Callable[[], object] = lambda: None) -> None:
        """Landings of one row each."""
        for _ in range(times):
            self._append(self.landed)
            self.landed += 1
            after_each()

    def _append(self, quantity: int) -> None:
        def stage(table: Table) -> Any:
            tx = transaction(table)
            with tx.update_snapshot(snapshot_properties=dict(self.ledger(quantity))).fast_append() as append:
                for file in files:
                    append.append_data_file(file)
            return tx

        table = self.table
        files = write_files(table, pa.table({"quantity": [quantity]}, schema=table.schema().as_arrow()))
        commit(TableHandle(self.connections.catalog, NAME), stage, work="landing")

    def sync(self) -> str:
        """Shows Glue what there is; the metadata that it shows then."""
        self.synced = Glue(self.spec, self.connections.settings).sync(self.connections).metadata_location
        return self.synced

    @property
    def shown(self) -> str:
        """The metadata that Glue names."""
        entry = self.connections.glue.get_table(DatabaseName=self.folder.name, Name=NAME.table)["Table"]
        return str(entry["Parameters"]["metadata_location"])

    def athena(self, location: str) -> list[int]:
        """Rows by the way of Athena: Glue's pointer, its metadata, manifests, data files."""
        read = StaticTable.from_metadata(location).scan().to_arrow()
        return sorted(read["quantity"].to_pylist())

    def land_unseen(self, times: int) -> None:
        """Landings that Glue is not told of, and upkeep as often as it is due; Athena reads all the while."""
        shown, before = self.synced, self.athena(self.synced)

        def read() -> None:
            if self.landed % 10 == 0:
                self.keep_up()
            if self.landed % 5 == 0:
                assert self.athena(shown) == before

        self.land(times, read)

    def keep_up(self, days: float = 0.1) -> WorkReport:
        """What the upkeep sensor asks for, so many days from now."""
        now = time.time() + days * DAY
        report = expire(self.spec, self.connections, now)
        remove_orphans(self.spec, self.connections, now)
        return report

    def stored(self, suffix: str) -> set[str]:
        """Files that are there."""
        return {str(path) for path in self.folder.rglob(f"*{suffix}")}


@dataclass
class Standing:
    """Tables that Glue shows, each made once, and given out as it was made however often it is asked for.

    Making one takes longer than most tests of it.

    Args:
        folder: Where their folders are.
        glue: The address of Glue.
    """

    folder: Path
    glue: str
    _made: dict[int, tuple[Mirror, dict[str, Any]]] = field(default_factory=dict)

    def shown(
        self, spec: TableSpec, landings: int, ledger: Callable[[int], Mapping[str, str]] = lambda _: LEDGER
    ) -> Mirror:
        """A table of so many rows, all of which Glue shows."""
        if landings not in self._made:
            self._make(spec, landings, ledger)
        first, entry = self._made[landings]
        shutil.rmtree(first.folder)
        shutil.copytree(_kept(first.folder), first.folder)
        glue: Any = first.connections.glue
        with suppress(glue.exceptions.EntityNotFoundException):
            glue.delete_table(DatabaseName=first.folder.name, Name=NAME.table)
        glue.create_table(DatabaseName=first.folder.name, TableInput=entry)
        mirror = copy.copy(first)
        mirror.spec, mirror.ledger = spec, ledger
        mirror.connect(glue=glue)
        return mirror

    def _make(self, spec: TableSpec, landings: int, ledger: Callable[[int], Mapping[str, str]]) -> None:
        folder = self.folder / f"landed{landings}"
        folder.mkdir()
        mirror = Mirror(folder, self.glue, spec, ledger)
        mirror.land(landings)
        mirror.sync()
        glue: Any = mirror.connections.glue
        entry = glue.get_table(DatabaseName=folder.name, Name=NAME.table)["Table"]
        kept = ("Name", "TableType", "Parameters", "StorageDescriptor", "Description", "Owner")
        self._made[landings] = mirror, {name: entry[name] for name in kept if name in entry}
        shutil.copytree(folder, _kept(folder))


def _kept(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}_as_made")
