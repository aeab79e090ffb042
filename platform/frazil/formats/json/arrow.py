"""Decodes JSON by columns, in Spark's workers: msgspec reads typed objects, whose attributes become columns.

msgspec refuses by itself whatever is not exactly one value of the type. It takes bytes that are no text where
no column looks: those are looked for before.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from frazil.exact import values_of
from frazil.formats.batches.by_version import decode_by_version
from frazil.formats.batches.rows import Rows
from frazil.formats.json.arrays import Part
from frazil.formats.json.nodes import Members, Node
from frazil.formats.json.reasons import validator_maker
from frazil.formats.json.width import fault, places_per_byte
from frazil.formats.logical import Struct
from frazil.formats.protocol import MOST_PLACES, DecodedBatch
from frazil.formats.types import arrow_type

Rules = tuple[str, tuple[tuple[str, str], ...]]
"""A schema's text, and the texts that it refers to, by name."""


@dataclass(frozen=True, slots=True)
class JsonRecipe:
    """All that a worker needs; see `ArrowDecoder`.

    `nodes` are by schema id, in the order of the decoder's writers; `rules` are theirs where all of a
    schema's rules must hold, else empty.
    """

    nodes: tuple[tuple[int, Node], ...]
    columns: Struct
    framed: bool
    rules: tuple[Rules, ...] = ()

    @property
    def places_per_byte(self) -> float:
        """See `ArrowDecoder.places_per_byte`."""
        return max(places_per_byte(node) for _, node in self.nodes)

    def decode(self, raw: pa.BinaryArray) -> DecodedBatch:
        """See `ArrowDecoder.decode`."""
        return decode_by_version(raw, versions_of(self), arrow_type(self.columns), self.framed)


@lru_cache(maxsize=64)
def versions_of(recipe: JsonRecipe) -> dict[int, JsonVersion]:
    """The decoders of a recipe's versions: one per process, for building costs more than a small batch."""
    rules = recipe.rules or (None,) * len(recipe.nodes)
    return {
        schema_id: JsonVersion(node, recipe.columns, own)
        for (schema_id, node), own in zip(recipe.nodes, rules, strict=True)
    }


class JsonVersion:
    """Decodes the records of one writer."""

    def __init__(self, node: Node, columns: Struct, rules: Rules | None) -> None:
        self._kind, self._node, self._rules = arrow_type(columns), node, rules
        self._per_byte = places_per_byte(node)
        self._is_object = isinstance(node, Members)
        self._value = Part(node, False, columns if self._is_object else columns.fields[0].type)

    def decode(self, payloads: pa.BinaryArray) -> tuple[np.ndarray, pa.StructArray, np.ndarray]:
        """See `Version.decode`."""
        texts = values_of(payloads)
        sound = self._sound(payloads, texts)
        read = Rows(~sound)
        values = self._value.read(
            [text if fine else None for text, fine in zip(texts, sound, strict=True)], read
        )
        places = np.flatnonzero(~read.bad)
        rows = Rows(np.zeros(len(places), bool))
        column = self._value.array([values[n] for n in places], rows)
        data = column if self._is_object else pa.StructArray.from_arrays([column], fields=list(self._kind))
        return places, data, ~rows.bad

    def _sound(self, payloads: pa.BinaryArray, texts: list[bytes]) -> np.ndarray:
        """Which payloads are text, not too wide, and as all rules say where they count."""
        try:
            payloads.cast(pa.string())
            are_text = np.ones(len(texts), bool)
        except pa.ArrowInvalid:
            are_text = np.array([_is_text(text) for text in texts], bool)
        sound: np.ndarray = are_text & self._narrow(texts) & self._valid(texts)
        return sound

    def _narrow(self, texts: list[bytes]) -> np.ndarray:
        if max(map(len, texts), default=0) * self._per_byte <= MOST_PLACES:
            return np.ones(len(texts), bool)
        return np.array([fault(self._node, text) is None for text in texts], bool)

    def _valid(self, texts: list[bytes]) -> np.ndarray:
        if self._rules is None:
            return np.ones(len(texts), bool)
        return np.array([self._follows_rules(text) for text in texts], bool)

    def _follows_rules(self, text: bytes) -> bool:
        try:
            return bool(self._validator.is_valid(json.loads(text)))
        except (ValueError, RecursionError):
            return False

    @cached_property
    def _validator(self) -> Any:
        assert self._rules is not None
        return validator_maker()(*self._rules)


def _is_text(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True
