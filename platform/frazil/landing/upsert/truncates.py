"""Truncates: the source emptied its table, and the rows that are older than that go, are marked, or end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from frazil.formats.columns.columns import CHANGE, names_by_word
from frazil.formats.record import OK, RecordDecoder
from frazil.landing.upsert.truncate import Truncate
from frazil.quoting import quoted
from frazil.spec.topic import TableSpec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def with_truncates_told(rows: DataFrame, decoder: RecordDecoder) -> DataFrame:
    """Adds to decoded records what `TRUNCATES_TOLD` collects, see `read_truncates`; null for all others."""
    parts = ("partition", "offset", "unix_micros(timestamp)", f"unix_micros({CHANGE}.time)", f"{CHANGE}.lsn")
    told = ", ".join(f"bigint({part})" for part in parts)
    text = f"CASE WHEN {OK} AND {decoder.truncates} THEN to_json(array({told})) END"
    return rows.selectExpr("*", f"{text} AS {_TOLD}")


_TOLD = "`$frazil_truncate`"

TRUNCATES_TOLD = f"collect_list({_TOLD})"
"""An aggregate over them, in SQL: the truncates as texts."""


def is_truncated(
    truncates: Sequence[Truncate], spec: TableSpec, at: Mapping[str, str], *, landed: bool = False
) -> str:
    """Whether a row is older than one of some truncates, as SQL that is never null.

    Args:
        at: The columns that say where a row is from, by word, see `places`.
        landed: Whether the rows were in the table before; then a truncate of their partition is newer.
    """
    each = (_is_older(t, spec, at, landed) for t in truncates)
    return f"coalesce({' OR '.join(each) or 'false'}, false)"


def _is_older(than: Truncate, spec: TableSpec, at: Mapping[str, str], landed: bool) -> str:
    partition, offset, timestamp = (quoted(at[word]) for word in ("partition", "offset", "timestamp"))
    moment = f"timestamp_micros({than.timestamp})"
    same = "true" if landed else f"{offset} < {than.offset}"
    # What is of the same millisecond was more likely inserted behind it, in one transaction.
    by_place = f"CASE WHEN {partition} = {than.partition} THEN {same} ELSE {timestamp} < {moment} END"
    if not spec.by_lsn or than.lsn is None:
        return by_place
    lsn = quoted(at["source-lsn"])
    return f"CASE WHEN {lsn} IS NULL THEN {by_place} ELSE {lsn} < {than.lsn} END"


def emptied(
    rows: DataFrame, truncates: Sequence[Truncate], spec: TableSpec, *, landed: bool = False
) -> DataFrame:
    """Rows of the table's columns without those that are older than a truncate, or with these marked."""
    if not truncates:
        return rows
    names = names_by_word(spec)
    gone = is_truncated(truncates, spec, names, landed=landed)
    if not spec.keeps_deleted:
        return rows.where(f"NOT {gone}")
    hit = f"{gone} AND NOT coalesce({quoted(names['deleted'])}, false)"
    whens = " ".join(
        f"WHEN {is_truncated([t], spec, names, landed=landed)} THEN timestamp_micros({t.time})"
        for t in truncates
    )
    marks = {names["op"]: "'t'", names["deleted"]: "true", names["deleted-at"]: f"CASE {whens} END"}
    filled = {c: f"CASE WHEN {hit} THEN {mark} ELSE {quoted(c)} END" for c, mark in marks.items()}
    return rows.selectExpr(*(f"{filled.get(c, quoted(c))} AS {quoted(c)}" for c in rows.columns))
