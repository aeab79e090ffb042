"""The catalog that owns the tables, and the storage below it: a table is made, filled, read and dropped."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import stamina

from frazil.connections import Connections
from frazil.doctor.probe import PREFIX, Patient, Probe, Probes
from frazil.errors import AuditFailedError
from frazil.formats.logical import Field, Primitive
from frazil.publishing.views.held import HeldViews
from frazil.publishing.views.queries import CLEAN
from frazil.publishing.views.wanted import SPARK, WantedView
from frazil.quoting import quoted
from frazil.spec.names import TableName
from frazil.tables.catalogs.catalog import catalog_errors, is_lost
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.catalogs.pyiceberg import transaction
from frazil.tables.commits.commit import commit
from frazil.tables.creation import create_table
from frazil.upkeep.storage import delete_files, list_files

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table, Transaction

_OF_BEFORE = re.compile(rf"{PREFIX}(\d+)_[0-9a-f]+")
_AN_HOUR = 3600


def probes(patient: Patient) -> Probes:
    """In each namespace a table of the doctor's own. It is dropped whatever came of it."""
    for namespace in patient.namespaces:
        table = ProbeTable(patient.connections, namespace)
        steps: list[tuple[str, Callable[[], object]]] = [
            ("list the tables", table.drop_those_of_before),
            ("make a table", table.make),
            ("write to it", table.write),
            ("read from it", table.read),
            *([("make a view and drop it", table.view)] if patient.shown_in("views") else []),
            ("delete a file of it", table.delete),
        ]
        for right, ask in steps:
            if not (yield _probe(patient, namespace, right, ask)).fine:
                break
        if table.begun:
            yield _probe(patient, namespace, "drop it", table.drop)


def _probe(patient: Patient, namespace: str, right: str, ask: Callable[[], object]) -> Probe:
    return Probe(right, partial(in_catalog, patient.connections, ask), f"namespace {namespace}")


def in_catalog(connections: Connections, ask: Callable[[], object]) -> None:
    """Asks, and says in words what the catalog or its storage refuses."""
    with catalog_errors(connections.settings):
        ask()


class ProbeTable:
    """A table of a name that nobody else has, with one row in it."""

    def __init__(self, connections: Connections, namespace: str) -> None:
        self._connections = connections
        self.name = TableName(namespace, f"{PREFIX}{int(time.time())}_{secrets.token_hex(4)}")
        self.begun = False  # whether it may be there: an answer can be lost

    def drop_those_of_before(self) -> None:
        """Drops what a doctor left that was killed; lists the namespace for it, where there is one."""
        from pyiceberg.exceptions import NoSuchNamespaceError

        try:
            listed = self._catalog.list_tables(self.name.namespace)
        except NoSuchNamespaceError:
            return
        for *_, table in listed:
            made = _OF_BEFORE.fullmatch(table)
            if made and time.time() - int(made[1]) > _AN_HOUR:
                self._drop(TableName(self.name.namespace, table))

    def make(self) -> None:
        """Makes it as a landing does: the namespace with it, where there is none."""
        self.begun = True
        create_table(self._handle, [Field("probe", Primitive("long"), optional=True)], (), {})

    def write(self) -> None:
        """Adds a row by PyIceberg, in one commit."""
        import pyarrow as pa

        row = pa.table({"probe": pa.array([1], pa.int64())})

        def stage(table: Table) -> Transaction:
            tx = transaction(table)
            tx.append(row)
            return tx

        commit(self._handle, stage, work="probe")

    def read(self) -> None:
        """Reads it back."""
        self.check(self._handle.load().scan().to_arrow().num_rows)

    def check(self, rows: int) -> None:
        """Raises AuditFailedError where it does not hold its one row."""
        if rows != 1:
            raise AuditFailedError(
                f"The doctor's table {self.name} holds {rows} rows, and was given one.",
                todo="The catalog loses commits, or the storage files: see their logs.",
            )

    def view(self) -> None:
        """Makes a view of it, looks it up, and drops it."""
        from pyiceberg.schema import Schema
        from pyiceberg.types import LongType, NestedField

        views = HeldViews(self._handle)
        name, query = f"{self.name.table}{CLEAN}", f"SELECT probe FROM {quoted(self.name.table)}"
        schema = Schema(NestedField(1, "probe", LongType(), required=False))
        try:
            views.keep(WantedView(name, {SPARK: query}, schema), schema, "")
        finally:
            for each in views.own():
                views.drop(each)

    def delete(self) -> None:
        """Lists its files and deletes one, as upkeep does; one that no snapshot names."""
        table = self._handle.load()
        orphan = f"{table.location().rstrip('/')}/data/{PREFIX}orphan"
        table.io.new_output(orphan).create().close()
        delete_files(table.io, [f.path for f in list_files(table, ("data",)) if f.path == orphan])

    def drop(self) -> None:
        """Takes it out of the catalog, and its files away; it may never have been made."""
        self._drop(self.name)

    def _drop(self, name: TableName) -> None:
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

        table = TableHandle(self._catalog, name).load_or_none()
        if table is None:
            return
        for attempt in stamina.retry_context(on=is_lost, attempts=3, wait_initial=0.1, wait_max=1.0):
            # Where it is not there any more, the answer to the first try was lost.
            with attempt, suppress(NoSuchTableError, NoSuchNamespaceError):
                self._catalog.purge_table(name.identifier)  # S3 Tables drops no other way
        delete_files(table.io, [file.path for file in list_files(table)])

    @property
    def _handle(self) -> TableHandle:
        return TableHandle(self._catalog, self.name)

    @property
    def _catalog(self) -> Catalog:
        return self._connections.catalog
