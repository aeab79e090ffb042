"""Arrays under other names: the same values, and no copy of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa


def named(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """The array as one of a type that differs by the names of its fields alone, at any depth.

    Arrow casts structs by the names of their fields, and has no other way to rename those within.
    """
    return array if array.type == kind else pa.array(_Named(array, kind))


@dataclass(frozen=True, slots=True)
class _Named:
    """An array for Arrow's C data interface, whose type is told apart from its values."""

    array: pa.Array
    kind: pa.DataType

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[Any, Any]:
        """See https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html."""
        return self.kind.__arrow_c_schema__(), self.array.__arrow_c_array__()[1]
