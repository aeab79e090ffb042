"""What a table has of masked values: docs/masks.md."""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from frazil_verify.findings import UnverifiableError
from frazil_verify.request import Mask
from frazil_verify.table.canonical import sorted_pairs
from frazil_verify.table.metadata import Column, columns_of
from frazil_verify.values.plain.decimals import written

Convert = Callable[[Any], Any]
TypeAt = Callable[[Sequence[str]], str]
"""The type of a field before it is masked, by the names that lead to it."""

_PROPERTY = "frazil.masks"
_SHOWN, _LONG_ENOUGH = 4, 8


@dataclass(frozen=True)
class Masks:
    """The masks of fields by path."""

    by_path: Mapping[str, Mask]

    def unmasked(self, column: Column, type_at: TypeAt) -> Column:
        """A column of the table as it is before its fields are masked.

        Raises:
            NotComparedError: The type of a masked field is not known here.
        """
        return replace(column, type=self._before(column.type, (column.name,), type_at))

    def _before(self, kind: Any, path: tuple[str, ...], type_at: TypeAt) -> Any:
        mask = self.by_path.get(".".join(path))
        if mask is not None and mask.word in ("hash", "last4"):
            return type_at(path)
        if mask is not None or not isinstance(kind, Mapping) or not self._are_within(path):
            return kind
        if kind["type"] == "struct":
            fields = [
                {**f, "type": self._before(f["type"], (*path, f["name"]), type_at)} for f in kind["fields"]
            ]
            return {**kind, "fields": fields}
        part = "element" if kind["type"] == "list" else "value"
        return {**kind, part: self._before(kind[part], (*path, part), type_at)}

    def of(self, column: Column) -> Convert | None:
        """What makes of a value of an unmasked column that which the table has; None where it is the same."""
        return self._of(column.type, (column.name,))

    def _of(self, kind: Any, path: tuple[str, ...]) -> Convert | None:
        mask = self.by_path.get(".".join(path))
        if mask is not None:
            return _masked(mask, kind)
        if not isinstance(kind, Mapping) or not self._are_within(path):
            return None
        if kind["type"] == "struct":
            return _struct([self._of(c.type, (*path, c.name)) for c in columns_of(kind)])
        if kind["type"] == "list":
            element = _null_or(self._of(kind["element"], (*path, "element")))
            return lambda value: tuple(map(element, value))
        item = _null_or(self._of(kind["value"], (*path, "value")))
        return lambda value: sorted_pairs({key: item(each) for key, each in value})

    def _are_within(self, path: tuple[str, ...]) -> bool:
        return any(each.startswith(f"{'.'.join(path)}.") for each in self.by_path)


def changed_masks(properties: Mapping[str, str], migrations: Mapping[str, str]) -> frozenset[str]:
    """The columns whose older rows may have another mask, or none.

    Args:
        properties: The table's.
        migrations: The paths of fields whose masks changed, by the ids of what approved it.

    Raises:
        UnverifiableError: A mask changed, and nothing says of which field.
    """
    done = json.loads(properties.get(_PROPERTY, "{}")).get("done", ())
    if unknown := [each for each in done if each not in migrations]:
        raise UnverifiableError(
            f"a mask changed by the migration {unknown[0]}, which the spec no longer has: so nothing says of "
            "which column"
        )
    return frozenset(migrations[each].partition(".")[0] for each in done)


def _masked(mask: Mask, kind: Any) -> Convert:
    if mask.word == "redact":
        return lambda _: None
    if mask.word == "last4":
        return lambda value: _last(str(value))
    key, text = mask.key.get_secret_value().encode(), _bytes_of(str(kind))
    return lambda value: hmac.new(key, text(value), "sha256").hexdigest()


def _last(text: str) -> str:
    return f"****{text[-_SHOWN:]}" if len(text) >= _LONG_ENOUGH else "****"


def _bytes_of(kind: str) -> Callable[[Any], bytes]:
    """What is hashed: a value's text; of bytes themselves."""
    if kind == "binary":
        return bytes
    if not kind.startswith("decimal("):
        return lambda value: str(value).encode()
    scale = int(kind.removesuffix(")").partition(",")[2])
    return lambda value: written(value, scale).encode()


def _struct(converts: Sequence[Convert | None]) -> Convert:
    each = [_null_or(convert) for convert in converts]
    return lambda value: tuple(convert(v) for convert, v in zip(each, value, strict=True))


def _null_or(convert: Convert | None) -> Convert:
    """The same for values that may be null; those without a mask stay as they are."""
    if convert is None:
        return lambda value: value
    return lambda value: None if value is None else convert(value)
