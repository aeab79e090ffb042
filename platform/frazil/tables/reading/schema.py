"""The columns of a table as tasks hand them to Spark: in the types that Spark has for them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pyarrow as pa

from frazil.tables.format_v3.row_ids import COLUMNS
from frazil.tables.writing.conversion import ID

if TYPE_CHECKING:
    from pyiceberg.types import IcebergType, NestedField


def read_schema(
    fields: Iterable[NestedField], *, with_path: bool = False, with_row_ids: bool = False
) -> pa.Schema:
    """Columns with their ids, called c0, c1, ...: Spark takes no name with a dot from a task.

    `with_row_ids` adds those of rows that move, `with_path` one without an id for the path of their file.
    """
    own = [_field(field, f"c{place}") for place, field in enumerate(fields)]
    if with_row_ids:
        own += [column.with_name(f"c{len(own) + place}") for place, column in enumerate(COLUMNS)]
    path = [pa.field(f"c{len(own)}", pa.string(), nullable=False)] if with_path else []
    return pa.schema([*own, *path])


def stored_type(kind: IcebergType) -> pa.DataType:
    """What Spark holds as Arrow has it: no UUIDs, and no bytes of a fixed number."""
    from pyiceberg import types as t
    from pyiceberg.io.pyarrow import schema_to_pyarrow

    match kind:
        case t.StructType():
            return pa.struct([_field(own, own.name) for own in kind.fields])
        case t.ListType():
            return pa.list_(_field(kind.element_field, "element"))
        case t.MapType():
            return pa.map_(_field(kind.key_field, "key"), _field(kind.value_field, "value"))
        case t.StringType() | t.UUIDType():
            return pa.string()
        case t.BinaryType() | t.FixedType():
            return pa.binary()
        case _:
            return schema_to_pyarrow(kind)


def _field(own: NestedField, name: str) -> pa.Field:
    return pa.field(name, stored_type(own.field_type), not own.required, {ID: str(own.field_id)})
