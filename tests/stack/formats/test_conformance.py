"""Each row of the mapping tables: made by an independent serializer, landed, read by PyIceberg and DuckDB."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import NestedField

from frazil.connections import Connections
from kit.formats.conformance import NULLS, RECORDS, Case, Format
from kit.formats.formats import FORMATS, Source, make_source, same

CASES = [pytest.param(form, case, id=f"{form.name}-{case.name}") for form in FORMATS for case in form.cases]


@dataclass(frozen=True, slots=True)
class Landed:
    """The table of a format's wide record, as two engines read it."""

    schema: Schema
    rows: list[dict[str, Any]]
    by_duckdb: list[dict[str, Any]]

    def column(self, name: str) -> NestedField:
        return next(f for f in self.schema.fields if f.name == name)


Land = Callable[[Format], Landed]


@pytest.fixture(scope="session")
def landed(lake: Connections) -> Land:
    """Lands the wide record of a format, once per catalog."""
    known: dict[str, Landed] = {}

    def once(form: Format) -> Landed:
        if form.name not in known:
            source = make_source(
                lake, f"{form.name}_{uuid.uuid4().hex[:8]}", key_format="none", on_null_value="skip"
            )
            form.produce(lake, source.spec.topic)
            known[form.name] = _landed(source)
        return known[form.name]

    return once


def _landed(source: Source) -> Landed:
    report = source.land()
    assert (report.records, report.skipped) == (RECORDS, NULLS)
    schema = source.connections.catalog.load_table(source.name).schema()
    return Landed(schema, source.rows(), source.rows_by_duckdb())


def without_ids(kind: object) -> str:
    """A type as PyIceberg prints it; the ids of nested fields depend on their neighbours."""
    return re.sub(r"\b\d+: ", "", str(kind))


@pytest.mark.parametrize(("form", "case"), CASES)
def test_a_field_lands_with_its_type_and_its_value(landed: Land, form: Format, case: Case) -> None:
    table = landed(form)
    column = table.column(case.name)

    assert without_ids(column.field_type) == without_ids(case.type)
    assert column.required is not case.optional
    for rows in (table.rows, table.by_duckdb):
        assert same([row[case.name] for row in rows], list(case.read))


def test_every_format_has_its_cases() -> None:
    assert all(len(form.cases) >= 50 for form in FORMATS)
