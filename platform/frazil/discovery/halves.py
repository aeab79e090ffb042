"""What is proposed of a topic, and what the decoders of a landing make of its keys and values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from frazil.discovery.sample import Sample
from frazil.exact import flags_of
from frazil.formats.columns.columns import RecordColumns
from frazil.formats.halves import half_schemas, schemas_of
from frazil.formats.protocol import KEY, VALUE, Half, HalfSchemas, WriterSchema
from frazil.formats.record import row_columns
from frazil.formats.wires.known import naming_of
from frazil.formats.wires.naming import Headers
from frazil.spec.topic import SCHEMA_KINDS, TableSpec

if TYPE_CHECKING:
    from frazil.formats.registry.client import RegistryClient


@dataclass(frozen=True, slots=True)
class Proposal:
    """A table to write below `tables`, and the schema files that it names, by name."""

    table: dict[str, Any]
    files: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)  # what listed fields rest on, by name

    @property
    def spec(self) -> TableSpec:
        """The table as a pipeline would have it; raises pydantic's ValidationError where it can't."""
        return TableSpec.model_validate(self.table)

    def with_changes(self, **fields: Any) -> Proposal:
        """The same with some fields; those of None go."""
        table = {**self.table, **fields}
        kept = {name: value for name, value in table.items() if value is not None}
        return Proposal(kept, self.files, self.reasons)


@dataclass(frozen=True, slots=True)
class Trial:
    """What the decoders make of a sample: the bad records by number, each with why; how many are good."""

    bad: Mapping[int, str]
    good: int


def columns_of(proposal: Proposal, registry: RegistryClient, **changes: Any) -> RecordColumns:
    """The columns of the table; raises as a landing does where it has none."""
    spec = TableSpec.model_validate(proposal.with_changes(**changes).table)
    key, value = (_schemas(spec, half, proposal.files, registry) for half in (KEY, VALUE))
    return row_columns(spec, key.columns, value.columns)


def tried(proposal: Proposal, sample: Sample, registry: RegistryClient) -> Trial:
    """Decodes a sample as the table would be landed; raises as a landing does where that can't begin."""
    spec = proposal.spec
    bad: dict[int, str] = {}
    for half, parts in ((KEY, sample.keys), (VALUE, sample.values)):
        reasons = _bad(_schemas(spec, half, proposal.files, registry), parts, sample.headers)
        bad |= {number: f"{half.word}: {why}" for number, why in reasons.items()}
    return Trial(dict(sorted(bad.items())), len(sample.values) - len(bad))


def _schemas(spec: TableSpec, half: Half, files: Mapping[str, str], registry: RegistryClient) -> HalfSchemas:
    """By the file where the payload stands alone: there is no subject yet, and no record names its id."""
    file = spec.key_schema if half == KEY else spec.value_schema
    if file is None or spec.framing == "confluent":
        return half_schemas(spec, half, registry)
    return schemas_of(spec, half, [WriterSchema(0, 0, files[str(file)], SCHEMA_KINDS[file.suffix])])


def _bad(schemas: HalfSchemas, parts: Sequence[bytes | None], headers: Sequence[Headers]) -> dict[int, str]:
    import pyarrow as pa

    decoder, naming, of = schemas.decoder(), naming_of(schemas), headers or [()] * len(parts)
    raw = [p if p is None else naming.prefixed_one(p, h) for p, h in zip(parts, of, strict=True)]
    ok = flags_of(decoder.arrow().decode(pa.array(raw, pa.binary())).ok)
    bad = {n: part for n, part in enumerate(parts) if part is not None and not ok[n]}
    named = {n: naming.reason(part, of[n]) for n, part in bad.items()}
    return {n: (named[n] or decoder.explain(raw[n] or b""))[1] for n in bad}
