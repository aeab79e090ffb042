"""The key that a table was made with: it stays, for its rows were told apart by it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from frazil.errors import DifferentError
from frazil.formats.columns.columns import names_by_word
from frazil.formats.row_key import RowKey
from frazil.landing.position.ledger import read_ledger
from frazil.spec.migrations import Migration, renaming
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import TableHandle, name_of
from frazil.tables.commits.commit import set_properties
from frazil.tables.commits.ledger import read
from frazil.tables.metadata.snapshots import is_rowless

if TYPE_CHECKING:
    from pyiceberg.table import Table

KEY_COLUMNS = "frazil.key"
"""Table property of an upsert table: the columns that tell its rows apart, as JSON."""

DELETE = "frazil.delete"
"""Table property: `soft` where deleted rows stay; elsewhere it is not there."""


def key_columns(table: Table) -> tuple[str, ...]:
    """The columns that tell a table's rows apart; none where every record is a row."""
    return read(KEY_COLUMNS, table.properties.get(KEY_COLUMNS, "[]"), lambda text: tuple(json.loads(text)))


def _record_columns(spec: TableSpec) -> tuple[str, ...]:
    """The columns that tell records apart; offsets begin anew where a topic is recreated."""
    names = names_by_word(spec)
    return names["partition"], names["offset"], names["timestamp"]


def row_identity(spec: TableSpec, table: Table) -> tuple[str, ...]:
    """The columns that tell a table's rows apart: its key, or where each record is from."""
    return key_columns(table) or _record_columns(spec)


def identity_columns(spec: TableSpec, key: RowKey) -> tuple[str, ...]:
    """The columns that tell rows apart: those of the key, and of each version of it where all stay."""
    return (*key.columns, *(_record_columns(spec) if spec.keeps_versions else ()))


def why_no_older_records(spec: TableSpec) -> str:
    """Why records from below the table's position can't be written into it any more."""
    if spec.keeps_versions:
        return (
            "Since and until when a version holds follows from the records around it, not from its own alone."
        )
    return "A row is the newest of its key, and a later record may have changed or deleted it."


def key_properties(spec: TableSpec, key: RowKey) -> dict[str, str]:
    """Properties of a new table with that key."""
    noted = {KEY_COLUMNS: json.dumps(identity_columns(spec, key))} if key.columns else {}
    return noted | ({DELETE: spec.delete} if spec.keeps_deleted else {})


def keep_key(table: Table, spec: TableSpec, key: RowKey) -> None:
    """Notes the key of a table that holds nothing yet; refuses another one than its rows have.

    Raises:
        DifferentError: They are told apart, or deleted, in another way than the spec says.
    """
    if error := difference(table, spec, key):
        raise error
    if key_columns(table) != identity_columns(spec, key) and _is_open(table):
        set_properties(
            TableHandle.of(table), {KEY_COLUMNS: "[]", DELETE: spec.delete} | key_properties(spec, key)
        )


def renamed_key(key: Sequence[str], migrations: Iterable[Migration]) -> tuple[str, ...]:
    """The columns of a key after some migrations."""
    names = {m.column: m.rename.to for m in migrations if m.rename}
    return tuple(names.get(column, column) for column in key)


def difference(table: Table, spec: TableSpec, key: RowKey) -> DifferentError | None:
    """Why rows can't be landed into a table that was made by another spec; None where they can."""
    name = name_of(table)
    was = table.properties.get(DELETE, "hard")
    if (
        spec.is_keyed and was != spec.delete and not _is_open(table)
    ):  # rows that went do not come back, and older rows have no mark
        return DifferentError(
            f"Rows of {name} are deleted in another way than its spec says.",
            where=f"the table has delete: {was}, the spec {spec.delete}",
            meaning="Deleted rows would be there in part, and marked in part. Nothing was landed.",
            todo=f"Write delete: {was}; or give the table another name, which lands all of it.",
        )
    have, wanted = key_columns(table), identity_columns(spec, key)
    coming = renamed_key(have, [m for m in spec.migrations if m.column not in wanted])
    if sorted(wanted) in (sorted(have), sorted(coming)) or _is_open(table):
        return None
    return DifferentError(
        f"The rows of {name} are told apart in another way than its spec says.",
        where=f"the table has {_in_words(have)}, the spec {_in_words(wanted)}",
        meaning="Records of both kinds would be mixed up. Nothing was landed.",
        todo=f"Write mode, versions and key_fields as they were, {_as_rename(have, wanted)}or give the table "
        "another name.",
    )


def _as_rename(have: Sequence[str], wanted: Sequence[str]) -> str:
    """How to approve that a column of the key has a new name, where that may be so."""
    gone, new = ([n for n in one if n not in other] for one, other in ((have, wanted), (wanted, have)))
    if len(gone) != 1 or len(new) != 1:
        return ""
    return f"or approve the new name under migrations: `{renaming(gone[0], new[0])}`, "


def _is_open(table: Table) -> bool:
    """Whether no record became a row of it so far, so that nothing is told apart in another way."""
    ledger = read_ledger(table.metadata)
    return ledger is None or (ledger.total_records == 0 and is_rowless(table.metadata))


def _in_words(key: tuple[str, ...]) -> str:
    return f"one row per key, {', '.join(key)}" if key else "a row per record"
