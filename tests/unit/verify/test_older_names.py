"""The verifier expects of older versions what the page on evolution says, in each format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given

from frazil_verify.log.registry import Schemas
from frazil_verify.request import Half
from frazil_verify.table.renamed import bring_up_to_date, tree_of
from frazil_verify.values.half import HalfReader
from kit.drawn.examples import examples
from kit.renamed.cases import CASES, History, histories
from kit.renamed.formats import FORMATS, NamedFormat, Version


def answers(form: NamedFormat, versions: Sequence[Version]) -> dict[str, Any]:
    """What a registry says of a subject whose ids are the numbers of its versions."""
    at, known = "subjects/s/versions", [*enumerate((form.schema(each) for each in versions), 1)]
    every: dict[str, Any] = {f"{at}?deleted=true": [number for number, _ in known]}
    for number, text in known:
        schema = {"id": number, "schema": text, "schemaType": form.kind}
        every |= {
            f"{at}/{number}?deleted=true": schema,
            f"schemas/ids/{number}": schema,
            f"{at}/latest": schema,
        }
    return every


def wanted(version: Version, ids: Any) -> dict[str, Any]:
    """The columns of a version, as Iceberg has them."""
    fields = []
    for word, inner in version.items():
        kind: Any = "string" if inner is None else wanted(inner, ids)
        if word.endswith("[]"):
            kind = {"type": "list", "element-id": next(ids), "element": kind}
        elif word.endswith("{}"):
            kind = {"type": "map", "key": "string", "value": kind}
        fields.append({"id": next(ids), "name": word.rstrip("[]{}"), "type": kind, "required": False})
    return {"type": "struct", "fields": fields}


def named(kind: Any, value: Any) -> Any:
    """A value by the names of its fields: those that are there."""
    if value is None or not isinstance(kind, dict):
        return value
    if kind["type"] == "list":
        return [named(kind["element"], each) for each in value]
    if kind["type"] == "map":
        return {name: named(kind["value"], each) for name, each in value}
    pairs = zip(kind["fields"], value, strict=True)
    return {field["name"]: named(field["type"], each) for field, each in pairs}


@pytest.mark.parametrize("form", FORMATS, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_fields_are_known_by_the_names_that_they_have_today(form: NamedFormat, name: str) -> None:
    case = CASES[name]
    versions = [version for version, _ in case.given]
    columns = wanted(versions[-1], iter(range(1, 100)))
    schemas = Schemas(answers(form, versions).get)
    reader = HalfReader(Half(format="registry", subject="s"), schemas, columns, renames=case.renames)

    rows = [reader(form.record(version, n, value)) for n, (version, value) in enumerate(case.given, 1)]

    assert [
        {n: v for n, v in named(columns, row).items() if v not in (None, [], {})} for row in rows
    ] == case.rows


@given(histories())
@examples(300)
def test_they_keep_their_columns_whatever_names_are_used_again(history: History) -> None:
    trees = [tree_of(each, lambda node: node, 1) for each in history.versions]
    newest = history.versions[-1]

    bring_up_to_date(trees, history.renames)

    called = [
        {field.first: name if name in newest else None for name, field in each.items()} for each in trees
    ]
    assert called == history.expected()
