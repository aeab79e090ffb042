"""Formats without a schema: bytes as they are, text, and nothing at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from frazil.formats.logical import Field, Primitive, Struct
from frazil.formats.protocol import Half, Reason

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["PlainDecoder", "plain_columns"]

PlainFormat = Literal["bytes", "string", "none"]


def plain_columns(kind: PlainFormat, half: Half) -> Struct:
    """One column named `key` or `value`; no column where the half is left out."""
    if kind == "none":
        return Struct(())
    column = Primitive("binary" if kind == "bytes" else "string")
    return Struct((Field(half.word, column, optional=True, doc=f"The record's {half.word}, as it came."),))


class PlainDecoder:
    """Takes bytes as they are, or as UTF-8.

    Args:
        kind: `bytes`, `string`, or `none`.
        half: Which half: its word names the column.
    """

    writers: tuple[int, ...] = ()

    def __init__(self, kind: PlainFormat, half: Half) -> None:
        self._kind = kind
        self.columns = plain_columns(kind, half)

    def decode(self, frame: DataFrame, half: Half) -> DataFrame:
        """See `Decoder.decode`."""
        from pyspark.sql import functions as F

        column = f"CAST({half.raw} AS string)" if self._kind == "string" else half.raw
        holds = f"is_valid_utf8({half.raw})" if self._kind == "string" else f"{half.raw} IS NOT NULL"
        return (
            frame.withColumn(half.data, F.expr(f"named_struct('{half.word}', {column})"))
            .withColumn(half.ok, F.expr(f"coalesce({holds}, false)"))
            .withColumn(half.writer, F.expr("CAST(NULL AS int)"))
        )

    def explain(self, raw: bytes) -> Reason:
        """See `Decoder.explain`."""
        try:
            raw.decode()
        except UnicodeDecodeError as e:
            return "utf8", f"byte {e.start} is not UTF-8"
        return "value", "a value is outside its type"
