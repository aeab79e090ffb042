"""Lists and maps of structs that are null, as PyIceberg should read them: 0.12 makes empty ones of them.

It puts such an array together anew from offsets and values, and leaves out which ones are null
(`ArrowProjectionVisitor`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any


@cache
def keep_null_containers() -> None:
    """Lets PyIceberg's readers keep them, in this process."""
    from pyiceberg.io.pyarrow import ArrowProjectionVisitor

    for name in ("list", "map"):
        setattr(ArrowProjectionVisitor, name, _keeping_nulls(getattr(ArrowProjectionVisitor, name)))


def _keeping_nulls(method: Callable[..., Any]) -> Callable[..., Any]:
    def kept(visitor: Any, kind: Any, array: Any, *parts: Any) -> Any:
        array_made = method(visitor, kind, array, *parts)
        return (
            array_made
            if array_made is None or array_made.null_count == array.null_count
            else _as_null_as(array, array_made)
        )

    return kept


def _as_null_as(array: Any, made: Any) -> Any:
    import numpy as np
    import pyarrow as pa

    missing = array.is_null().to_numpy(zero_copy_only=False)
    return made.take(pa.array(np.arange(len(made)), mask=missing))
