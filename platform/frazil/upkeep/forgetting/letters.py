"""Dead letters that hold what is to be forgotten: decoded where they can be, else by the bytes of texts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.exact import rows_of, values_of
from frazil.formats.protocol import KEY, VALUE
from frazil.formats.record import RecordDecoder, decoder_for
from frazil.formats.types import spark_type
from frazil.landing.decoding import with_decoded
from frazil.landing.repairs.seal import Opening, sealing_key
from frazil.landing.repairs.selection import offset_columns
from frazil.quoting import literal, quoted
from frazil.spec.derived import DerivedSpec
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import TableHandle, name_of
from frazil.tables.keys import Key, keys_in
from frazil.tables.migrations import with_remembered
from frazil.tables.spark.faults import Job, spark_job
from frazil.tables.spark.session import spark_name
from frazil.upkeep.forgetting.condition import Condition
from frazil.upkeep.forgetting.rows import Going

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyspark.sql import DataFrame


_RAW = ("raw_key", "raw_value")


@dataclass(frozen=True, slots=True)
class Letters:
    """The dead letters of one table that go; `unread` of them all could not be decoded."""

    going: Going
    unread: int = 0


def letters_of_topic(
    spec: TableSpec, connections: Connections, table: Table, condition: Condition
) -> Letters | None:
    """The dead letters of records that match, and those that were redriven as rows that match.

    None where the table has none.
    """
    from pyiceberg.expressions import AlwaysTrue

    name = name_of(table)
    if TableHandle.of(table).dead_letters.load_or_none() is None:
        return None
    known = with_remembered(spec, table.metadata)
    decoder = decoder_for(known, connections.registry, connections.settings.named_keys)
    matches = condition.sql(lambda column: _decoded(decoder, column))
    with spark_job(Job("forgetting", str(name.dead_letters), "Nothing was changed.", "Try again.")):
        letters = _letters(connections, TableHandle.of(table).dead_letters)
        in_sealed = [f"seal IS NOT NULL AND {each}" for each in _with_texts(condition, _RAW, ())]
        goes_by = " OR ".join([f"coalesce({matches}, false)", *in_sealed])
        decoded = with_decoded(letters, decoder).selectExpr(
            "`partition`", "`offset`", f"{goes_by} AS goes", f"{VALUE.ok} AS read"
        ).toArrow()  # fmt: skip
    rows = rows_of(decoded)
    every = {(row["partition"], row["offset"]): row for row in rows}
    goes = {key for key, row in every.items() if row["goes"]}
    goes |= keys_in(table, every.keys(), offset_columns(spec), condition.expression)
    texts = _with_texts(condition, _RAW, ("reason",))
    headers = (f"contains(h, X'{text.encode().hex()}')" for text in condition.texts)
    conditions = [f"exists(map_values(headers), h -> coalesce({each}, false))" for each in headers]
    sql = " OR ".join([*texts, *conditions, *_at(goes)]) or "false"
    after = spec.upkeep.orphans_after
    going = Going(TableHandle.of(table).dead_letters, f"({sql})", AlwaysTrue(), after, early=True)
    return Letters(going, sum(not row["read"] for row in rows))


def _letters(connections: Connections, handle: TableHandle) -> DataFrame:
    """All dead letters of a table; raw keys and values that were encrypted as they came."""
    rows = connections.spark.table(spark_name(handle.name))
    if "seal" not in rows.columns:  # made by an earlier version
        return rows.selectExpr(*_RAW, "`partition`", "`offset`", "CAST(NULL AS string) AS seal")
    keys = connections.settings.named_keys
    letters = rows.selectExpr(*_RAW, "`partition`", "`offset`", "topic", "seal", "sealed")
    names = values_of(letters.where("sealed IS NOT NULL").select("seal").distinct().toArrow()["seal"])
    known = Opening({name: sealing_key(keys, name) for name in names})
    return letters.mapInArrow(known.run, letters.schema) if names else letters


def letters_of_query(spec: DerivedSpec, handle: TableHandle, condition: Condition) -> Letters | None:
    """The bad rows of a derived table that match: they are kept as JSON."""
    from pyiceberg.expressions import AlwaysTrue

    if handle.dead_letters.load_or_none() is None:
        return None
    field = condition.sql(lambda column: f"get_json_object(`row`, {literal(_path(column))})")
    sql = " OR ".join([field, *_with_texts(condition, (), ("row", "reason"))])
    after = spec.upkeep.orphans_after
    return Letters(Going(handle.dead_letters, f"({sql})", AlwaysTrue(), after, early=True))


def _path(column: str) -> str:
    """Where a field of a row stands in its JSON."""
    return "$['{}']".format(column.replace("'", "\\'"))


def _decoded(decoder: RecordDecoder, column: str) -> str:
    """Where the decoded record has a column of the table; null if the record has no such field."""
    halves = ((KEY, decoder.columns.key), (VALUE, decoder.columns.value))
    known = [(half, field) for half, fields in halves if (field := fields.get(column))]
    columns = [f"CAST({quoted(half.data, column)} AS {spark_type(field.type)})" for half, field in known]
    return f"coalesce({', '.join(columns)})" if columns else "NULL"


def _with_texts(condition: Condition, binary: Iterable[str], text: Iterable[str]) -> list[str]:
    """SQL that is true of rows which hold one of the texts in one of some columns; never null."""
    hexed_texts = [each.encode().hex() for each in condition.texts]
    in_bytes = [f"contains({quoted(c)}, X'{hexed}')" for c in binary for hexed in hexed_texts]
    in_texts = [f"contains({quoted(c)}, CAST(X'{hexed}' AS string))" for c in text for hexed in hexed_texts]
    return [f"coalesce({each}, false)" for each in (*in_bytes, *in_texts)]


def _at(keys: Iterable[Key]) -> list[str]:
    offsets = defaultdict(list)
    for partition, offset in sorted(keys):
        offsets[partition].append(str(offset))
    return [
        f"(`partition` = {p} AND `offset` IN ({', '.join(offset_texts)}))"
        for p, offset_texts in offsets.items()
    ]
