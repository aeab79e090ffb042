"""The seam between a batch of Protobuf payloads and whoever decodes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from frazil.formats.protocol import Reason

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Doubt", "Messages"]


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
