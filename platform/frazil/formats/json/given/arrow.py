"""Decodes JSON of listed fields by columns: as a record of these fields alone, whose parts then go up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from json.encoder import encode_basestring

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from frazil.exact import flags_of, values_of
from frazil.formats.json.arrow import JsonRecipe
from frazil.formats.json.nodes import Members, Node
from frazil.formats.json.typed import count_members
from frazil.formats.logical import Struct
from frazil.formats.protocol import DecodedBatch
from frazil.formats.types import arrow_type

_decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


@dataclass(frozen=True, slots=True)
class FieldsRecipe:
    """All that a worker needs; see `ArrowDecoder`.

    Args:
        paths: The names that lead to each column.
        named: What has columns, where a last column holds the rest.
    """

    record: JsonRecipe
    columns: Struct
    paths: tuple[tuple[str, ...], ...]
    named: Members | None = None

    @property
    def places_per_byte(self) -> float:
        """See `ArrowDecoder.places_per_byte`."""
        return self.record.places_per_byte

    def decode(self, raw: pa.BinaryArray) -> DecodedBatch:
        """See `ArrowDecoder.decode`; a part of what is null is null."""
        whole = self.record.decode(raw)
        columns, ok = [pc.struct_field(whole.data, list(path)) for path in self.paths], whole.ok
        if self.named:
            rest, ok = _rest(raw, ok, self.named)
            columns.append(rest)
        data = pa.StructArray.from_arrays(columns, fields=list(arrow_type(self.columns)))
        return DecodedBatch(data, ok, pa.nulls(len(raw), pa.int32()))


def _rest(raw: pa.BinaryArray, ok: pa.BooleanArray, named: Members) -> tuple[pa.Array, pa.BooleanArray]:
    """The text of what is left of each good record, and which are good then, too."""
    good = flags_of(ok).copy()
    texts: list[str | None] = [None] * len(raw)
    for place, record in enumerate(values_of(raw)):
        if good[place]:
            try:
                texts[place] = _rest_of(record, named)
            except (ValueError, RecursionError):
                good[place] = False
    return pa.array(texts, pa.string()), pa.array(good)


def _rest_of(record: bytes, named: Members) -> str | None:
    """The text of a record without the values that have columns; None where nothing is left.

    Values stay as they were written. An object of which nothing is left goes, too.

    Raises:
        ValueError: A key stands twice, in the record or in an object that holds fields: one would be lost.
    """
    nodes = {m.name: m.node for m in named.members}
    members = {name: bytes(raw) for name, raw in _decode(record).items()}
    if not _are_all(record, members) and count_members(record) != len(members):
        raise ValueError("a key stands there twice")
    parts = (
        f"{encode_basestring(name)}:{left}"
        for name, text in members.items()
        if (left := _left(text, nodes.get(name))) is not None
    )
    return f"{{{whole}}}" if (whole := ",".join(parts)) else None


def _left(text: bytes, node: Node | None) -> str | None:
    """What is left of a value that has this node among the fields, or none."""
    if node is None:
        return text.decode()
    return _rest_of(text, node) if isinstance(node, Members) and text.startswith(b"{") else None


def _are_all(record: bytes, members: Mapping[str, bytes]) -> bool:
    """Whether an object has no members but these, by its colons: each member has one of its own."""
    outside = record.count(b":") - sum(text.count(b":") for text in members.values())
    return outside == len(members) and not any(":" in name for name in members)
