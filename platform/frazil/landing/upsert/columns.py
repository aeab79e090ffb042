"""The columns of a table that the rules of upserts go by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from frazil.formats.columns.columns import names_by_word
from frazil.formats.types import from_iceberg, spark_type
from frazil.landing.upsert.words import LSN, OFFSET, PARTITION, TIMESTAMP
from frazil.spec.topic import TableSpec

if TYPE_CHECKING:
    from pyiceberg.table import Table

    from frazil.landing.upsert.lane.newest import Identity
    from frazil.landing.upsert.lane.rules import Rules
    from frazil.landing.upsert.lane.soft import Soft

_PLACES = {"partition": PARTITION, "offset": OFFSET, "timestamp": TIMESTAMP}
_TYPES = {PARTITION: "int", OFFSET: "bigint", TIMESTAMP: "timestamp", LSN: "bigint"}


def places(spec: TableSpec) -> dict[str, str]:
    """What tells where a change stands: columns of changes, by the word of the table's column."""
    return _PLACES | ({"source-lsn": LSN} if spec.by_lsn else {})


def place_types(spec: TableSpec) -> dict[str, str]:
    """The same columns, with Spark's types."""
    return {column: _TYPES[column] for column in places(spec).values()}


def mark_types(spec: TableSpec, table: Table) -> dict[str, str]:
    """The columns that a delete fills anew, with Spark's types; none where rows go."""
    if not spec.keeps_deleted:
        return {}
    own = set(names_by_word(spec).values())
    return {f.name: spark_type(f.type) for f in from_iceberg(table.schema()) if f.name in own}


def rules_of(spec: TableSpec, key: Iterable[str], called: Mapping[str, str], *, anew: bool) -> Rules:
    """The rules of a table's changes.

    Args:
        key: Its columns.
        called: What tasks call each column of the table: files spell names otherwise than Spark.
        anew: Whether offsets may have begun anew.
    """
    from frazil.landing.upsert.lane.newest import Identity
    from frazil.landing.upsert.lane.rules import Rules

    names = names_by_word(spec)
    partition, offset, timestamp = (called[names[word]] for word in _PLACES)
    lsn = called[names["source-lsn"]] if spec.by_lsn else ""
    identity = Identity(tuple(called[name] for name in key), partition, offset, timestamp, lsn)
    return Rules(identity, _soft(spec, identity, called), anew)


def _soft(spec: TableSpec, identity: Identity, called: Mapping[str, str]) -> Soft | None:
    """What a delete leaves, where it leaves something."""
    from frazil.landing.upsert.lane.soft import Soft

    if not spec.keeps_deleted:
        return None
    names = names_by_word(spec)
    marks = tuple(called[name] for name in names.values() if name in called)
    op, deleted, at, lsn = (called[names[w]] for w in ("op", "deleted", "deleted-at", "source-lsn"))
    return Soft(identity, marks, op, deleted, at, lsn)
