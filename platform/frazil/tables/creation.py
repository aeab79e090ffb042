"""Tables are made, named in a catalog, and refused where Frazil can't write them."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

import stamina

from frazil.errors import DifferentError
from frazil.formats.logical import Field
from frazil.formats.types import to_iceberg
from frazil.tables.catalogs.catalog import is_lost
from frazil.tables.catalogs.handle import TableHandle, name_of, vouched
from frazil.tables.catalogs.pyiceberg import transaction
from frazil.tables.commits.commit import commit
from frazil.tables.commits.stage import append_files
from frazil.tables.layout import FORMAT, WITHOUT_VALUES, Transforms, has_texts, partition_spec
from frazil.tables.metadata.unnamed import refuse_unnamed

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table, Transaction

METADATA_STAYS = {"write.metadata.delete-after-commit.enabled": "false"}
"""No writer deletes old metadata files: expiry does, which knows those that readers are still shown."""

NEWEST_FORMAT = 3
"""The newest of Iceberg's format versions that Frazil can write; see `tables.format_v3`."""

_NEW = {FORMAT: "2", "write.metadata.previous-versions-max": "100", **METADATA_STAYS}

_TRIES = 5


def create_table(
    handle: TableHandle,
    fields: Iterable[Field],
    transforms: Transforms,
    properties: dict[str, str],
    location: str | None = None,
) -> Table:
    """Makes a table with a head; finds it made where another one was quicker, or an answer was lost.

    Where no location is said, the catalog chooses one.

    Raises:
        UnnamedTableError: Files of a table with rows lie there, and the catalog does not name it.
    """
    from pyiceberg.exceptions import TableAlreadyExistsError

    schema = to_iceberg(fields)
    partitions = partition_spec(schema, transforms)
    given = _NEW | (WITHOUT_VALUES if has_texts(partitions, schema) else {}) | properties
    for attempt in stamina.retry_context(on=is_lost, attempts=_TRIES, wait_initial=0.05, wait_max=1.0):
        with attempt, suppress(TableAlreadyExistsError):
            handle.catalog.create_namespace_if_not_exists(handle.name.namespace)
            refuse_unnamed(handle, location)
            handle.catalog.create_table(
                handle.name.identifier, schema, location, partition_spec=partitions, properties=given
            )
    # Loaded, not as created: of two that create at once, SeaweedFS tells both that they did.
    table = handle.load()
    _refuse_other_format(table, int(given.get(FORMAT, 1)))
    return _with_head(table)


def _refuse_other_format(table: Table, asked: int) -> None:
    """Raises DifferentError where a catalog made an older version than it was asked for."""
    if (made := table.metadata.format_version) < asked:
        raise DifferentError(
            f"The catalog made table {name_of(table)} of Iceberg's format version {made}, not {asked}.",
            where=f"{table.location()}: the catalog does not know version {asked}",
            meaning="The table is empty; nothing was written.",
            todo=f"Write format_version: {made} in the spec, or drop the table and take another catalog.",
        )


def register(handle: TableHandle, metadata_location: str) -> Table:
    """Lets the catalog name a table that is there; finds it named where another one was quicker.

    Returns:
        The table as the catalog answers: some make an empty one of that name.
    """
    from pyiceberg.exceptions import TableAlreadyExistsError

    for attempt in stamina.retry_context(on=is_lost, attempts=_TRIES, wait_initial=0.05, wait_max=1.0):
        with attempt, suppress(TableAlreadyExistsError):
            return vouched(handle.catalog.register_table(handle.name.identifier, metadata_location))
    return handle.load()


def make_namespace(catalog: Catalog, namespace: str) -> None:
    """Makes a namespace where there is none of that name."""
    for attempt in stamina.retry_context(on=is_lost, attempts=_TRIES, wait_initial=0.05, wait_max=1.0):
        with attempt:
            catalog.create_namespace_if_not_exists(namespace)


def load_with_head(handle: TableHandle) -> Table | None:
    """The table, or None where there is none; with a head, if its maker was killed before it made one.

    Raises:
        DifferentError: Its format is newer than what can be written.
    """
    table = handle.load_or_none()
    if table:
        refuse_newer_format(table)
    return _with_head(table) if table else None


def refuse_newer_format(table: Table) -> None:
    """Raises DifferentError where only other engines can write a table."""
    if table.metadata.format_version > NEWEST_FORMAT:
        raise DifferentError(
            f"Table {name_of(table)} is of Iceberg's format version {table.metadata.format_version}.",
            where=f"{table.location()}: another engine has set its format-version",
            meaning=f"Nothing was written: Frazil writes versions up to {NEWEST_FORMAT}, and no table goes "
            "back to one of them.",
            todo="Give the table another name in the spec. This one stays readable.",
        )


def _with_head(table: Table) -> Table:
    def stage(fresh: Table) -> Transaction | None:
        if fresh.current_snapshot():
            return None
        tx = transaction(fresh)
        append_files(tx, (), {})
        return tx

    if table.current_snapshot():
        return table
    return commit(TableHandle.of(table), stage, work="first snapshot").table
