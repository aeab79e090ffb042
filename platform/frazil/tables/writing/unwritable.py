"""What a table, or its catalog, asks of data files and no task can give: said before any work begins."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from frazil.errors import DifferentError
from frazil.tables.catalogs.file_io import SERVER_SIDE
from frazil.tables.format_v3.fields import NAMES, has_row_ids

if TYPE_CHECKING:
    from pyiceberg.table import Table

_OF_TABLE = ("encryption.", "write.location-provider.impl")
"""Properties of a table for which there is Java code only."""

_OF_STORE = ("s3.write.", "s3.acl", "s3.access-grants.", "s3.remote-signing-enabled", "s3.signer")
"""What a catalog may tell clients of the store, and ours has no word for: keys of readers, tags."""

_FORMAT = "write.format.default"

_NUMBERS = {"write.target-file-size-bytes"} | {
    f"write.parquet.{what}"
    for what in (
        "row-group-size-bytes", "page-size-bytes", "page-row-limit", "dict-size-bytes", "compression-level",
        "bloom-filter-max-bytes",
    )
}  # fmt: skip


def unwritable(table: Table) -> list[str]:
    """The properties that can't be kept, each as `name=value`; those of the catalog begin with `s3.`."""
    return [*_of_table(table), *_of_store(table)]


def refuse_unwritable(table: Table) -> None:
    """Raises DifferentError where something else is asked of the table's data files than can be had."""
    if not (asked := unwritable(table)):
        return
    name = ".".join(table.name())
    own = [option.partition("=")[0] for option in asked if not option.startswith("s3.")]
    unset = f"ALTER TABLE {name} UNSET TBLPROPERTIES ({', '.join(map(repr, own))})"
    raise DifferentError(
        f"Table {name} asks something of its data files that Frazil can't give them.",
        where=", ".join(asked),
        meaning="Nothing was written; the table's rows are as they were.",
        todo=f"`{unset}` in Spark." if own else "Take these properties out of the catalog's settings.",
    )


def refuse_taken_names(table: Table, to: int = 0) -> None:
    """Raises DifferentError where a table's rows have ids, and one of its columns is called like these.

    `to` is the format version that it is to get.
    """
    taken = sorted({own.name for own in table.schema().fields} & set(NAMES.values()))
    if not taken or not (has_row_ids(table) or to >= 3):
        return
    raise DifferentError(
        f"Table {'.'.join(table.name())} has a column {taken[0]}, and ids of rows have that name.",
        where="format version 3 of Iceberg keeps the name for itself",
        meaning="Nothing was written; the table's rows are as they were.",
        todo="Rename the column by a migration, or land into another table, with format_version: 2.",
    )


def _of_table(table: Table) -> Iterator[str]:
    for name, value in table.properties.items():
        other = name == _FORMAT and value.lower() != "parquet"
        if (
            name.startswith(_OF_TABLE)
            or other
            or (name in _NUMBERS and not value.removeprefix("-").isdecimal())
        ):
            yield f"{name}={value}"


def _of_store(table: Table) -> Iterator[str]:
    """No value of these is a secret but that of a key, which is not shown."""
    for name, value in table.io.properties.items():
        text = str(value).lower()
        if name.startswith(_OF_STORE) and text not in ("", "none", "false"):
            yield name
        if name == "s3.sse.type" and text not in ("none", *SERVER_SIDE):
            yield f"{name}={value}"
