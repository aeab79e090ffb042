"""Keys and values without a schema: bytes, text, or nothing at all. Imports little, for Spark's workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from frazil.exact import values_of
from frazil.formats.bare import Bare
from frazil.formats.logical import Field, Primitive, Struct
from frazil.formats.protocol import ArrowDecoder, DecodedBatch, HalfSchemas, Reason

if TYPE_CHECKING:
    import pyarrow as pa


class Plain:
    """`bytes`, `string` or `none`: one column, `key` or `value`; no column where the half is left out."""

    def __init__(self, name: str) -> None:
        self._name = name

    def columns(self, schemas: HalfSchemas) -> Struct:
        """See `Format.columns`."""
        if self._name == "none":
            return Struct(())
        word, kind = schemas.half.word, Primitive("string" if self._name == "string" else "binary")
        return Struct((Field(word, kind, optional=True, doc=f"The record's {word}, as it came."),))

    def decoder(self, schemas: HalfSchemas) -> PlainDecoder:
        """See `Format.decoder`."""
        return PlainDecoder(self.columns(schemas), self._name == "string")


class PlainDecoder:
    """Takes bytes as they are, or as UTF-8."""

    writers: tuple[int, ...] = ()

    def __init__(self, columns: Struct, text: bool) -> None:
        self.columns, self._text = columns, text

    def arrow(self) -> ArrowDecoder:
        """See `Decoder.arrow`."""
        return PlainColumns(tuple(f.name for f in self.columns), self._text)

    def explain(self, raw: bytes) -> Reason:
        """See `Decoder.explain`."""
        try:
            raw.decode()
        except UnicodeDecodeError as e:
            return "utf8", f"byte {e.start} is not UTF-8"
        return "value", "a value is outside its type"

    def values(self, raw: bytes) -> Bare | None:
        """See `Decoder.values`."""
        return {f.name: _text(raw) if self._text else raw for f in self.columns}


@dataclass(frozen=True, slots=True)
class PlainColumns:
    """The same by columns."""

    names: tuple[str, ...]  # of the one column; empty where the half is left out
    text: bool

    @property
    def places_per_byte(self) -> float:
        """See `ArrowDecoder.places_per_byte`."""
        return 1.0

    def decode(self, raw: pa.BinaryArray) -> DecodedBatch:
        """See `ArrowDecoder.decode`."""
        import pyarrow as pa

        texts = _texts(raw) if self.text else raw
        rows = pa.nulls(len(raw), pa.struct([]))
        if self.names:
            rows = pa.StructArray.from_arrays([texts], names=list(self.names))
        return DecodedBatch(rows, texts.is_valid(), pa.nulls(len(raw), pa.int32()))


def _texts(raw: pa.BinaryArray) -> pa.StringArray:
    """The bytes as UTF-8; null where they are something else."""
    import pyarrow as pa

    try:
        return raw.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([_text(r) for r in values_of(raw)], pa.string())


def _text(raw: bytes | None) -> str | None:
    try:
        return None if raw is None else raw.decode()
    except UnicodeDecodeError:
        return None
