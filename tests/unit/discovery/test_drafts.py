"""Schemas that are drafted from JSON without one: all that they were drafted from is read by them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.discovery.drafts.draft import draft_of
from frazil.discovery.halves import tried
from frazil.discovery.proposal import propose
from frazil.discovery.sample import Sample
from kit.drawn.examples import examples

MILLIS = 1_760_000_000_000

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=4)
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.sampled_from(["id", "at", "b", "c d", "ID"]), values, min_size=1, max_size=4)


@examples(60)
@given(st.lists(objects, min_size=1, max_size=5))
def test_each_record_is_read_by_the_schema_that_was_drafted_from_it(records: list[dict[str, Any]]) -> None:
    sample = Sample((None,) * len(records), tuple(json.dumps(record).encode() for record in records))
    proposal, _ = propose("orders", sample, None, {})

    assert proposal
    assert tried(proposal, sample, None).bad == {}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("seen", "drafted"),
    [
        ([1, 2], {"type": "integer"}),
        ([1, 2.5], {"type": "number"}),
        ([2**63], {"type": "number"}),
        ([True], {"type": "boolean"}),
        (["a", None], {"type": "string"}),
        (["2025-10-09"], {"type": "string", "format": "date"}),
        (["2025-10-09T08:53:20.5+02:00"], {"type": "string", "format": "date-time"}),
        (["2025-10-09", "soon"], {"type": "string"}),
        ([[1, None]], {"type": "array", "items": {"oneOf": [{"type": "null"}, {"type": "integer"}]}}),
        ([1, "a"], {}),
        ([None], {}),
        ([[]], {}),
        ([{}], {}),
        ([{"a b": 1}], {}),
        ([MILLIS], {"type": "integer"}),
    ],
)
def test_a_field_has_the_type_that_all_of_its_values_have(seen: list[Any], drafted: dict[str, Any]) -> None:
    draft = draft_of([{"field": value} for value in seen])

    assert draft
    assert draft.schema["properties"]["field"] == drafted
    assert set(draft.texts) == ({"field"} if drafted == {} else set())


@pytest.mark.parametrize("name", ["ts", "created_at", "createdAt", "eventTime", "updateDate"])
def test_milliseconds_are_timestamps_where_their_field_is_called_so(name: str) -> None:
    draft = draft_of([{name: MILLIS}])

    assert draft
    assert draft.schema["properties"][name]["title"].endswith("Timestamp")
    assert draft.times == [name]


def test_many_rare_names_are_the_keys_of_a_map() -> None:
    draft = draft_of([{"scores": {f"player{n}": n}} for n in range(60)])

    assert draft
    assert draft.schema["properties"]["scores"] == {
        "type": "object",
        "additionalProperties": {"type": "integer"},
    }


def test_keys_and_partitions_are_named_with_what_speaks_against_others() -> None:
    records = [
        {"order_id": n, "customer_id": n % 7, "status": ("new", "paid")[n % 2], "at": MILLIS + n}
        for n in range(40)
    ]
    places = tuple((0, n) for n in range(40))
    sample = Sample((None,) * 40, tuple(json.dumps(r).encode() for r in records), (), places)

    _, notes = propose("orders", sample, None, {})

    text = " ".join(notes)
    assert "order_id differs in all 40 records; customer_id does not (0:0 and 0:7 are alike)" in text
    assert "day(at), customer_id (7 values), status (2 values)" not in text  # 40 records are few for 7
    assert "day(at), status (2 values)" in text


def test_no_value_of_a_record_is_shown() -> None:
    record = json.dumps({"password": "hunter2", "x": 1}).encode()
    mixed = json.dumps({"password": 7, "x": "hunter2"}).encode()

    _, notes = propose("orders", Sample((b"hunter2",) * 2, (record, mixed)), None, {})

    assert "hunter2" not in " ".join(notes)
