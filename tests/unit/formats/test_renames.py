"""Records that Avro wrote under a field's former names land in its column, whatever was renamed since."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest

from frazil.formats.halves import schemas_of
from frazil.formats.protocol import VALUE, WriterSchema
from frazil.spec.topic import TableSpec
from kit.formats.avro_columns import payload


def record(*fields: tuple[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": "R", "fields": [{"name": n, "type": t} for n, t in fields]}


def place(name: str) -> dict[str, Any]:
    return {"type": "record", "name": "Place", "fields": [{"name": name, "type": "string"}]}


def landed(versions: list[Any], renames: list[tuple[str, str]], *values: Mapping[str, Any]) -> list[Any]:
    """The rows of one record of each version, oldest first, by the columns of the newest."""
    approved = [{"id": str(n), "rename": {"from": was, "to": now}} for n, (was, now) in enumerate(renames)]
    spec = TableSpec.model_validate({"topic": "t", "migrations": approved})
    writers = [WriterSchema(n, n, json.dumps(v), "AVRO") for n, v in enumerate(versions, 1)]
    recipe = schemas_of(spec, VALUE, writers).decoder().arrow()
    raw = [payload(v, value, n) for n, (v, value) in enumerate(zip(versions, values, strict=True), 1)]
    batch = recipe.decode(pa.array(raw, pa.binary()))
    assert batch.ok.to_pylist() == [True] * len(raw)
    return batch.data.to_pylist()


def test_a_field_that_was_renamed_twice_has_the_values_of_both_former_names() -> None:
    versions = [record((name, "long")) for name in ("qty", "amount", "quantity")]

    rows = landed(
        versions, [("qty", "amount"), ("amount", "quantity")], {"qty": 1}, {"amount": 2}, {"quantity": 3}
    )

    assert rows == [{"quantity": 1}, {"quantity": 2}, {"quantity": 3}]


@pytest.mark.parametrize(
    "renames",
    [
        [("address", "place"), ("place.zip", "code")],
        [("address.zip", "code"), ("address", "place")],
    ],
)
def test_a_field_within_one_that_was_renamed_too_has_its_values(renames: list[tuple[str, str]]) -> None:
    versions = [record(("address", place("zip"))), record(("place", place("code")))]

    rows = landed(versions, renames, {"address": {"zip": "110"}}, {"place": {"code": "120"}})

    assert rows == [{"place": {"code": "110"}}, {"place": {"code": "120"}}]
