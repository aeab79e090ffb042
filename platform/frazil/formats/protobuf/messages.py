"""The seam between a batch of Protobuf payloads and whoever decodes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from frazil.formats.protocol import Reason

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Doubt", "Messages", "arrow_type"]


class Doubt(Exception):
    """This decoder does not vouch for what it read."""


class Messages(Protocol):
    """Decodes payloads of one message type."""

    def decode(self, payloads: pa.Array) -> tuple[pa.StructArray, dict[int, Reason]]:
        """Columns by `message_to_logical`, one row per payload, and why some of them are no rows.

        Args:
            payloads: Of type binary, without nulls.

        Returns:
            The rows, anything at the places of the bad ones; and the reasons, by place.
        """


def arrow_type(kind: Any) -> pa.DataType:
    """Spark's Arrow type for a logical type; nothing in it is required."""
    import pyarrow as pa

    from frazil.formats.logical import Decimal, Fixed, List, Map, Struct

    match kind:
        case Struct():
            return pa.struct([pa.field(f.name, arrow_type(f.type)) for f in kind])
        case List():
            return pa.list_(arrow_type(kind.element))
        case Map():
            return pa.map_(arrow_type(kind.key), arrow_type(kind.value))
        case Decimal():
            return pa.decimal128(kind.precision, kind.scale)
        case Fixed():
            return pa.binary()
        case _:
            return _primitives()[kind.kind]


def _primitives() -> dict[str, pa.DataType]:
    import pyarrow as pa

    return {
        "boolean": pa.bool_(), "int": pa.int32(), "long": pa.int64(), "float": pa.float32(),
        "double": pa.float64(), "string": pa.string(), "uuid": pa.string(), "binary": pa.binary(),
        "date": pa.date32(), "timestamp": pa.timestamp("us"), "timestamptz": pa.timestamp("us", tz="UTC"),
    }  # fmt: skip
