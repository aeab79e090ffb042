"""JSON of listed fields among the formats: its columns, its decoder, and why a record of it is bad."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from frazil.errors import MALFORMED
from frazil.formats.bare import Bare, Unknown
from frazil.formats.json.given.shape import columns_of, shape_of
from frazil.formats.json.independent import columns_of_text
from frazil.formats.json.nodes import logical
from frazil.formats.json.reasons import JsonReasons, halved
from frazil.formats.json.width import fault
from frazil.formats.logical import Field, Struct
from frazil.formats.protocol import ArrowDecoder, HalfSchemas, Reason, WriterSchema
from frazil.spec.fields import JsonField

_ANY = WriterSchema(0, 0, "{}", "JSON")
"""A schema that takes everything: the fields say what a record must have."""

_VAGUE = ("value", "repeated_key")
"""Reasons that hold where nothing else is amiss."""


@dataclass(frozen=True, slots=True)
class ListedFields:
    """See `Format`; it needs no schema of a registry."""

    fields: tuple[JsonField, ...]
    rest: Field | None = None  # the column of what no field names

    def columns(self, _schemas: HalfSchemas) -> Struct:
        """See `Format.columns`."""
        return columns_of(self.fields, self.rest)

    def decoder(self, _schemas: HalfSchemas) -> FieldsDecoder:
        """See `Format.decoder`."""
        return FieldsDecoder(self.fields, self.rest)


class FieldsDecoder:
    """Decodes JSON without a header: a column for each listed field, and one for all others, if asked."""

    writers: tuple[int, ...] = ()

    def __init__(self, fields: tuple[JsonField, ...], rest: Field | None = None) -> None:
        self.columns, self._fields, self._rest = columns_of(fields, rest), fields, rest
        self._shape = shape_of(fields)
        self._reasons = JsonReasons(_ANY, self._shape, strict=False)

    def arrow(self) -> ArrowDecoder:
        """See `Decoder.arrow`."""
        from frazil.formats.json.arrow import JsonRecipe
        from frazil.formats.json.given.arrow import FieldsRecipe

        record = logical(self._shape)
        assert isinstance(record, Struct)
        nested = JsonRecipe(((_ANY.schema_id, self._shape),), record, framed=False)
        paths = tuple(field.steps for field in self._fields)
        return FieldsRecipe(nested, self.columns, paths, self._shape if self._rest else None)

    def explain(self, raw: bytes) -> Reason:
        """See `Decoder.explain`; a field that is missing is named by its path."""
        if why := fault(self._shape, raw):
            return why
        code, words = self._reasons.explain(raw)
        return (self._beyond_schema(json.loads(raw)) if code in _VAGUE else None) or (code, words)

    def values(self, raw: bytes) -> Bare | None:
        """See `Decoder.values`."""
        try:
            record: Any = columns_of_text(self._shape, self.columns, raw)
        except MALFORMED:
            return None
        rest = {self._rest.name: Unknown("the text of what no field names")} if self._rest else {}
        if record is None:
            return None
        return {field.name: _at(record, field.steps) for field in self._fields} | rest

    def _beyond_schema(self, record: Any) -> Reason | None:
        """What is amiss that no schema says."""
        if record is None:
            return "type", "(root): null is no object"
        for field in self._fields:
            if not field.optional and _at(record, field.steps) is None:
                path = ".".join(field.steps)
                return "required", f"{path}: it is not there, or null, and {field.name} is not optional"
        return halved(record)


def _at(value: Any, steps: tuple[str, ...]) -> Any:
    """What a record has at a path; None where anything on the way is not there, or null."""
    for step in steps:
        if value is None:
            return None
        value = value.get(step)
    return value
