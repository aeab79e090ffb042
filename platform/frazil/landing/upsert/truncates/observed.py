"""Truncates among decoded records: how Spark tells of them as it reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil.formats.columns.columns import CHANGE
from frazil.formats.record import OK, RecordDecoder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def with_truncate_texts(rows: DataFrame, decoder: RecordDecoder) -> DataFrame:
    """Adds to decoded records what `TRUNCATE_TEXTS` collects, see `read_truncates`; null for all others."""
    parts = ("partition", "offset", "unix_micros(timestamp)", f"unix_micros({CHANGE}.time)", f"{CHANGE}.lsn")
    fields = ", ".join(f"bigint({part})" for part in parts)
    text = f"CASE WHEN {OK} AND {decoder.truncates} THEN to_json(array({fields})) END"
    return rows.selectExpr("*", f"{text} AS {_TEXT}")


_TEXT = "`$frazil_truncate`"

TRUNCATE_TEXTS = f"collect_list({_TEXT})"
"""An aggregate over them, in SQL: the truncates as texts."""
