"""The decoder that a landing uses: it masks fields, leaves records out, and asks the spec's checks."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.formats.checks.batch import ArrowChecks, Asked, names_in
from frazil.formats.checks.binding import bound_checks, bound_where, table_fields_of
from frazil.formats.columns.columns import kafka_metadata_columns
from frazil.formats.logical import Field, Struct
from frazil.formats.masks.where import ArrowWhere
from frazil.formats.record import RecordDecoder, decoder_for
from frazil.spec.topic import TableSpec
from frazil.tables.migrations import with_remembered

if TYPE_CHECKING:
    from pyiceberg.table import Table


def landing_decoder(spec: TableSpec, connections: Connections) -> RecordDecoder:
    """What decodes a topic's records for its table.

    Raises:
        SpecError: `where`, or a check, is none over the fields of the records.
        ConfigureError: The profile lacks a key of a mask.
        FrazilError: See `decoder_for`.
    """
    decoder = decoder_for(spec, connections.registry, connections.settings.named_keys)
    now = time.time_ns() // 1000
    where = _where(spec, *decoder.unmasked, now) if spec.where else None
    return replace(decoder, where=where, checks=_checks(spec, decoder, now) if spec.checks else None)


def decoder_and_table(
    spec: TableSpec, connections: Connections, ensure: Callable[[RecordDecoder], Table]
) -> tuple[RecordDecoder, Table]:
    """The table, and the decoder, which knows the renames too that only the table remembers.

    Args:
        spec: What is landed.
        connections: To registry and keys.
        ensure: Makes the table, or evolves it, by the columns of a decoder.

    Raises:
        FrazilError: See `landing_decoder`; and what `ensure` raises.
    """
    decoder = landing_decoder(spec, connections)
    table = ensure(decoder)
    every = with_remembered(spec, table.metadata)
    return (decoder if every is spec else landing_decoder(every, connections)), table


def _where(spec: TableSpec, key: Struct, value: Struct, now: int) -> ArrowWhere:
    fields = _fields(key, value)
    condition = bound_where(spec.where, fields, spec.topic)
    names = sorted({path[0] for path in condition.columns})
    return ArrowWhere(condition, tuple((name, value.get(name) is None) for name in names), now)


def _checks(spec: TableSpec, decoder: RecordDecoder, now: int) -> ArrowChecks:
    (_, key), (_, value) = decoder.halves
    table = {f.name: f for f in decoder.columns.fields}
    kinds = kafka_metadata_columns(spec)
    known = (*table_fields_of(_fields(key, value), table), *kinds.values())
    bound = bound_checks(spec.checks, known, spec.topic)
    asked = tuple(Asked(check.name, expression, check.on_failure) for check, expression in bound)
    shown = tuple(decoder.row_key.columns) or tuple(f.name for f in key if f.name in table)
    names = names_in(asked)
    metadata = {word: own.name for word, own in kinds.items() if own.name in names and own.name not in table}
    return ArrowChecks(asked, now, shown, metadata)


def _fields(key: Struct, value: Struct) -> tuple[Field, ...]:
    """The fields of a record; one that both halves have is the value's."""
    return (*(f for f in key if not value.get(f.name)), *value)
