"""Drafts the list of fields of JSON that has no schema, each with what speaks for it and against it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from frazil.discovery.drafts.draft import Draft, kind_of
from frazil.discovery.sample import Sample
from frazil.formats.batches.local import ARE_ISO
from frazil.spec.fields import ANY_JSON

Schema = Mapping[str, Any]
Steps = tuple[str, ...]
Found = list[tuple[int, Any]]
"""The values of one field that are not null, each with the number of its record."""

_WORDS = {"boolean": "boolean", "integer": "long", "number": "double", "string": "string"}
_MOMENTS = {"zoned": "timestamptz", "local": "timestamp", "day": "date"}
_TEMPLATE = "{{"
"""What a pipeline's text would put a value in the place of; a field with that in its name is not listed."""

_MILLIS = {"type": "timestamptz", "unit": "millis"}


@dataclass(frozen=True, slots=True)
class FieldList:
    """Fields as a spec lists them, and what each rests on, by its column. All of them are optional."""

    fields: list[dict[str, Any]] = field(default_factory=list)
    reasons: dict[str, str] = field(default_factory=dict)


def field_list(draft: Draft, objects: Mapping[int, Mapping[str, Any]], sample: Sample) -> FieldList:
    """The list for a draft of objects, which are by their number in the sample."""
    leaves = [leaf for leaf in _leaves(draft.schema, ()) if not any(_TEMPLATE in step for step in leaf[0])]
    names, made = _names([steps for steps, _ in leaves]), FieldList()
    for (steps, schema), name in zip(leaves, names, strict=True):
        values = [(n, value) for n, each in objects.items() if (value := _at(each, steps)) is not None]
        path = {} if steps == (name,) else {"path": _path(steps)}
        made.fields.append({"name": name, **_type(schema, values), **path, "optional": True})
        made.reasons[name] = _reason(values, list(objects), sample)
    return made


def _leaves(schema: Schema, steps: Steps) -> Iterator[tuple[Steps, Schema]]:
    for name, inner in schema["properties"].items():
        if inner.get("properties"):
            yield from _leaves(inner, (*steps, name))
        else:
            yield (*steps, name), inner


def _names(paths: list[Steps]) -> list[str]:
    """A name for each column: the field's own, with those before it where two have the same."""
    own = Counter(steps[-1].lower() for steps in paths)
    wanted = [steps[-1] if own[steps[-1].lower()] == 1 else "_".join(steps) for steps in paths]
    taken: set[str] = set()
    for place, name in enumerate(wanted):
        free = name if name.lower() not in taken else f"{name}_{place}"
        taken.add(free.lower())
        wanted[place] = free
    return wanted


def _path(steps: Steps) -> str | list[str]:
    return list(steps) if any("." in step for step in steps) else ".".join(steps)


def _at(value: Any, steps: Steps) -> Any:
    for step in steps:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def _type(schema: Schema, values: Found) -> dict[str, str]:
    if schema.get("connect.type"):
        return dict(_MILLIS)
    if schema.get("type") == "array":
        items = schema["items"]
        word = _WORDS.get((items.get("oneOf") or [{}, items])[-1].get("type", ""))
        return {"type": f"list<{word}>" if word else ANY_JSON}
    if schema.get("format"):
        return {"type": _of_texts([value for _, value in values])}
    return {"type": _WORDS.get(schema.get("type", ""), ANY_JSON)}


def _of_texts(texts: list[str]) -> str:
    """The moment that all texts are, as a landing reads them; else they stay texts."""
    fitting = (_MOMENTS[wire] for wire, (is_one, _) in ARE_ISO.items() if all(map(is_one, texts)))
    return next(fitting, "string")


def _reason(values: Found, numbers: list[int], sample: Sample) -> str:
    """In how many records it is, where the first one without it stands, and of which types it is."""
    there = {n for n, _ in values}
    parts = [f"in {len(there)} of {len(numbers)} records"]
    parts += [f"not in {sample.place(n)}" for n in numbers if n not in there][:1]
    kinds = Counter(kind_of(value) for _, value in values).most_common()
    for kind, count in kinds[1:]:
        first = next(n for n, value in values if kind_of(value) == kind)
        parts.append(f"mostly {kinds[0][0]}, but {kind} {count} times, first in {sample.place(first)}")
    return "; ".join(parts)
