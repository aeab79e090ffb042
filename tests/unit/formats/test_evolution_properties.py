"""Random pairs of schemas evolve as the rules of docs/evolution.md say."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.table import Table

from frazil.formats.columns.columns import RecordColumns, table_fields
from frazil.formats.evolution import verdicts
from frazil.formats.logical import Struct
from frazil.formats.types import from_iceberg, to_iceberg
from frazil.landing.schema.evolve import plan_evolution
from frazil.spec.topic import TableSpec
from kit.drawn.examples import examples
from kit.drawn.schema_pairs import Expected, Pair, schema_pairs

SPEC = TableSpec(topic="t", namespace="n")

many = examples(100)
# The catalog is shared by all examples; each has a table of its own in it.
some = examples(60, allowed=[HealthCheck.function_scoped_fixture])


def outcomes(have: Struct, wanted: Struct) -> list[Expected]:
    return sorted((v.field, v.change, v.outcome) for v in verdicts(have, wanted, own=()))


@many
@given(schema_pairs())
def test_every_change_has_its_verdict_at_any_depth(pair: Pair) -> None:
    assert outcomes(pair.have, pair.wanted) == sorted(pair.expected)


@many
@given(schema_pairs())
def test_every_refusal_says_where_why_and_what_to_do(pair: Pair) -> None:
    for verdict in verdicts(pair.have, pair.wanted, own=()):
        assert verdict.rule
        assert verdict.allowed or (verdict.todo and verdict.field in verdict.todo)


@many
@given(schema_pairs())
def test_a_schema_asks_nothing_of_its_own_table(pair: Pair) -> None:
    assert outcomes(pair.have, pair.have) == outcomes(pair.wanted, pair.wanted) == []


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[InMemoryCatalog]:
    catalog = InMemoryCatalog("test", warehouse=tmp_path.as_uri())
    catalog.create_namespace("n")
    yield catalog
    catalog.close()


def table(catalog: InMemoryCatalog, columns: Struct) -> Table:
    fields = table_fields(SPEC, RecordColumns(Struct(()), columns))
    return catalog.create_table(("n", uuid.uuid4().hex), to_iceberg(fields))


def columns(pair: Pair) -> RecordColumns:
    return RecordColumns(Struct(()), pair.wanted)


@some
@given(schema_pairs(allowed_only=True))
def test_allowed_changes_are_applied_once_and_columns_keep_their_ids(
    catalog: InMemoryCatalog, pair: Pair
) -> None:
    made = table(catalog, pair.have)
    before = {f.name: f.field_id for f in made.schema().fields}

    planned = plan_evolution(SPEC, made, columns(pair))
    if planned.staged:
        planned.staged.commit_transaction()

    evolved = catalog.load_table(made.name())
    assert (planned.staged is None) == all(outcome == "no change" for _, _, outcome in pair.expected)
    assert evolved.schema().as_struct() == planned.schema.as_struct()
    assert {n: i for n, i in ((f.name, f.field_id) for f in evolved.schema().fields) if n in before} == before
    again = plan_evolution(SPEC, evolved, columns(pair))
    assert again.staged is None
    assert {v.outcome for v in again.verdicts} <= {"no change"}


@some
@given(schema_pairs().filter(lambda pair: pair.is_refused))
def test_one_refused_change_leaves_the_table_as_it_was(catalog: InMemoryCatalog, pair: Pair) -> None:
    made = table(catalog, pair.have)

    planned = plan_evolution(SPEC, made, columns(pair))

    assert planned.staged is None
    assert from_iceberg(planned.schema) == from_iceberg(made.schema())
