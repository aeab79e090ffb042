"""Decodes records whose fields are encrypted: by their format's decoder, then by the keys. Tables note it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from frazil.formats.bare import Bare
from frazil.formats.debezium.envelope import ROWS_AT
from frazil.formats.encryption.batch import Fields, OpeningColumns
from frazil.formats.encryption.keys import SealedError, opened_value
from frazil.formats.logical import List, Map, Struct, Type
from frazil.formats.protocol import ArrowDecoder, Decoder, Reason
from frazil.formats.wires.prefix import WireError, schema_id_of

SEALED = "encrypted_field"
"""Code of a reason: no key opens a field."""

_DECRYPTED = "decrypted"
_HIDDEN = ("redact", "drop")


class NotedDecoder:
    """A decoder whose columns say more; fields stay as they are."""

    def __init__(self, inner: Decoder, columns: Struct) -> None:
        self.inner, self.columns = inner, columns

    @property
    def writers(self) -> tuple[int, ...]:
        """See `Decoder.writers`."""
        return self.inner.writers

    def arrow(self) -> ArrowDecoder:
        """See `Decoder.arrow`."""
        return self.inner.arrow()

    def explain(self, raw: bytes) -> Reason:
        """See `Decoder.explain`."""
        return self.inner.explain(raw)

    def values(self, raw: bytes) -> Bare | None:
        """See `Decoder.values`."""
        return self.inner.values(raw)


class OpeningDecoder(NotedDecoder):
    """The same; encrypted fields are opened.

    Args:
        fields: What opens those of each version, by its schema id.
    """

    def __init__(self, inner: Decoder, columns: Struct, fields: Mapping[int, Fields]) -> None:
        super().__init__(inner, columns)
        self._fields = fields

    @property
    def opened(self) -> frozenset[str]:
        """The paths of fields that are opened."""
        return frozenset(path for fields in self._fields.values() for path in fields)

    def arrow(self) -> ArrowDecoder:
        """See `Decoder.arrow`."""
        by_place = {place: self._fields.get(number, {}) for place, number in enumerate(self.writers)}
        return OpeningColumns(self.inner.arrow(), {place: own for place, own in by_place.items() if own})

    def explain(self, raw: bytes) -> Reason:
        """See `Decoder.explain`."""
        values = self.inner.values(raw)
        if values is not None and (fault := next(_faults(self.columns, values, self._of(raw), ""), None)):
            return fault
        return self.inner.explain(raw)

    def values(self, raw: bytes) -> Bare | None:
        """See `Decoder.values`."""
        values = self.inner.values(raw)
        try:
            return None if values is None else _opened(self.columns, values, self._of(raw), "")
        except SealedError:
            return None

    def _of(self, raw: bytes) -> Fields:
        try:
            return self._fields.get(schema_id_of(raw), {})
        except WireError:
            return {}


def _opened(kind: Type, values: Any, fields: Fields, at: str) -> Any:
    """Values as `formats.bare` has them, opened; raises SealedError."""
    if values is None:
        return None
    match kind:
        case Struct():
            known = {f.name: f.type for f in kind}
            return {n: _one(known[n], v, fields, f"{at}{n}") if n in known else v for n, v in values.items()}
        case List():
            return [_one(kind.element, value, fields, f"{at}element") for value in values]
        case Map():
            return [(name, _one(kind.value, value, fields, f"{at}value")) for name, value in values]
    return values


def _one(kind: Type, value: Any, fields: Fields, path: str) -> Any:
    if rules := fields.get(path):
        return opened_value(value, rules) if isinstance(value, str | bytes) else value
    return _opened(kind, value, fields, f"{path}.") if isinstance(value, dict | list) else value


def _faults(kind: Type, values: Any, fields: Fields, at: str) -> Iterator[Reason]:
    """Why each field that no key opens is not opened; no word of what it holds."""
    for path, rules in fields.items():
        try:
            _opened(kind, values, {path: rules}, at)
        except SealedError as e:
            names = ", ".join(rule.rule for rule in rules)
            yield SEALED, f"field {path}, which rule {names} encrypts: {e}"


def with_decrypted(
    marks: Mapping[str, str], dropped: Iterable[str], decoders: Iterable[Decoder]
) -> dict[str, str]:
    """The marks of masks, and of fields that are decrypted: earlier and later rows hold something else.

    Args:
        marks: By path; a field that has both gets both.
        dropped: Paths of fields that become no column.
    """
    opened = {path for decoder in decoders for path in _paths_opened(decoder)} - set(dropped)
    known = {path: marks.get(path, "") for path in opened if marks.get(path) not in _HIDDEN}
    return {**marks, **{path: f"{mark} {_DECRYPTED}".strip() for path, mark in known.items()}}


def _paths_opened(decoder: Decoder) -> Iterator[str]:
    """The paths in the table: of a change the row's, without what it is in."""
    if isinstance(decoder, OpeningDecoder):
        for path in decoder.opened:
            at = next((each for each in ROWS_AT if path.startswith(each)), "")
            yield path.removeprefix(at)
    elif isinstance(decoder, NotedDecoder):
        yield from _paths_opened(decoder.inner)
