"""Columns from values that msgspec read, and which records these make bad.

An array of Python's values becomes one of Arrow's at each level of the schema, so a record costs a few
attributes and no dictionary. What types can't tell is looked at here: enumerations, base64, exact numbers,
keys that stand twice in a map, and the branch that a union's value is of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, Protocol

import msgspec
import numpy as np
import pyarrow as pa

from frazil.exact import values_of
from frazil.formats.batches.rows import Rows
from frazil.formats.json.nodes import Branches, Entries, Items, Member, Members, Node, Pairs, Scalar, logical
from frazil.formats.json.scalars import scalar_array
from frazil.formats.json.typed import (
    BAD,
    attribute,
    count_members,
    has_plain_names,
    is_raw,
    keys_in,
    kind_of,
    repeats,
)
from frazil.formats.logical import List, Map, Struct, Type
from frazil.formats.types import arrow_type

Values = list[Any]
"""One per element; None where there is none, or it is null."""


class Reader(Protocol):
    """Makes columns of one node of the schema."""

    def array(self, values: Values, rows: Rows) -> pa.Array:
        """The column; a record is bad where a value can't be in it."""


def reader_of(node: Node, wanted: Type) -> Reader:
    """What makes columns of a type, which is the node's own or one that it was widened to."""
    match node, wanted:
        case Scalar(), _:
            return _Scalars(node, wanted)
        case Items(), List():
            return _Lists(node, wanted)
        case Entries(), Map():
            return _Maps(node, wanted)
        case Pairs(), Map():
            return _MapsOfPairs(node, wanted)
        case Members(), Struct():
            return _Objects(node, wanted)
        case Branches(), Struct():
            return _Unions(node, wanted)
    raise TypeError(f"{wanted} does not hold {node}")


class Part:
    """A value within another one, as that has it."""

    def __init__(self, node: Node, optional: bool, wanted: Type) -> None:
        self.optional, self._raw = optional, is_raw(node)
        self._reader, self._node = reader_of(node, wanted), node

    @cached_property
    def _decode(self) -> Callable[[bytes | msgspec.Raw], Any]:
        """Made when first asked for: most parts are read with the whole that they are in."""
        return msgspec.json.Decoder(kind_of(self._node, self.optional)).decode

    def array(self, values: Values, rows: Rows) -> pa.Array:
        """The column of values that msgspec read with the whole."""
        if self._raw:
            values = [None if v is None or (text := bytes(v)) == b"null" else text for v in values]
            if not self.optional:
                rows.spoil(_missing(values))
        return self._reader.array(values, rows)

    def read(self, texts: Sequence[bytes | msgspec.Raw | None], rows: Rows) -> Values:
        """The values of texts; None where there is none, and where it is bad, which makes its record bad."""
        decoded: Values = [None] * len(texts)
        bad = np.zeros(len(texts), bool)
        for place, text in enumerate(texts):
            try:
                decoded[place] = None if text is None else self._decode(text)
            except BAD:
                bad[place] = True
        rows.spoil(bad)
        return decoded


class _Scalars:
    def __init__(self, node: Scalar, wanted: Type) -> None:
        self._node, self._kind = node, arrow_type(wanted)

    def array(self, values: Values, rows: Rows) -> pa.Array:
        array = scalar_array(self._node, values, rows)
        return array if array.type == self._kind else array.cast(self._kind)


class _Lists:
    def __init__(self, node: Items, wanted: List) -> None:
        self._kind = arrow_type(wanted)
        self._element = Part(node.element, node.optional, wanted.element)

    def array(self, values: Values, rows: Rows) -> pa.Array:
        offsets = _offsets(values)
        elements = [each for value in values if value is not None for each in value]
        elements_array = self._element.array(elements, rows.within(offsets))
        return pa.ListArray.from_arrays(_int32(offsets), elements_array, type=self._kind, mask=_mask(values))


class _Maps:
    def __init__(self, node: Entries, wanted: Map) -> None:
        self._kind = arrow_type(wanted)
        self._value = Part(node.value, node.optional, wanted.value)
        self._decode = msgspec.json.Decoder(dict[str, kind_of(node.value, node.optional)]).decode  # type: ignore[misc]

    def array(self, values: Values, rows: Rows) -> pa.Array:
        read = [None if value is None else self._entries(value) for value in values]
        bad = [v is not None and entries is None for v, entries in zip(values, read, strict=True)]
        rows.spoil(np.array(bad, bool))
        offsets = _offsets(read)
        keys = pa.array([key for entries in read if entries for key in entries], pa.string())
        items = [item for entries in read if entries for item in entries.values()]
        items_array = self._value.array(items, rows.within(offsets))
        return pa.MapArray.from_arrays(_int32(offsets), keys, items_array, type=self._kind, mask=_mask(read))

    def _entries(self, text: bytes) -> dict[str, Any] | None:
        """The entries; None where they are none, or a key stands twice."""
        try:
            entries: dict[str, Any] = self._decode(text)
        except BAD:
            return None
        # Each entry has a colon, so as many as there are keys prove that no key was there twice.
        if text.count(b":") == len(entries) or count_members(text) == len(entries):
            return entries
        return None


class _MapsOfPairs:
    def __init__(self, node: Pairs, wanted: Map) -> None:
        self._kind = arrow_type(wanted)
        self._key = Part(node.key, False, wanted.key)
        self._value = Part(node.value, node.optional, wanted.value)

    def array(self, values: Values, rows: Rows) -> pa.Array:
        offsets = _offsets(values)
        pairs = [pair for value in values if value is not None for pair in value]
        within = rows.within(offsets)
        keys = self._key.array([pair.f0 for pair in pairs], within)
        items = self._value.array([pair.f1 for pair in pairs], within)
        rows.spoil(_repeating(keys, offsets))
        if keys.null_count:  # those of bad records: Arrow takes no such key
            keys, items, offsets = _without_null_keys(keys, items, offsets)
        return pa.MapArray.from_arrays(_int32(offsets), keys, items, type=self._kind, mask=_mask(values))


class _Objects:
    def __init__(self, node: Members, wanted: Struct) -> None:
        self._kind = arrow_type(wanted)
        plain, places = has_plain_names(node), {m.name: i for i, m in enumerate(node.members)}
        made = _Attribute if plain else _Named
        self._fields = [
            made(node.members[places[f.name]], places[f.name], f.type)
            if f.name in places
            else _Absent(f.type)
            for f in wanted
        ]

    def array(self, values: Values, rows: Rows) -> pa.Array:
        present = [value for value in values if value is not None]
        whole = len(present) == len(values)
        within = rows if whole else rows.within(_offsets(values, one=True))
        columns = [field.array(present, within) for field in self._fields]
        struct = pa.StructArray.from_arrays(columns, fields=list(self._kind))
        return struct if whole else _spread(struct, values)


class _Attribute:
    """A member that msgspec read as an attribute."""

    def __init__(self, member: Member, place: int, wanted: Type) -> None:
        from operator import attrgetter

        self._get: Callable[[Any], Any] = attrgetter(attribute(place))
        self._part = Part(member.node, member.optional, wanted)

    def array(self, objects: Values, rows: Rows) -> pa.Array:
        return self._part.array(list(map(self._get, objects)), rows)


class _Named:
    """A member of an object that is a dictionary of texts."""

    def __init__(self, member: Member, _place: int, wanted: Type) -> None:
        self._key, self._part = member.key, Part(member.node, member.optional, wanted)

    def array(self, objects: Values, rows: Rows) -> pa.Array:
        texts = [each.get(self._key) for each in objects]
        if not self._part.optional:
            rows.spoil(_missing(texts))
        return self._part.array(self._part.read(texts, rows), rows)


class _Absent:
    """A column that this version of the schema does not know."""

    def __init__(self, wanted: Type) -> None:
        self._kind = arrow_type(wanted)

    def array(self, objects: Values, _rows: Rows) -> pa.Array:
        return pa.nulls(len(objects), self._kind)


class _Unions:
    """A value becomes the branch that it fits and that knows most of its keys; of equals the first."""

    def __init__(self, node: Branches, wanted: Struct) -> None:
        self._kind = arrow_type(wanted)
        kinds = {f.name: f.type for f in wanted}
        self._names = [m.name for m in node.members]
        self._branches = [Part(m.node, False, kinds.get(m.name, logical(m.node))) for m in node.members]
        self._keys = [
            frozenset(m.key for m in each.node.members) if isinstance(each.node, Members) else frozenset()
            for each in node.members
        ]

    def array(self, values: Values, rows: Rows) -> pa.Array:
        given = ~_missing(values)
        columns, known = [], np.full((len(self._branches) or 1, len(values)), -1)
        keys = [keys_in(value) for value in values]
        for place, branch in enumerate(self._branches):
            own = Rows(np.zeros(len(values), bool))
            columns.append(branch.array(branch.read(values, own), own))
            fits = given & ~own.bad
            known[place, fits] = [len(self._keys[place] & keys[n]) for n in np.flatnonzero(fits)]
        best = known.argmax(axis=0)
        fits_one = known.max(axis=0) >= 0
        rows.spoil((given & ~fits_one) | np.array([repeats(value) for value in values], bool))
        parts = [self._branch(f, columns, np.where(fits_one, best, -1)) for f in self._kind]
        return pa.StructArray.from_arrays(parts, fields=list(self._kind), mask=pa.array(~fits_one))

    def _branch(self, field: pa.Field, columns: list[pa.Array], taken: np.ndarray) -> pa.Array:
        if field.name not in self._names:
            return pa.nulls(len(taken), field.type)
        place = self._names.index(field.name)
        return columns[place].take(pa.array(np.arange(len(taken)), mask=taken != place))


def _missing(values: Iterable[Any]) -> np.ndarray:
    return np.array([value is None for value in values], bool)


def _mask(values: Values) -> pa.Array | None:
    missing = _missing(values)
    return pa.array(missing) if missing.any() else None


def _offsets(values: Values, one: bool = False) -> np.ndarray:
    """Where each value's parts begin, and where the last ones end; a value of `one` part is it itself."""
    sizes = [0 if value is None else 1 if one else len(value) for value in values]
    return np.concatenate([[0], np.cumsum(np.array(sizes, np.int64))])


def _int32(offsets: np.ndarray) -> pa.Array:
    return pa.array(offsets, pa.int64()).cast(pa.int32())


def _spread(struct: pa.StructArray, values: Values) -> pa.Array:
    """The rows at the places of the values that are there."""
    missing = _missing(values)
    return struct.take(pa.array(np.cumsum(~missing) - 1, mask=missing))


def _repeating(keys: pa.Array, offsets: np.ndarray) -> np.ndarray:
    """Which maps have a key twice."""
    names = [repr(key) for key in values_of(keys)]
    spans = zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
    return np.array([len(set(names[a:b])) < b - a for a, b in spans], bool)


def _without_null_keys(
    keys: pa.Array, items: pa.Array, offsets: np.ndarray
) -> tuple[pa.Array, pa.Array, np.ndarray]:
    """The same maps without their entries that have no key."""
    there = keys.is_valid()
    counts = np.concatenate([[0], np.cumsum(there.to_numpy(zero_copy_only=False))])
    return keys.filter(there), items.filter(there), counts[offsets]
