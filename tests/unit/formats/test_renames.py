"""Records that were written under a field's former names land in its column, in each format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given

from frazil.formats.columns.renames import by_todays_names
from frazil.formats.halves import schemas_of
from frazil.formats.logical import Field, Primitive, Struct
from frazil.formats.protocol import VALUE, HalfSchemas, WriterSchema
from frazil.spec.topic import TableSpec
from kit.drawn.examples import examples
from kit.renamed.cases import CASES, Case, History, histories, texts
from kit.renamed.formats import AVRO, FORMATS, JSON, NamedFormat


def subject(
    form: NamedFormat, renames: Sequence[tuple[str, str]], *texts: str, mode: str = "append"
) -> HalfSchemas:
    """The versions of a subject, oldest first; ids count from one."""
    approved = [{"id": str(n), "rename": {"from": was, "to": now}} for n, (was, now) in enumerate(renames)]
    spec = TableSpec.model_validate({"topic": "t", "mode": mode, "migrations": approved})
    writers = [WriterSchema(n, n, text, form.kind) for n, text in enumerate(texts, 1)]
    return schemas_of(spec, VALUE, writers)


def landed(form: NamedFormat, case: Case, mode: str = "append") -> list[Any]:
    """The rows of a case, by the columns of the newest version: those of their values that are there."""
    versions = (form.schema(version) for version, _ in case.given)
    made = subject(form, case.renames, *versions, mode=mode).decoder()
    raw = [form.record(version, n, value) for n, (version, value) in enumerate(case.given, 1)]
    batch = made.arrow().decode(pa.array(raw, pa.binary()))
    assert batch.ok.to_pylist() == [True] * len(raw)
    rows = [_there(row) for row in batch.data.to_pylist(maps_as_pydicts="strict")]
    values = [_there(made.values(each)) for each in raw]
    assert [{n: v for n, v in each.items() if made.columns.get(n)} for each in values] == _bare(rows)
    return rows


def _there(row: Any) -> Any:
    return {name: each for name, each in row.items() if each not in (None, [], {})}


def _bare(value: Any) -> Any:
    """Rows as `formats.bare` has them: maps are pairs."""
    if not isinstance(value, dict):
        return [_bare(each) for each in value] if isinstance(value, list) else value
    return {
        name: [(k, _bare(v)) for k, v in each.items()] if name == "by_key" else _bare(each)
        for name, each in value.items()
    }


@pytest.mark.parametrize("form", FORMATS, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_records_of_each_version_fill_the_columns_that_their_fields_became(
    form: NamedFormat, name: str
) -> None:
    assert landed(form, CASES[name]) == CASES[name].rows


@given(histories())
@examples(300)
def test_a_field_keeps_its_column_whatever_names_are_used_again(history: History) -> None:
    text = Primitive("string")
    versions = [Struct(tuple(Field(name, text) for name in each)) for each in history.versions]
    names = {field.name for field in versions[-1]}

    today = by_todays_names(versions, history.renames)

    assert [
        {was.name: now.name if now.name in names else None for was, now in zip(one, other or (), strict=True)}
        for one, other in zip(versions, today, strict=True)
    ] == history.expected()


@pytest.mark.parametrize("form", FORMATS, ids=str)
def test_a_rename_that_waits_for_its_schema_changes_nothing(form: NamedFormat) -> None:
    waiting = Case([("a", "b")], [texts("a"), texts("a", "c")], [{"a": "a"}, {"a": "a", "c": "c"}])

    assert landed(form, waiting) == waiting.rows


@pytest.mark.parametrize("form", [AVRO, JSON], ids=str)
def test_a_change_of_a_database_has_its_rows_named_anew(form: NamedFormat) -> None:
    given = [({"after": {name: None}, "op": None}, {"after": {name: "x"}, "op": "c"}) for name in "ab"]

    rows = landed(form, Case([("a", "b")], given, []), mode="cdc")

    assert rows == [{"after": {"b": "x"}, "op": "c"}] * 2


def test_a_text_of_a_version_that_has_no_columns_is_read_by_the_names_of_the_next_one() -> None:
    versions = ('{"type": "object"}', *(JSON.schema({name: None}) for name in "ab"))

    made = subject(JSON, [("a", "b")], *versions).decoder()
    batch = made.arrow().decode(pa.array([b'\0\0\0\0\1{"a": "x"}'], pa.binary()))

    assert (batch.ok.to_pylist(), batch.data.to_pylist()) == ([True], [{"b": "x"}])


@pytest.mark.parametrize("form", FORMATS, ids=str)
def test_an_encrypted_field_of_an_older_version_is_looked_for_in_the_column_that_it_became(
    form: NamedFormat,
) -> None:
    versions = [form.schema(each) for each in ({"home": {"zip": None}}, {"place": {"code": None}})]
    schemas = subject(form, [("home", "place"), ("place.zip", "code")], *versions)

    leaves = [schemas.format.leaves(schemas, each) for each in schemas.writers]  # type: ignore[attr-defined]

    assert [[leaf.path for leaf in each] for each in leaves] == [["place.code"]] * 2
