"""Records whose payloads are written again before they are decoded, for text stands in them; see `texts`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from frazil.exact import values_of
from frazil.formats.avro.decoding.canonical import BadPayloadError
from frazil.formats.avro.schemas.texts import has_text, rewritten
from frazil.formats.wires.prefix import HEADER

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Texts:
    """The trees of writers, by schema id."""

    trees: Mapping[int, Any]
    framed: bool

    def written(self, raw: pa.BinaryArray) -> pa.BinaryArray:
        """The records; null where there is none, or it is damaged."""
        import pyarrow as pa

        return pa.array(map(self._record, values_of(raw)), pa.binary())

    def payload(self, schema_id: int, payload: bytes) -> bytes:
        """One payload, without header; raises BadPayloadError where it is damaged."""
        tree = self.trees.get(schema_id)
        return rewritten(tree, payload) if tree is not None and has_text(tree) else payload

    def _record(self, raw: bytes | None) -> bytes | None:
        if raw is None or not self.framed:
            schema_id, header, payload = next(iter(self.trees)), b"", raw
        else:
            schema_id, header, payload = int.from_bytes(raw[1:HEADER], "big"), raw[:HEADER], raw[HEADER:]
        try:
            return None if payload is None else header + self.payload(schema_id, payload)
        except BadPayloadError:
            return None


def texts_of(trees: Mapping[int, Any], framed: bool) -> Texts | None:
    """What writes records again; None where no text stands in any of them."""
    return Texts(trees, framed) if any(map(has_text, trees.values())) else None
