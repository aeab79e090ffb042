"""When two Avro schemas describe the same records, and what is said when they do not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from frazil.schemas.differences import avro_differences as differences

PLAIN: dict[str, Any] = {
    "type": "record",
    "name": "n.A",
    "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": ["null", "string"], "default": None}],
}


def changed(**fields: Any) -> dict[str, Any]:
    return {**PLAIN, "fields": [{**f, **fields.get(f["name"], {})} for f in PLAIN["fields"]]}


@pytest.mark.parametrize(
    "other",
    [
        PLAIN,
        {**PLAIN, "doc": "Words.", "connect.name": "n.A"},
        {**PLAIN, "name": "A", "namespace": "n"},
        changed(a={"type": {"type": "int", "arg.properties": {}}, "doc": "More words."}),
    ],
)
def test_texts_and_notes_make_no_difference(other: dict[str, Any]) -> None:
    assert differences(json.dumps(PLAIN), json.dumps(other)) == []


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (changed(a={"type": "long"}), 'a: "int" in the registry, "long" wanted'),
        (changed(b={"default": "x"}), 'b default (field): null in the registry, "x" wanted'),
        ({**PLAIN, "name": "B"}, '(root): "record n.A" in the registry, "record B" wanted'),
        ({**PLAIN, "fields": PLAIN["fields"][:1]}, 'b: ["null", "string"] in the registry, not wanted'),
        (
            changed(a={"type": {"type": "int", "logicalType": "date"}}),
            'a logicalType: not in the registry, "date" wanted',
        ),
        (
            {**PLAIN, "fields": PLAIN["fields"][::-1]},
            "a (position): 0 in the registry, 1 wanted",
        ),
    ],
)
def test_a_difference_is_named_with_its_path(other: dict[str, Any], said: str) -> None:
    assert said in differences(json.dumps(PLAIN), json.dumps(other))
