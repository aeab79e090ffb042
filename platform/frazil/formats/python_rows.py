"""Rows that Spark's Python workers decode: only the raw bytes cross to them, the rest stays in the JVM."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from frazil.formats.logical import Struct
from frazil.formats.protocol import Half
from frazil.formats.types import arrow_function, spark_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def decoded_by_python(frame: DataFrame, half: Half, rows: Callable[[Any], Any], columns: Struct) -> DataFrame:
    """A frame with what `Decoder.decode` adds to it.

    Args:
        frame: With the column `half.raw`.
        half: What is decoded.
        rows: Makes of batches of bytes those of a struct: `d` (the columns), `ok`, and `w`, the writer.
        columns: Those of `d`.
    """
    from pyspark.sql import functions as F

    # Not deterministic, so that Spark can neither run it twice nor push a filter below it.
    kind, whole = f"struct<d:{spark_type(columns)},ok:boolean,w:int>", f"{half.data}_whole"
    decoded = arrow_function(rows, kind, batches=True).asNondeterministic()
    return (
        frame.withColumn(whole, decoded(F.col(half.raw)))
        .withColumn(half.data, F.col(f"{whole}.d"))
        .withColumn(half.ok, F.expr(f"coalesce({whole}.ok, false)"))
        .withColumn(half.writer, F.col(f"{whole}.w"))
        .drop(whole)
    )
