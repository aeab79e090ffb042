"""The fields of JSON for which there is no schema: what a user lists of them, a column each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from frazil.spec.guard import Guarded
from frazil.spec.migrations import type_word
from frazil.spec.values import Part

ANY_JSON = "json"
"""The type of a field whose value lands as JSON text, whatever it is."""

_LIST = re.compile(r"list<(.+)>")
_SIZE = re.compile(r"decimal\((\d+),(\d+)\)")
_MOMENTS = ("timestamp", "timestamptz")
_OF_SCHEMAS = (
    "value_schema", "value_subject", "record_type", "subject_names", "other_types", "unmappable",
    "wide_decimals", "validation",
)  # fmt: skip
"""What is said of schemas, which the list of fields takes the place of."""

_MOST_DIGITS = 38
_DEEPEST = 32


def element_of(kind: str) -> str:
    """The type of a list's elements; empty where it is no list."""
    match = _LIST.fullmatch(kind)
    return match[1] if match else ""


def digits_of(kind: str) -> tuple[int, int]:
    """Precision and scale of a decimal; zeros where it is none."""
    match = _SIZE.fullmatch(kind)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def _type(value: str) -> str:
    if element := element_of(value):
        return f"list<{_type(element)}>"
    if value == ANY_JSON:
        return value
    try:
        word = type_word(value)
    except ValueError:
        raise ValueError(
            f"{value!r} is no type of a field; write boolean, int, long, float, double, decimal(10,2), "
            "string, binary, date, timestamp, timestamptz, json, or list<...> of one of them"
        ) from None
    digits, scale = digits_of(word)
    if word.startswith("decimal") and not max(scale, 1) <= digits <= _MOST_DIGITS:
        raise ValueError(f"{value}: a decimal has 1 to {_MOST_DIGITS} digits, of which the scale is a part")
    return word


def _name(value: str) -> str:
    if not value.isprintable() or re.search(r"[\s`]|^$", value):
        raise ValueError(
            f"{value!r} has white space, a backtick or a sign that can't be shown, or is empty; name the "
            "column otherwise, and say by path what the record calls it"
        )
    return value


class PlacedField(Part):
    """A column, and where JSON has its values."""

    name: Annotated[str, AfterValidator(_name)] = Field(description="The column.")
    type: Annotated[str, AfterValidator(_type)] = Field(
        description="boolean, int, long, float, double, decimal(10,2), string, binary (base64), date "
        "(2026-11-26), timestamp (2026-11-26T10:00:00), timestamptz (the same, with a zone), json (any "
        "value, as JSON text), or list<...> of one of them."
    )
    path: str | tuple[str, ...] = Field(
        "",
        description="Where the record has it, with dots: `address.city`. A list where a name has dots "
        "itself: `[address, zip.code]`. Default: by the column's name, at the top.",
    )
    unit: Literal["millis"] | None = Field(
        None, description="timestamp, timestamptz: the value is a number of milliseconds since 1970."
    )

    @property
    def steps(self) -> tuple[str, ...]:
        """The names that lead to it, from the record."""
        if isinstance(self.path, str):
            return tuple(self.path.split(".")) if self.path else (self.name,)
        return self.path

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.unit and self.type not in _MOMENTS:
            raise ValueError(f"unit is for {' and '.join(_MOMENTS)}, not for {self.type}")
        if not self.steps or not all(self.steps):
            raise ValueError(f"path: {self.path!r} has an empty name; write a list where names have dots")
        if len(self.steps) > _DEEPEST:
            raise ValueError(f"path: it is more than {_DEEPEST} levels deep")
        return self


class JsonField(PlacedField):
    """A field of a JSON record, and its column: `{name: city, type: string, path: address.city}`."""

    optional: bool = Field(
        False,
        description="Whether it may be null, or not be there, nor what it is in. Else such a record is bad.",
    )


class OfFields(Guarded):
    """A table whose columns may be given field by field."""

    fields: tuple[JsonField, ...] = Field(
        (),
        description="value_format: json, without a schema: the fields that become columns, as in `{name: "
        "city, type: string, path: address.city, optional: true}` (docs/json.md). No registry is asked.",
    )

    rest: bool = Field(
        False,
        description="With fields: whether all that they do not name lands, too, as JSON text in `$$rest`.",
    )

    @model_validator(mode="after")
    def _fields_fit(self) -> Self:
        if not self.fields:
            if self.rest:
                raise ValueError("rest: true is what fields do not name; list the fields")
            return self
        if self.rest and self.withholds_raw:
            raise ValueError(
                "rest: true lands whatever a record holds besides, beside which masks hide little; list the "
                "fields that are wanted, and take rest out, or write keep_raw: true"
            )
        refuse_twins("fields", (field.name for field in self.fields))
        _refuse_nested([field.steps for field in self.fields])
        for misfit in self._beside():
            raise ValueError(f"fields: {misfit}")
        return self

    def _beside(self) -> Iterator[str]:
        """What else the spec says that does not go with them."""
        given: dict[str, Any] = {name: getattr(self, name) for name in ("value_format", "mode", *_OF_SCHEMAS)}
        if given["value_format"] != "json":
            yield f"they are of JSON without a schema; write value_format: json, not {given['value_format']}"
        if given["mode"] in ("cdc", "tableflow"):
            yield f"mode: {given['mode']} knows its columns by other means; write mode: append or upsert"
        for name in _OF_SCHEMAS:
            known = type(self).model_fields[name]
            if given[name] != known.default:
                yield f"they stand in the place of a schema; take {known.alias or name} out, or all fields"


def refuse_twins(of: str, names: Iterable[str]) -> None:
    """Refuses two columns that engines can't tell apart.

    Args:
        of: What of the spec names them.
        names: Those.
    """
    seen: set[str] = set()
    for name in map(str.lower, names):
        if name in seen:
            raise ValueError(f"{of}: two columns are named {name}, which engines can't tell apart")
        seen.add(name)


def _refuse_nested(paths: list[tuple[str, ...]]) -> None:
    """A value is of one field: none has the path of another one, nor is it within that."""
    known: set[tuple[str, ...]] = set()
    for path in paths:
        if path in known:
            raise ValueError(f"fields: two have the path {'.'.join(path)}; a value becomes one column")
        known.add(path)
    for path in paths:
        if above := next((path[:n] for n in range(1, len(path)) if path[:n] in known), ()):
            raise ValueError(
                f"fields: {'.'.join(path)} is within {'.'.join(above)}, which is a field itself; take one out"
            )
