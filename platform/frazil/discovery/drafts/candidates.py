"""Which fields may tell rows apart, and by which a table may be divided, by the records of a sample."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from frazil.discovery.sample import Sample

_ENOUGH = 20
"""Records from which on a field says something."""

_GROUPS = 12
"""So many values may divide a table."""

_SHOWN = 4


def candidates(
    objects: Mapping[int, Mapping[str, Any]],
    sample: Sample,
    times: Sequence[str],
    others: Collection[str] = (),
) -> list[str]:
    """Notes on fields for `key_fields` and `partition_by`, each with what speaks against others.

    Args:
        objects: The records' values, by their number in the sample.
        times: Columns that hold moments.
        others: Fields that can be neither.
    """
    notes: list[str] = []
    if len(objects) < _ENOUGH:
        return notes
    names = [n for n in dict.fromkeys(n for o in objects.values() for n in o) if n not in (*times, *others)]
    fields = {name: _scalars(objects, name) for name in names}
    notes += _keys({n: v for n, v in fields.items() if len(v) == len(objects)}, sample)
    if divides := [f"day({t})" for t in times[:_SHOWN]] + _groups(fields, len(objects))[:_SHOWN]:
        notes.append(f"For partition_by, if queries ask for it: {', '.join(divides)}.")
    return notes


def _scalars(objects: Mapping[int, Mapping[str, Any]], name: str) -> dict[int, str | int]:
    return {
        n: o[name] for n, o in objects.items()
        if isinstance(o.get(name), str | int) and not isinstance(o[name], bool)
    }  # fmt: skip


def _keys(whole: Mapping[str, Mapping[int, str | int]], sample: Sample) -> list[str]:
    unique = [name for name, values in whole.items() if len(set(values.values())) == len(values)]
    named = [name for name in whole if name.lower().endswith("id") and name not in unique]
    if not unique:
        return []
    against = [f"{name} does not ({_twice(whole[name], sample)} are alike)" for name in named[:_SHOWN]]
    count = len(next(iter(whole.values())))
    differs = f"{', '.join(unique[:_SHOWN])} differs in all {count} records"
    return [f"For key_fields of `mode: upsert`: {'; '.join([differs, *against])}."]


def _twice(values: Mapping[int, str | int], sample: Sample) -> str:
    seen: dict[str | int, int] = {}
    for number, value in values.items():
        if value in seen:
            return f"{sample.place(seen[value])} and {sample.place(number)}"
        seen[value] = number
    return ""


def _groups(fields: Mapping[str, Mapping[int, str | int]], records: int) -> list[str]:
    counts = {n: len(set(v.values())) for n, v in fields.items() if len(v) == records}
    return [f"{n} ({c} values)" for n, c in counts.items() if 1 < c <= _GROUPS and records >= 10 * c]
