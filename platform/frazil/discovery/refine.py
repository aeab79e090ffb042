"""What a proposal needs besides: the message of a Protobuf schema, text for what has no column, dead letters.

Each step returns its proposal, changed where the decoders say so; what it found is added to the notes.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from pydantic import ValidationError

from frazil.discovery.halves import Proposal, Trial, columns_of, tried
from frazil.discovery.messages import first_message, likely_messages, named_messages
from frazil.discovery.proposal import CHANGES
from frazil.discovery.sample import Sample
from frazil.errors import FrazilError, SchemaRefusedError
from frazil.formats.protocol import WriterSchema
from frazil.formats.registry.subjects import subject_versions
from frazil.formats.row_key import row_key
from frazil.spec.names import subject_name
from frazil.spec.topic import SCHEMA_KINDS

if TYPE_CHECKING:
    from frazil.formats.registry.client import RegistryClient

_PROTOBUF = "PROTOBUF"
_SHOWN = 5


def refined(
    proposal: Proposal, sample: Sample, registry: RegistryClient, notes: list[str]
) -> Proposal | None:
    """The proposal as its sample lands; None where no record of it would."""
    proposal = _with_message(proposal, sample, registry, notes)
    proposal = _with_texts(proposal, registry, notes)
    proposal = _as_changes(proposal, sample, registry, notes)
    try:
        trial = tried(proposal, sample, registry)
    except FrazilError as e:
        notes.append(f"It can't land so: {e.what} {e.where}")
        return proposal
    return _with_dead_letters(proposal, sample, trial, notes)


def with_framing(proposal: Proposal, sample: Sample, registry: RegistryClient) -> Proposal:
    """With or without the header before each value, by which of both more records are good."""
    good: dict[str, int] = {}
    for framing in ("none", "confluent"):
        with suppress(FrazilError):
            each = _with_message(proposal.with_changes(framing=framing), sample, registry, [])
            good[framing] = tried(each, sample, registry).good
    best = max(good, key=lambda framing: good[framing], default="none")
    return proposal.with_changes(framing=None if best == "confluent" else best)


def _with_message(proposal: Proposal, sample: Sample, registry: RegistryClient, notes: list[str]) -> Proposal:
    spec = proposal.spec
    if spec.record_type or spec.value_format not in ("auto", "protobuf"):
        return proposal
    writers, subject = _writers(proposal, registry), subject_name(spec, "value")
    values = [value for value in sample.values if value is not None]
    if not writers or writers[-1].kind != _PROTOBUF or not values:
        return proposal
    framed = spec.framing == "confluent"
    names = (
        named_messages(writers, subject, values) if framed else likely_messages(writers[-1], subject, values)
    )
    first = first_message(writers[-1], subject)
    if not names or first in names[: 1 if framed else None]:
        return proposal
    return _of_message(proposal, names, framed, notes)


def _of_message(proposal: Proposal, names: Sequence[str], framed: bool, notes: list[str]) -> Proposal:
    name, *others = names
    notes.append(f"Records are {name}, which is not the first message of the schema.")
    if others:
        beginning = "Other records are" if framed else "They may as well be"
        notes.append(f"{beginning} {', '.join(others[:_SHOWN])}.")
    return proposal.with_changes(record_type=name)


def _writers(proposal: Proposal, registry: RegistryClient) -> Sequence[WriterSchema]:
    spec = proposal.spec
    if spec.value_schema and spec.framing == "none":
        text = proposal.files[str(spec.value_schema)]
        return [WriterSchema(0, 0, text, SCHEMA_KINDS[spec.value_schema.suffix])]
    with suppress(FrazilError):
        return subject_versions(registry, subject_name(spec, "value"))
    return []


def _with_texts(proposal: Proposal, registry: RegistryClient, notes: list[str]) -> Proposal:
    """With text where a field has no column; as it is where all have one."""
    try:
        columns_of(proposal, registry)
    except SchemaRefusedError as refused:
        with suppress(FrazilError):
            columns_of(proposal, registry, unmappable="text")
            notes.append(f"{refused.where}: {refused.what} Its values land as JSON text.")
            return proposal.with_changes(unmappable="text")
    except FrazilError:
        pass
    return proposal


def _as_changes(proposal: Proposal, sample: Sample, registry: RegistryClient, notes: list[str]) -> Proposal:
    """With mode: cdc where the values are changes of a database's rows, and keys tell the rows apart."""
    if not any(sample.keys) or proposal.spec.mode == "cdc":
        return proposal
    with suppress(FrazilError, ValidationError):
        changes = proposal.with_changes(mode="cdc", on_null_value=None, partition_by=None)
        row_key(changes.spec, columns_of(changes, registry))
        notes.append(CHANGES)
        return changes
    return proposal


def _with_dead_letters(proposal: Proposal, sample: Sample, trial: Trial, notes: list[str]) -> Proposal | None:
    if not trial.bad:
        return proposal
    number, why = next(iter(trial.bad.items()))
    count = f"{len(trial.bad)} of {len(sample.values)} sampled records can't be decoded"
    notes.append(f"{count}: {sample.place(number)}, {why}.")
    if not any(v is not None for n, v in enumerate(sample.values) if n not in trial.bad):
        return None
    return proposal.with_changes(on_bad_record="dead_letter")
