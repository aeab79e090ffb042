"""What topics hold, and the tables that would land them. Nothing is landed or changed.

What is proposed was tried: the decoders of a landing read a sample of the records.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from confluent_kafka.admin import ConfigResource, ResourceType
from pydantic import ValidationError

from frazil.connections import Connections
from frazil.deadline import call_all
from frazil.discovery.halves import Proposal
from frazil.discovery.proposal import key_fields, layout, propose
from frazil.discovery.refine import refined, with_framing
from frazil.discovery.sample import Sample, take_sample
from frazil.discovery.subjects import named_subjects, record_types, subject_kinds
from frazil.errors import FrazilError, explain
from frazil.formats.registry.wanted import WantedSchema
from frazil.kafka.facts import TopicFacts, all_topics, topic_facts
from frazil.settings.profile import Settings
from frazil.spec.names import TableName, things
from frazil.spec.topic import TableSpec

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

_AT_ONCE = 8
_SECONDS = 20.0  # for the records of one topic


@dataclass(frozen=True, slots=True)
class Finding:
    """A topic, and what is proposed for it.

    Args:
        bytes_per_day: As the sample tells; None where it tells nothing.
        proposals: The tables that would land it; none where a person has to decide.
        notes: What the proposals rest on, what they are not sure of, and what is in the way of one.
    """

    topic: str
    partitions: int
    records: int
    sampled: int
    record_bytes: int
    bytes_per_day: int | None
    proposals: tuple[Proposal, ...]
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


def discover(
    topics: Sequence[str],
    connections: Connections,
    taken: Iterable[TableName],
    schema: WantedSchema | None = None,
    listed: bool = False,
) -> list[Finding]:
    """Looks at topics that exist; tables of the names in `taken` are not proposed again.

    Args:
        schema: That of their values, where somebody gives one: its `source` is the file's name.
        listed: Whether JSON without a schema gets a list of its fields, and no schema file.
    """
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
    return [_finding(facts[name], samples[name], connections, known, schema, listed) for name in facts]


def _look(samples: dict[str, Sample | str], settings: Settings, facts: TopicFacts) -> None:
    samples[facts.topic] = take_sample(settings, facts)


def _finding(
    facts: TopicFacts,
    sample: Sample | str,
    connections: Connections,
    taken: set[TableName],
    schema: WantedSchema | None,
    listed: bool,
) -> Finding:
    seen = Sample() if isinstance(sample, str) else sample
    records = sum(facts.end[p] - first for p, first in facts.first.items())
    daily = None if seen.days is None else int(records * seen.bytes / seen.days)
    notes: list[str] = []
    if isinstance(sample, str):
        proposals, notes = [], [sample]
    else:
        proposed = _proposals(facts.topic, seen, daily, connections, schema, listed, notes)
        fine = [r for p in proposed if (r := refined(p, seen, connections.registry, notes))]
        proposals = [p for p in fine if not _problem(p, connections.settings, taken, notes)]
        notes += _of_compacted(facts.topic, proposals, connections.admin)
    return Finding(
        facts.topic, len(facts.end), records, len(seen.values), int(seen.bytes), daily, tuple(proposals),
        tuple(dict.fromkeys(notes)),
    )  # fmt: skip


def _proposals(
    topic: str, sample: Sample, daily: int | None, connections: Connections, schema: WantedSchema | None,
    listed: bool, notes: list[str],
) -> list[Proposal]:  # fmt: skip
    """Before they are tried; several where each type of record has a subject of its own."""
    registry = connections.registry
    if types := record_types(topic, sample, registry):
        notes.append(f"Records are of {len(types)} types, each with a subject of its own: a table each.")
        kinds = subject_kinds(TableSpec(topic=topic), registry)
        more = key_fields(sample, kinds, {}, notes) | layout(daily, notes)
        nulls = {"on_null_value": "skip"} if None in sample.values else {}
        return [Proposal({"topic": topic, **own, **more, **nulls}) for own in types]
    named = named_subjects(topic, sample, registry)
    kinds = subject_kinds(TableSpec.model_validate({"topic": topic, **named}), registry)
    if schema and "value" not in kinds:
        return [_given(topic, sample, daily, schema, connections, kinds, notes)]
    proposal, remarks = propose(topic, sample, daily, kinds, named, listed)
    notes += [*remarks, *(f"{half}: {name}, as the records' schema id says." for half, name in named.items())]
    return [proposal] if proposal else []


def _given(
    topic: str, sample: Sample, daily: int | None, schema: WantedSchema, connections: Connections,
    kinds: Mapping[str, str], notes: list[str],
) -> Proposal:  # fmt: skip
    """By the schema that somebody gave: the registry knows none."""
    notes.append(f"Values are {schema.kind}, as {schema.source} says; it has no subject yet.")
    fields: dict[str, Any] = {"value_schema": schema.source, "framing": "none"}
    table = {"topic": topic, **key_fields(sample, kinds, fields, notes), **fields, **layout(daily, notes)}
    nulls = {"on_null_value": "keep"} if None in sample.values else {}
    return with_framing(Proposal(table | nulls, {schema.source: schema.text}), sample, connections.registry)


def _problem(proposal: Proposal, settings: Settings, taken: set[TableName], notes: list[str]) -> bool:
    """Whether no table can be made so, which is noted; where one can, its name is taken."""
    try:
        name = things(proposal.spec, settings).table
    except (ValidationError, FrazilError) as e:
        notes.append(f"A table can't be made of it: {e}")
        return True
    if name in taken:
        notes.append(f"Its table would be {name}, which is there already: name another one as `table`.")
        return True
    taken.add(name)
    return False


def _of_compacted(topic: str, proposals: Sequence[Proposal], admin: AdminClient) -> list[str]:
    """A note where the topic keeps the newest record of each key only."""
    if not proposals or any(p.spec.mode != "append" or p.spec.key_format == "none" for p in proposals):
        return []
    with suppress(Exception):  # a right that few have, for a hint
        asked = admin.describe_configs([ConfigResource(ResourceType.TOPIC, topic)], request_timeout=5.0)
        for future in asked.values():
            if "compact" in str(future.result()["cleanup.policy"].value):
                return [
                    "The topic is compacted: `mode: upsert` gives a row per key, which a null value ends."
                ]
    return []
