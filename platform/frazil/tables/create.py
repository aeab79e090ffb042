"""Tables, made once, with a head on `main` that commits can be bound to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import stamina

from frazil.formats.logical import Field
from frazil.formats.types import to_iceberg
from frazil.spec.names import TableName
from frazil.tables.catalog import is_lost, load_table, load_table_or_none
from frazil.tables.commit import commit
from frazil.tables.layout import partition_spec

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table, Transaction

__all__ = ["METADATA_STAYS", "create_table", "load_with_head"]

METADATA_STAYS = {"write.metadata.delete-after-commit.enabled": "false"}
"""No writer deletes old metadata files: expiry does, which knows those that readers are still shown."""

_ALWAYS = {"format-version": "2", "write.metadata.previous-versions-max": "100", **METADATA_STAYS}

_TRIES = 5


def create_table(
    catalog: Catalog,
    name: TableName,
    fields: Iterable[Field],
    transforms: Sequence[tuple[str, str]],
    properties: dict[str, str],
) -> Table:
    """Makes a table with a head; finds it made where another one was quicker, or an answer was lost."""
    from pyiceberg.exceptions import TableAlreadyExistsError

    schema = to_iceberg(fields)
    partitions, given = partition_spec(schema, transforms), _ALWAYS | properties
    for attempt in stamina.retry_context(on=is_lost, attempts=_TRIES, wait_initial=0.05, wait_max=1.0):
        with attempt, suppress(TableAlreadyExistsError):
            catalog.create_namespace_if_not_exists(name.namespace)
            catalog.create_table(name.identifier, schema, partition_spec=partitions, properties=given)
    # Loaded, not as created: of two that create at once, SeaweedFS tells both that they did.
    return _with_head(catalog, name, load_table(catalog, name))


def load_with_head(catalog: Catalog, name: TableName) -> Table | None:
    """The table, or None where there is none; with a head, if its maker was killed before it made one."""
    table = load_table_or_none(catalog, name)
    return _with_head(catalog, name, table) if table else None


def _with_head(catalog: Catalog, name: TableName, table: Table) -> Table:
    def stage(fresh: Table) -> Transaction | None:
        if fresh.current_snapshot():
            return None
        tx = fresh.transaction()
        with tx.update_snapshot().fast_append():
            pass
        return tx

    if table.current_snapshot():
        return table
    return commit(catalog, name, stage, work="first snapshot").table
