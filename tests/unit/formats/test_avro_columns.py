"""Avro by columns: the values of the mapping tables, and of damaged records those that fastavro reads."""

from __future__ import annotations

from typing import Any

import pytest

from kit import avro_oracle
from kit.avro_cases import AVRO, HINTS
from kit.avro_columns import AvroColumns, payload
from kit.conformance import Case
from kit.damage import FRAME, damaged
from kit.formats import same

ODD = {"optional_fixed"}
"""Cases that only Spark reads: a fixed of two bytes."""


def _fields(case: Case) -> list[dict[str, Any]]:
    point = [{"name": "point", "type": c.schema} for c in AVRO.cases if c.name == "record"]
    field = {"name": case.name, "type": case.schema, **HINTS.get(case.name, {})}
    return [*point, field] if case.name == "type_used_again" else [field]


@pytest.mark.parametrize("case", AVRO.cases, ids=lambda case: case.name)
def test_a_field_becomes_the_values_of_the_mapping_table(case: Case) -> None:
    schema = {"type": "record", "name": "Wide", "fields": _fields(case)}
    columns = AvroColumns((schema,))
    if case.name in ODD:
        assert columns.decoder().arrow() is None
        return
    point = {"point": {"x": 1, "y": None}} if case.name == "type_used_again" else {}

    rows = columns.rows([payload(schema, {**point, case.name: written}) for written in case.written])

    found = [row and row[case.name] for row in rows]
    assert same(found, list(case.read))


def test_damaged_records_are_bad_or_read_as_fastavro_reads_them() -> None:
    """A few of those that `tests/stack/formats/test_damage.py` lands."""
    columns = AvroColumns((avro_oracle.SCHEMA,))
    records = damaged([avro_oracle.encode(n, 1) for n in range(50)], 4_000, seed=16)
    judged = [avro_oracle.decode(r[FRAME:]) if r[:FRAME] == b"\0\0\0\0\1" else None for r in records]

    found = columns.rows(records)

    read = [(row, want) for row, want in zip(found, judged, strict=True) if row]
    assert len(read) > 500
    assert [pair for pair in read if not same(*pair)] == []
    refused = {
        columns.decoder().explain(r)[0]
        for r, row, want in zip(records, found, judged, strict=True)
        if want and not row
    }
    assert refused <= {"value"}  # of what fastavro takes and Spark refuses, see `test_damage`
