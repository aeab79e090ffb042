"""A whole record: key and value decoded independently, and the verdict on both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil.formats.columns import RecordColumns
from frazil.formats.protocol import KEY, VALUE, Decoder, Reason

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["BAD", "OK", "RecordDecoder"]

OK, BAD = "_ok", "_bad"
"""Whether a record becomes a row, and whether it is bad; neither: it is left out on purpose."""

_NULL = {"bad": ("false", "true"), "skip": ("false", "false"), "keep": ("true", "false")}
"""By what the spec says of a null value: whether that is a row, and whether it is bad."""


@dataclass(frozen=True, slots=True)
class RecordDecoder:
    """Decodes records of one topic.

    Args:
        key: For keys; a null key is no error.
        value: For values.
        columns: What both become.
        on_null_value: What a null value is: bad, left out, or a row of key and metadata.
        others: Schema ids of records that belong to other tables; they are left out.
    """

    key: Decoder
    value: Decoder
    columns: RecordColumns
    on_null_value: str = "bad"
    others: tuple[int, ...] = ()

    def decode(self, frame: DataFrame) -> DataFrame:
        """Adds what both halves' decoders add, and `OK` and `BAD`."""
        from pyspark.sql import functions as F

        decoded = self.value.decode(self.key.decode(frame, KEY), VALUE)
        row, bad = _NULL[self.on_null_value]
        key_holds = f"({KEY.raw} IS NULL OR {KEY.ok})"
        holds = f"{key_holds} AND CASE WHEN {VALUE.raw} IS NULL THEN {row} ELSE {VALUE.ok} END"
        fails = f"NOT {key_holds} OR CASE WHEN {VALUE.raw} IS NULL THEN {bad} ELSE NOT {VALUE.ok} END"
        mine = self._mine()
        return decoded.withColumn(OK, F.expr(f"{mine} AND {holds}")).withColumn(
            BAD, F.expr(f"{mine} AND ({fails})")
        )

    def _mine(self) -> str:
        if not self.others:
            return "true"
        headers = ", ".join(f"X'00{schema_id:08x}'" for schema_id in self.others)
        return f"NOT coalesce(substring({VALUE.raw}, 1, 5) IN ({headers}), false)"

    def explain(self, raw_key: bytes | None, raw_value: bytes | None, key_ok: bool, value_ok: bool) -> Reason:
        """Why the record is bad; the key's fault comes first.

        Args:
            raw_key: The key's bytes.
            raw_value: The value's bytes.
            key_ok: What `decode` said of the key.
            value_ok: What `decode` said of the value.
        """
        if raw_key is not None and not key_ok:
            code, reason = self.key.explain(raw_key)
            return f"key_{code}", f"key: {reason}"
        if raw_value is None:
            return "null_value", "the value is null, which is no row in append mode"
        if value_ok:
            return "value", "the record does not decode"
        return self.value.explain(raw_value)
