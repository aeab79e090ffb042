"""Drafts a JSON Schema from JSON objects that have none.

Every field is optional: some hundred records can't show that one is always there. A field that is of several
types, or never has a value, has no type in the draft: its values land as JSON text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from frazil.formats.columns.unmappable import plain
from frazil.formats.paths import member_path

_DEEPEST = 12
"""Levels of a draft; what is deeper lands as text."""

_FEW = 40
"""So many names of keys are fields; more of them, of which each is rare, are the keys of a map."""

_RARE = 0.2
_FIELDS = 500
"""Most fields of one object; one of more lands as text."""

_LONG = 2**63
_TIMESTAMP = {"type": "integer", "connect.type": "int64", "title": "org.apache.kafka.connect.data.Timestamp"}

Schema = dict[str, Any]

# What says that a number or a text is a moment: what its field is called, its values and its form.
_WORDS = frozenset({"ts", "at", "on", "when", "epoch", "ms", "millis", "created", "updated", "expires"})
_ENDS = ("time", "date", "stamp", "_ts")
_SINCE, _UNTIL = 631_152_000, 4_102_444_800  # seconds: 1990 and 2100
_UNITS = {1: "seconds", 1_000_000: "microseconds", 1_000_000_000: "nanoseconds"}

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.,]\d+)?)?(Z|[+-]\d\d:?\d\d)?", re.IGNORECASE)


@dataclass(slots=True)
class Draft:
    """A schema, and what it rests on.

    Args:
        texts: Why a field has no type, by its path as `unmappable` takes it.
        gaps: Fields that some records lack or have as null: how many, and the first of them.
        moments: What is said of fields that hold times.
    """

    schema: Schema = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    gaps: dict[str, tuple[int, int]] = field(default_factory=dict)
    moments: dict[str, str] = field(default_factory=dict)
    times: list[str] = field(default_factory=list)  # columns that hold moments, by which days can be told


def draft_of(objects: Sequence[Mapping[str, Any]]) -> Draft | None:
    """The draft of some objects; None where the names of their fields can't be columns."""
    draft = Draft()
    if not objects or unfit_names(_names(objects)) or not _names(objects):
        return None
    draft.schema = _object(list(enumerate(objects)), "", draft)
    return draft


def unfit_names(names: Iterable[str]) -> str:
    """Why names can't be columns' of one record; empty where they can."""
    seen: dict[str, str] = {}
    for name in names:
        if not name.isprintable() or re.search(r"[\s`]|^$", name):
            return f"{name!r} has white space, a backtick or a sign that can't be shown, or is empty"
        if twin := seen.get(name.lower()):
            return f"{twin} and {name} differ by case only"
        seen[name.lower()] = name
    return ""


Numbered = list[tuple[int, Any]]
"""Values, each with the number of its record."""


def _names(objects: Iterable[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for each in objects for name in each))


def _node(values: Numbered, path: str, draft: Draft) -> Schema:
    there = [(n, v) for n, v in values if v is not None]
    kinds = {kind_of(v) for _, v in there}
    if kinds == {"integer", "number"}:
        kinds = {"number"}
    if len(kinds) != 1:
        return _any(path, _several(there, values), draft)
    match kind := kinds.pop():
        case "object":
            return _object(there, path, draft)
        case "array":
            return _array(there, path, draft)
        case "integer":
            return _integer(there, path, draft)
        case "string":
            return _text(there, path, draft)
        case _:
            return {"type": kind}


def kind_of(value: Any) -> str:
    """The type of a value of JSON that is not null, by JSON Schema's name."""
    match value:
        case bool():
            return "boolean"
        case int():
            return "integer" if -_LONG <= value < _LONG else "number"
        case float():
            return "number"
        case str():
            return "string"
        case dict():
            return "object"
        case _:
            return "array"


def _several(there: Numbered, values: Numbered) -> str:
    if not there:
        return f"it is null or empty in all {len(values)} places"
    counts: dict[str, int] = {}
    for _, value in there:
        counts[kind_of(value)] = counts.get(kind_of(value), 0) + 1
    return " and ".join(f"{kind} {count} times" for kind, count in counts.items())


def _any(path: str, why: str, draft: Draft) -> Schema:
    draft.texts[plain(path)] = why
    return {}


def _object(there: Numbered, path: str, draft: Draft) -> Schema:
    names = _names(value for _, value in there)
    if why := _no_struct(names, path):
        return _any(path, why, draft)
    if path and (values := _as_map(there, names)):
        return {"type": "object", "additionalProperties": _node(values, f"{path}{{}}", draft)}
    properties = {name: _member(there, name, path, draft) for name in names}
    return {"type": "object", "properties": properties}


def _no_struct(names: Sequence[str], path: str) -> str:
    if not names:
        return "it is an object without fields"
    if len(names) > _FIELDS:
        return f"it has {len(names)} fields"
    if path.count(".") >= _DEEPEST:
        return f"it is deeper than {_DEEPEST} levels"
    return unfit_names(names)


def _as_map(there: Numbered, names: Sequence[str]) -> Numbered:
    """The values of an object of any keys; none where its names are those of fields."""
    if len(names) <= _FEW:
        return []
    share = max(sum(name in value for _, value in there) for name in names) / len(there)
    values = [(n, each) for n, value in there for each in value.values()]
    kinds = {kind_of(v) for _, v in values if v is not None}
    return values if share <= _RARE and len(kinds) == 1 else []


def _member(there: Numbered, name: str, path: str, draft: Draft) -> Schema:
    where = member_path(path, name)
    values = [(n, value[name]) for n, value in there if name in value]
    lacking = [n for n, value in there if value.get(name) is None]
    if lacking and len(lacking) < len(there):
        draft.gaps[where] = (len(lacking), lacking[0])
    return _node(values, where, draft)


def _array(there: Numbered, path: str, draft: Draft) -> Schema:
    items = [(n, item) for n, value in there for item in value]
    if not [item for _, item in items if item is not None]:
        return _any(path, "it is an array without items", draft)
    within = Draft()
    schema = _node(items, f"{path}[]", within)
    if not schema:  # an array of anything is text as a whole
        return _any(path, f"it is an array of {within.texts[plain(f'{path}[]')]}", draft)
    draft.texts |= within.texts
    draft.moments |= within.moments
    if any(item is None for _, item in items):
        schema = {"oneOf": [{"type": "null"}, schema]}
    return {"type": "array", "items": schema}


def _integer(there: Numbered, path: str, draft: Draft) -> Schema:
    numbers = [value for _, value in there]
    if _is_millis(path, numbers):
        draft.moments[path] = "milliseconds since 1970, so a timestamp"
        draft.times += _columns(path)
        return dict(_TIMESTAMP)
    if moment := _other_moment(path, numbers):
        draft.moments[path] = f"{moment}; lands as a number"
    return {"type": "integer"}


def _text(there: Numbered, path: str, draft: Draft) -> Schema:
    if format_ := _date_format(value for _, value in there):
        draft.moments[path] = f"ISO 8601 as text ({format_}); lands as text, CAST reads it"
        return {"type": "string", "format": format_}
    return {"type": "string"}


def _columns(path: str) -> Iterator[str]:
    if "[" not in path and "{" not in path:
        yield path


def _is_millis(path: str, numbers: Sequence[int]) -> bool:
    """Whether they are milliseconds since 1970, and the field is called like a moment."""
    return _is_named(path) and _are_in(numbers, 1000)


def _other_moment(path: str, numbers: Sequence[int]) -> str:
    """What else they may count since 1970; empty where nothing says so."""
    if not _is_named(path):
        return "like milliseconds since 1970" if _are_in(numbers, 1000) else ""
    return next((f"{unit} since 1970" for per, unit in _UNITS.items() if _are_in(numbers, per)), "")


def _date_format(texts: Iterable[str]) -> str:
    """The format, by JSON Schema's name, that all texts have; empty where they are no moments."""
    formats = {"date" if _DATE.fullmatch(t) else "date-time" if _TIME.fullmatch(t) else "" for t in texts}
    return formats.pop() if len(formats) == 1 else ""


def _is_named(path: str) -> bool:
    """Whether a field is called like a moment: `created_at`, `eventTime`, `ts`."""
    name = path.rpartition(".")[2]
    words = {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)}
    return bool(words & _WORDS) or any(word.endswith(_ENDS) for word in (*words, name.lower()))


def _are_in(numbers: Sequence[int], per_second: int) -> bool:
    return bool(numbers) and all(_SINCE * per_second <= n < _UNTIL * per_second for n in numbers)
