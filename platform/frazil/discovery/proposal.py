"""What to write of a topic, by some of its records and by what the registry knows of it.

Names and records are data: they are measured, and become no structure of the YAML. No value is shown.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from frazil.discovery.drafts.candidates import candidates
from frazil.discovery.drafts.changes import Changes, changes_of
from frazil.discovery.drafts.connect_schema import is_embedded, payload_schema
from frazil.discovery.drafts.draft import Draft, draft_of, unfit_names
from frazil.discovery.drafts.listed import FieldList, field_list
from frazil.discovery.halves import Proposal
from frazil.discovery.looks import is_framed, is_text, json_object
from frazil.discovery.sample import Sample
from frazil.spec.names import legal

_NONE: Mapping[str, str] = {}
_FILE = 128 * 2**20
"""A partition of a table should fill a file of this size: Frazil's own target."""

_MOSTLY = 0.9
"""Share of values that are JSON objects, of a topic that holds these, and some mistakes."""

_NAMED = 10
"""Fields without a type that are named one by one."""

_SHOWN = 6
_SERIALIZERS = {4: "IntegerSerializer or FloatSerializer", 8: "LongSerializer or DoubleSerializer"}
_BINARY = (
    "Values are neither text nor begin with a schema id. If they are Avro or Protobuf, give the "
    "schema's file: `frazil discover {topic} --schema FILE`."
)
CHANGES = "Values are Debezium's changes: with `mode: cdc` the table has the rows that the database has."


@dataclass(slots=True)
class _HalfProposal:
    """What a half of the records asks of the spec."""

    fields: dict[str, Any]
    files: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)


def propose(
    topic: str, sample: Sample, daily: int | None, kinds: Mapping[str, str],
    named: Mapping[str, str] = _NONE, listed: bool = False,
) -> tuple[Proposal | None, list[str]]:  # fmt: skip
    """What to write of a topic, and why; None where a person has to decide.

    Args:
        daily: Bytes that a day brings; None where nothing tells.
        kinds: Formats of the subjects that the topic has, of `key` and `value`.
        named: Subjects that are not named after the topic, by what the spec calls them.
        listed: Whether JSON without a schema gets a list of its fields, and no schema file.
    """
    notes: list[str] = []
    if "value" not in kinds and (changes := _changes(topic, sample)):
        notes.append(CHANGES)
        return _of_changes(topic, changes, sample, notes), notes
    value = _value(topic, sample, kinds.get("value"), listed, notes)
    if value is None:
        return None, notes
    key = key_fields(sample, kinds, value.fields, notes)
    nulls = {"on_null_value": "keep"} if None in sample.values else {}
    table = {"topic": topic, **named, **key, **value.fields, **nulls, **layout(daily, notes)}
    return Proposal(table, value.files, value.reasons), notes


def key_fields(
    sample: Sample, kinds: Mapping[str, str], value: Mapping[str, Any], notes: list[str]
) -> dict[str, Any]:
    """What the spec has to say of the keys; `value` is what it says of the values."""
    there = [key for key in sample.keys if key is not None]
    framed = value.get("framing") != "none"
    if "key" in kinds:
        if not there or all(map(is_framed, there)) == framed:
            return {}
        if "value_format" in value:
            return {"framing": "none"}
        notes.append(f"Keys are {kinds['key']}, as the registry says, but framed otherwise than the values.")
    if not there:
        return {"key_format": "none"} if sample.values else {}
    if all(map(is_text, there)):
        return {"key_format": "string"}
    sizes = {len(key) for key in there}
    if len(sizes) == 1 and (serializer := _SERIALIZERS.get(size := sizes.pop())):
        notes.append(f"Keys are {size} bytes, as {serializer} writes numbers: they land as bytes.")
    return {"key_format": "bytes"}


def layout(daily: int | None, notes: list[str]) -> dict[str, list[str]]:
    """Partitions of time that fill a file each."""
    if daily is None:
        notes.append("Its records span less than an hour: nothing tells how much a day brings.")
        return {}
    unit = "hour" if daily / 24 >= _FILE else "day" if daily >= _FILE else ""
    return {"partition_by": [f"{unit}($$timestamp)"]} if unit else {}


def _value(
    topic: str, sample: Sample, kind: str | None, listed: bool, notes: list[str]
) -> _HalfProposal | None:
    """What the spec has to say of the values; None where a person has to decide."""
    there = [value for value in sample.values if value is not None]
    framed = [value for value in there if is_framed(value)]
    if kind:
        notes.append(f"Values are {kind}, as the registry says.")
        if sample.names_schemas("value"):
            notes.append("Headers of records name their schemas.")
            return _HalfProposal({})
        return _HalfProposal({} if framed or not there else {"framing": "none"})
    if not there:
        notes.append("It has no subject in the registry, and no value to look at.")
        return None
    if len(framed) == len(there):
        notes.append(
            "Values name a schema id, but the topic has no subject, and the registry names none for the id: "
            "see value_subject, and FRAZIL_REGISTRY__URL."
        )
        return None
    objects = {n: document for n, v in enumerate(sample.values) if (document := json_object(v)) is not None}
    if len(objects) >= _MOSTLY * len(there):
        return _json(topic, sample, objects, listed, notes)
    text = all(map(is_text, there))
    if not text:
        notes.append(_BINARY.format(topic=topic))
    return _HalfProposal({"value_format": "string" if text else "bytes"})


def _json(
    topic: str, sample: Sample, objects: Mapping[int, Mapping[str, Any]], listed: bool, notes: list[str]
) -> _HalfProposal:
    if all(map(is_embedded, objects.values())) and (payload := payload_schema(list(objects.values())[-1])):
        notes.append("Values are JSON with Connect's schemas: the newest one says the types.")
        return _schema_file(topic, {"type": "object", "properties": {"payload": payload}})
    numbers = list(objects)
    draft = draft_of(list(objects.values()))
    if draft is None:
        why = unfit_names(dict.fromkeys(n for o in objects.values() for n in o)) or "they have no fields"
        notes.append(f"Values are JSON, and land as text, for they can't be columns: {why}.")
        return _HalfProposal({"value_format": "string"})
    if listed:
        return _listed(field_list(draft, objects, sample), len(objects), notes)
    notes.append(
        f"Values are JSON without a schema: {_file(topic)} is drafted from {len(objects)} records. "
        "All fields are optional there."
    )
    notes += [*_remarks(draft, numbers, sample), *candidates(objects, sample, draft.times, draft.texts)]
    return _schema_file(topic, draft.schema, draft.texts)


def _listed(listed: FieldList, count: int, notes: list[str]) -> _HalfProposal:
    notes.append(
        f"Values are JSON without a schema: {len(listed.fields)} fields are listed, by {count} records. "
        "All are optional there; the list says what each rests on."
    )
    return _HalfProposal({"value_format": "json", "fields": listed.fields}, reasons=listed.reasons)


def _remarks(draft: Draft, numbers: Sequence[int], sample: Sample) -> Iterator[str]:
    """What the draft rests on, and what it is not sure of."""
    gaps = {path: (count, sample.place(numbers[first])) for path, (count, first) in draft.gaps.items()}
    if gaps:
        parts = [f"{path} ({count} times, first at {place})" for path, (count, place) in gaps.items()]
        yield f"Missing or null in some records: {_some(parts)}."
    if draft.moments:
        yield f"Times: {_some([f'{path} is {meaning}' for path, meaning in draft.moments.items()])}."
    if draft.texts:
        parts = [f"{path} ({why})" for path, why in draft.texts.items()]
        yield f"Not sure of {_some(parts)}: JSON text, until you write a type."


def _some(parts: Sequence[str]) -> str:
    rest = f", and {len(parts) - _SHOWN} more" if len(parts) > _SHOWN else ""
    return "; ".join(parts[:_SHOWN]) + rest


def _schema_file(topic: str, schema: Mapping[str, Any], texts: Mapping[str, str] = _NONE) -> _HalfProposal:
    fields: dict[str, Any] = {"value_schema": _file(topic), "framing": "none"}
    return _HalfProposal(fields | _unmappable(texts), {_file(topic): _text(schema)})


def _unmappable(texts: Mapping[str, str]) -> dict[str, Any]:
    if not texts:
        return {}
    return {"unmappable": "text" if len(texts) > _NAMED else dict.fromkeys(texts, "text")}


def _file(topic: str, half: str = "") -> str:
    return f"{legal(topic)[:100]}{half}.json"


def _text(schema: Mapping[str, Any]) -> str:
    return json.dumps(schema, indent=2) + "\n"


def _changes(topic: str, sample: Sample) -> Changes | None:
    keys = [json_object(key) for key in sample.keys]
    values = [json_object(value) for value in sample.values]
    if any(v is None and raw is not None for v, raw in zip(values, sample.values, strict=True)):
        return None
    return changes_of(keys, values)


def _of_changes(topic: str, changes: Changes, sample: Sample, notes: list[str]) -> Proposal:
    value, key = _file(topic), _file(topic, ".key")
    if changes.draft:
        notes.append(
            f"No record says the types: {value} and {key} are drafted. Debezium's numbers for dates and "
            "times stay numbers, unless you write a title there (docs/cdc.md)."
        )
        notes += _remarks(Draft(texts=changes.draft.texts), [], sample)
    texts = changes.draft.texts if changes.draft else _NONE
    table = {
        "topic": topic, "mode": "cdc", "key_schema": key, "value_schema": value, "framing": "none",
        **_unmappable(texts),
    }  # fmt: skip
    return Proposal(table, {key: _text(changes.key), value: _text(changes.value)})
