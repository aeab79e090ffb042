"""Functions over Arrow arrays for Spark's Python workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import signature
from typing import Any

__all__ = ["arrow_function"]


def arrow_function(work: Callable[[Any], Any], returns: str, *, batches: bool = False) -> Any:
    """A function of one column, by PySpark.

    PySpark asks for annotations and warns where it is told the kind in another way; those of our own
    modules are texts, which it can't resolve where pyarrow is imported inside functions.

    Args:
        work: Takes an array and gives one; or an iterator of both.
        returns: The type of the result, in Spark's words.
        batches: Whether it takes an iterator.
    """
    import pyarrow as pa
    from pyspark.sql.pandas.functions import arrow_udf

    kind: Any = Iterator[pa.Array] if batches else pa.Array
    work.__annotations__ = {**dict.fromkeys(signature(work).parameters, kind), "return": kind}
    make: Any = arrow_udf  # its own types know the discouraged way only
    return make(work, returns)
