"""What topics hold, told from metadata and a few records, and the lines of YAML that would land them.

Nothing is landed or changed. Names and records are data: they are measured, and never become structure of
the YAML.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ValidationError

from frazil.connections import Connections
from frazil.deadline import call_all
from frazil.errors import FrazilError, MissingError, SchemaRefusedError, explain
from frazil.formats.record import topic_columns
from frazil.formats.registry.subjects import owners, subject_versions
from frazil.kafka.facts import TopicFacts, all_topics, topic_facts
from frazil.kafka.probe import ONE_RECORD, open_probe
from frazil.settings.profile import Settings
from frazil.spec.names import TableName, subject_name, things
from frazil.spec.topic import TableSpec

if TYPE_CHECKING:
    from confluent_kafka import Message
    from confluent_kafka.admin import AdminClient

_NONE: Mapping[str, str] = {}
_AT_ONCE = 8
_PARTITIONS = 8
"""How many partitions of a topic are looked into; three records of each."""

_SECONDS = 20.0  # for the records of one topic
_DAY = 86_400_000  # milliseconds
_HOUR = _DAY / 24
_FILE = 128 * 2**20
"""A partition of a table should fill a file of this size: Frazil's own target."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Some records of a topic: the first, the middle and the last of some partitions."""

    keys: tuple[bytes | None, ...] = ()
    values: tuple[bytes | None, ...] = ()
    times: tuple[int, ...] = ()  # milliseconds

    @property
    def bytes(self) -> float:
        """Mean size of a record, key and value."""
        sizes = [len(part or b"") for part in (*self.keys, *self.values)]
        return sum(sizes) / max(len(self.values), 1)

    @property
    def days(self) -> float | None:
        """From the oldest record to the newest; None where that is less than an hour."""
        span = max(self.times, default=0) - min(self.times, default=0)
        return span / _DAY if span >= _HOUR else None


@dataclass(frozen=True, slots=True)
class Finding:
    """A topic, and what is proposed for it.

    Args:
        bytes_per_day: As the sample tells; None where it tells nothing.
        proposal: What to write below `tables`; None where a person has to decide.
        notes: What the proposal rests on, and what is in the way of one.
    """

    topic: str
    partitions: int
    records: int
    sampled: int
    record_bytes: int
    bytes_per_day: int | None
    proposal: dict[str, Any] | None
    notes: tuple[str, ...] = ()


def topic_names(admin: AdminClient) -> list[str]:
    """The topics of a cluster, without those that start with an underscore: they are other programs' own."""
    return [name for name in all_topics(admin) if not name.startswith("_") and _is_legal(name)]


def _is_legal(name: str) -> bool:
    """Whether it is a name that Kafka gives: other servers speak its protocol, too."""
    try:
        return bool(TableSpec(topic=name))
    except ValidationError:
        return False


def discover(topics: Sequence[str], connections: Connections, taken: Iterable[TableName]) -> list[Finding]:
    """Looks at topics that exist; tables of the names in `taken` are not proposed again."""
    facts = topic_facts(connections.admin, topics)
    samples: dict[str, Sample | str] = {}
    names = list(facts)
    for start in range(0, len(names), _AT_ONCE):
        some = names[start : start + _AT_ONCE]
        looks = {name: partial(_look, samples, connections.settings, facts[name]) for name in some}
        for name, error in call_all(looks, _SECONDS).items():
            if error:
                samples[name] = f"Its records could not be read: {explain(error).what}"
    known = set(taken)
    return [_finding(facts[name], samples[name], connections, known) for name in facts]


def _look(samples: dict[str, Sample | str], settings: Settings, facts: TopicFacts) -> None:
    spans = [(p, first, facts.end[p]) for p, first in sorted(facts.first.items()) if first < facts.end[p]]
    found: list[Message] = []
    with open_probe(settings, facts.topic, **ONE_RECORD) as probe:
        for third in range(3):
            places = {p: first + (end - 1 - first) * third // 2 for p, first, end in spans[:_PARTITIONS]}
            found += probe.look(places).values() if places else ()
    samples[facts.topic] = Sample(
        tuple(_bytes(m.key()) for m in found),
        tuple(_bytes(m.value()) for m in found),
        tuple(m.timestamp()[1] for m in found),
    )


def _bytes(part: str | bytes | None) -> bytes | None:
    return part.encode() if isinstance(part, str) else part


def _finding(
    facts: TopicFacts, sample: Sample | str, connections: Connections, taken: set[TableName]
) -> Finding:
    seen = Sample() if isinstance(sample, str) else sample
    records = sum(facts.end[p] - first for p, first in facts.first.items())
    daily = None if seen.days is None else int(records * seen.bytes / seen.days)
    proposal, notes = None, [sample] if isinstance(sample, str) else []
    if not notes:
        named = _named(facts.topic, seen, connections)
        spec = TableSpec.model_validate({"topic": facts.topic, **named})
        proposal, notes = propose(facts.topic, seen, daily, _kinds(spec, connections), named)
        notes += [f"{half}: {subject}, as the records' schema id says." for half, subject in named.items()]
        if proposal:
            proposal |= _texts(TableSpec.model_validate(proposal), connections, notes)
        notes += _changes(spec, connections)
    if proposal and (problem := _problem(proposal, connections.settings, taken)):
        proposal, notes = None, [*notes, problem]
    return Finding(
        facts.topic, len(facts.end), records, len(seen.values), int(seen.bytes), daily, proposal, tuple(notes)
    )


def propose(
    topic: str, sample: Sample, daily: int | None, kinds: Mapping[str, str], named: Mapping[str, str] = _NONE
) -> tuple[dict[str, Any] | None, list[str]]:
    """What to write of a topic, and why; None where a person has to decide.

    Args:
        daily: Bytes that a day brings; None where nothing tells.
        kinds: Formats of the subjects that the topic has, of `key` and `value`.
        named: Subjects that are not named after the topic, by what the spec calls them.
    """
    notes: list[str] = []
    value = _value(sample, kinds.get("value"), notes)
    if value is None:
        return None, notes
    nulls = {"on_null_value": "keep"} if None in sample.values else {}
    key = {} if "key" in kinds else _key(sample)
    return {"topic": topic, **named, **key, **value, **nulls, **_layout(daily, notes)}, notes


def _value(sample: Sample, kind: str | None, notes: list[str]) -> dict[str, str] | None:
    """What the spec has to say of the values; None where a person has to decide."""
    there = [value for value in sample.values if value is not None]
    framed = [value for value in there if _is_framed(value)]
    if kind:
        notes.append(f"Values are {kind}, as the registry says.")
        return {} if framed or not there else {"framing": "none"}
    if not there:
        notes.append("It has no subject in the registry, and no value to look at.")
        return None
    if len(framed) == len(there):
        notes.append("Values name a schema id, but the topic has no subject: see value_subject.")
        return None
    if all(map(_is_object, there)):
        notes.append("Values are JSON without a schema: name one as value_schema, and it lands as columns.")
    return {"value_format": "string" if all(map(_is_text, there)) else "bytes"}


def _key(sample: Sample) -> dict[str, str]:
    there = [key for key in sample.keys if key is not None]
    if not there:
        return {"key_format": "none"} if sample.values else {}
    return {"key_format": "string" if all(map(_is_text, there)) else "bytes"}


def _layout(daily: int | None, notes: list[str]) -> dict[str, list[str]]:
    """Partitions of time that fill a file each."""
    if daily is None:
        notes.append("Its records span less than an hour: nothing tells how much a day brings.")
        return {}
    unit = "hour" if daily / 24 >= _FILE else "day" if daily >= _FILE else ""
    return {"partition_by": [f"{unit}($$timestamp)"]} if unit else {}


def _named(topic: str, sample: Sample, connections: Connections) -> dict[str, str]:
    """Subjects of other names that the sampled records are of: MirrorMaker renames topics, and no subject."""
    halves: dict[Literal["key", "value"], Sequence[bytes | None]] = {
        "key": sample.keys,
        "value": sample.values,
    }
    found: dict[str, str] = {}
    for half, parts in halves.items():
        own = subject_name(TableSpec(topic=topic), half)
        ids = {int.from_bytes(part[1:5], "big") for part in parts if part is not None and _is_framed(part)}
        with suppress(FrazilError):
            whose = [set(owners(connections.registry, schema_id)) for schema_id in sorted(ids)]
            subjects = set.intersection(*whose) if whose else set()
            if own not in subjects and len(fits := _alike(subjects, topic, half)) == 1:
                found[f"{half}_subject"] = fits[0]
    return found


def _alike(subjects: set[str], topic: str, half: str) -> list[str]:
    """Those that are named after a topic of which this one may be a copy; else all."""
    copied = [s for s in subjects if s.endswith(f"-{half}") and topic.endswith(s.removesuffix(f"-{half}"))]
    return copied or sorted(subjects)


def _is_framed(part: bytes | None) -> bool:
    return part is not None and len(part) >= 5 and part[0] == 0


def _kinds(spec: TableSpec, connections: Connections) -> dict[str, str]:
    """The formats of the subjects that a topic has, of `key` and `value`."""
    halves: tuple[Literal["key", "value"], ...] = ("key", "value")
    found: dict[str, str] = {}
    for half in halves:
        with suppress(MissingError):
            versions = subject_versions(connections.registry, subject_name(spec, half))
            found[half] = versions[-1].kind
    return found


def _changes(spec: TableSpec, connections: Connections) -> list[str]:
    """A note where the values are changes of a database's rows."""
    with suppress(FrazilError):
        topic_columns(spec.model_copy(update={"mode": "cdc"}), connections.registry)
        return ["Values are Debezium's changes: add mode: cdc, and the table has the rows of the database's."]
    return []


def _texts(spec: TableSpec, connections: Connections, notes: list[str]) -> dict[str, str]:
    """What to write where a field has no column, and lands as text; nothing where all have one."""
    try:
        topic_columns(spec, connections.registry)
    except SchemaRefusedError as refused:
        texts = {"unmappable": "text"}
        with suppress(FrazilError):
            topic_columns(spec.model_copy(update=texts), connections.registry)
            notes.append(f"{refused.where}: {refused.what} Its values land as JSON text.")
            return texts
    except FrazilError:
        pass
    return {}


def _problem(proposal: Mapping[str, Any], settings: Settings, taken: set[TableName]) -> str:
    """Why no table can be made so; empty where it can, and then its name is taken."""
    try:
        name = things(TableSpec.model_validate(proposal), settings).table
    except (ValidationError, FrazilError) as e:
        return f"A table can't be made of it: {e}"
    if name in taken:
        return f"Its table would be {name}, which is there already: name another one as `table`."
    taken.add(name)
    return ""


def _is_text(part: bytes) -> bool:
    try:
        return "\0" not in part.decode()
    except UnicodeDecodeError:
        return False


def _is_object(part: bytes) -> bool:
    try:
        return isinstance(json.loads(part), dict)
    except (ValueError, RecursionError):
        return False
