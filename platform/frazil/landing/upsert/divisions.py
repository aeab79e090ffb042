"""How a table by key is divided where its spec does not say it: into buckets of its key, once it is large.

A landing writes a file in each bucket that has a changed key, so buckets cost a small table 16 requests for
one. A large table is merged bucket by bucket, by all cores, and few random keys open few files.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from frazil.formats.columns.columns import names_by_word
from frazil.formats.logical import Field
from frazil.formats.row_key import RowKey
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.catalogs.pyiceberg import transaction
from frazil.tables.commits.commit import commit
from frazil.tables.layout import Transforms, stage_divisions
from frazil.tables.metadata.snapshots import number, summary_of

if TYPE_CHECKING:
    from pyiceberg.table import Table, Transaction

BUCKETS = 16
"""Of a large table."""

MANY_RECORDS = 200_000
"""Records that wait for a new table: from so many on it is large from the start."""

LARGE_BYTES = 64 * 2**20
"""Bytes of files from which a table is large: one task writes that much anew in two seconds."""


def default_divisions(
    spec: TableSpec, fields: Iterable[Field], key: RowKey, *, is_large: bool = False
) -> Transforms:
    """How a table by key is divided where its spec does not say it: by the first column of the key.

    Versions that hold now lie apart from the others: a landing ends those, and opens few files of these.
    """
    if _is_in_spec(spec):
        return ()
    now = [("identity", names_by_word(spec)["current"])] if spec.keeps_versions else []
    return [*now, *(_buckets(fields, key) if is_large else ())]


def divide_large(spec: TableSpec, table: Table, fields: Iterable[Field], key: RowKey) -> Table:
    """The table, from now on in buckets where it has grown large; merges and compactions move its rows there.

    One whose divisions were ever changed stays as it is.

    Raises:
        CommitConflictError: Others commit again and again meanwhile.
    """
    buckets = [] if _is_in_spec(spec) else _buckets(fields, key)
    if not buckets or not _has_grown(table):
        return table
    whole = [*default_divisions(spec, fields, key), *buckets]

    def stage(fresh: Table) -> Transaction | None:
        if not _has_grown(fresh):
            return None
        tx = transaction(fresh)
        stage_divisions(tx, whole, spec.sort_terms)
        return tx

    return commit(TableHandle.of(table), stage, work="division into buckets", todo="Land again.").table


def keeps_files_apart(spec: TableSpec, table: Table) -> bool:
    """Whether the bounds of a table's files tell them apart, so that no two of them should become one."""
    return bool(spec.sort_by) or (_is_in_spec(spec) and table.spec().is_unpartitioned())


def _is_in_spec(spec: TableSpec) -> bool:
    return "partition_by" in spec.model_fields_set


def _buckets(fields: Iterable[Field], key: RowKey) -> list[tuple[str, str]]:
    """Those of the first column of a key that can have some."""
    kinds = {f.name: str(f.type) for f in fields if f.name in key.columns}
    fitting = [name for name in key.columns if kinds[name] != "boolean"]
    return [(f"bucket[{BUCKETS}]", name) for name in fitting[:1]]


def _has_grown(table: Table) -> bool:
    is_large = number(summary_of(table.current_snapshot()), "total-files-size") > LARGE_BYTES
    divided = any(str(field.transform).startswith("bucket") for field in table.spec().fields)
    return is_large and not divided and len(table.specs()) == 1
