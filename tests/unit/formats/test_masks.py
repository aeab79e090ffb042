"""What a table gets of masked fields: by columns, by the independent decoder, and in words on bad records."""

from __future__ import annotations

import hashlib
import hmac
import pickle
from typing import Any

import pyarrow as pa
import pytest
from pydantic import SecretStr

from frazil.errors import ConfigureError, SpecError
from frazil.formats.bare import differences
from frazil.formats.columns.columns import record_columns
from frazil.formats.logical import Decimal, Field, List, Map, Primitive, Struct
from frazil.formats.masks.guard import Masks
from frazil.formats.masks.reasons import withheld
from frazil.formats.types import arrow_type
from frazil.spec.guard import ColumnMask
from frazil.spec.topic import TableSpec

TEXT, LONG = Primitive("string"), Primitive("long")
PERSON = Struct((Field("phone", TEXT, optional=True), Field("name", TEXT)))
VALUE = Struct(
    (
        Field("email", TEXT, optional=True, doc="Of the customer."),
        Field("card", LONG),
        Field("price", Decimal(9, 2)),
        Field("iban", TEXT),
        Field("notes", TEXT),
        Field("person", PERSON, optional=True),
        Field("people", List(PERSON)),
        Field("by_id", Map(TEXT, PERSON)),
        Field("real", Primitive("double")),
    )
)
KEY = "a key of more than sixteen characters"
KEYS = {"masks": SecretStr(KEY)}
MASKED: dict[str, Any] = {
    "email": {"mask": "hash"},
    "card": {"mask": "last4"},
    "price": {"mask": "hash"},
    "iban": {"mask": "redact"},
    "notes": {"drop": True},
    "person.phone": {"mask": "hash"},
    "people.element.phone": {"mask": "last4"},
    "by_id.value.name": {"drop": True},
}
ROWS: list[dict[str, Any]] = [
    {
        "email": "ann@example.com", "card": 4111111111111111, "price": "1.50", "iban": "DE02", "notes": "ill",
        "person": {"phone": "+49 170 1", "name": "Ann"},
        "people": [{"phone": "12345678", "name": "Bea"}, {"phone": "1234567", "name": "Cia"}],
        "by_id": [("x", {"phone": "1", "name": "Dan"})], "real": 1.0,
    },
    {
        "email": None, "card": 7, "price": "0.00", "iban": "", "notes": "", "person": None, "people": [],
        "by_id": [], "real": 0.0,
    },
]  # fmt: skip


def spec(**more: Any) -> TableSpec:
    return TableSpec(topic="t", **{"columns": MASKED, **more})


def masks() -> Masks:
    return Masks.of(spec(), KEYS)


def batch() -> pa.StructArray:
    from decimal import Decimal as Number

    rows = [{**row, "price": Number(row["price"])} for row in ROWS]
    return pa.array(rows, arrow_type(VALUE))


def hashed(text: str) -> str:
    return hmac.new(KEY.encode(), text.encode(), hashlib.sha256).hexdigest()


def test_each_mask_leaves_what_it_says() -> None:
    first, second = masks().arrow().of(batch()).to_pylist()

    assert first["email"] == hashed("ann@example.com")
    assert (first["card"], second["card"]) == ("****1111", "****")
    assert first["price"] == hashed("1.50")
    assert (first["iban"], second["iban"]) == (None, None)
    assert "notes" not in first
    assert first["person"] == {"phone": hashed("+49 170 1"), "name": "Ann"}
    assert [each["phone"] for each in first["people"]] == ["****5678", "****"]
    assert first["by_id"] == [("x", {"phone": "1"})]
    assert (second["email"], second["person"], second["people"]) == (None, None, [])


def test_a_part_of_a_batch_is_masked_as_the_whole() -> None:
    whole = pa.concat_arrays([batch(), batch()])

    assert masks().arrow().of(whole[1:3]).to_pylist() == masks().arrow().of(whole).to_pylist()[1:3]


def test_the_columns_have_the_types_of_what_is_in_them_and_say_so() -> None:
    fields = {f.name: f for f in record_columns(spec(), Struct(()), VALUE).fields}

    made = masks().arrow().of(batch())
    assert made.type == arrow_type(Struct(tuple(fields.values())))
    assert fields["iban"].optional
    assert fields["email"].doc == "Of the customer. Masked: HMAC-SHA256 of the value, by the key masks."


def test_the_independent_decoder_masks_in_the_same_way() -> None:
    kind = Struct(tuple(f for f in record_columns(spec(), Struct(()), VALUE).fields))
    wanted = [masks().values(VALUE, row) for row in ROWS]

    assert [[*differences(kind, one, two)] for one, two in zip(wanted, _rows(kind), strict=True)] == [[], []]


def _rows(kind: Struct) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = masks().arrow().of(batch()).to_pylist()
    return rows


def test_no_key_is_in_what_people_may_see_and_all_of_it_reaches_a_worker() -> None:
    own = masks()

    assert KEY not in repr(own) + repr(own.arrow()) + str(own.marks())
    assert pickle.loads(pickle.dumps(own.arrow())).of(batch()) == own.arrow().of(batch())


def test_another_key_has_another_mark_and_a_missing_one_is_named() -> None:
    other = Masks.of(spec(), {"masks": SecretStr("another key of enough characters")})

    assert other.marks() != masks().marks()
    assert set(other.marks()) == set(MASKED) - {"notes", "by_id.value.name"}
    for keys, why in (({}, "missing"), ({"masks": SecretStr("short")}, "too short")):
        with pytest.raises(ConfigureError, match=f"key masks is {why}"):
            Masks.of(spec(), keys)


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"real": {"mask": "hash"}}, "real is double; hash takes"),
        ({"people": {"mask": "hash"}}, "people is list"),
        ({"price": {"mask": "last4"}}, r"price is decimal\(9,2\); last4 takes"),
        ({"mail": {"mask": "hash"}}, "no field|has a field mail"),
        ({"person.mail": {"drop": True}}, "person.mail"),
        ({"by_id.key": {"mask": "hash"}}, "by_id.key"),
    ],
)
def test_a_mask_that_a_field_can_not_have_is_refused(columns: dict[str, Any], why: str) -> None:
    with pytest.raises(SpecError, match=why):
        record_columns(spec(columns=columns), Struct(()), VALUE)


def test_what_tells_rows_apart_may_be_hashed_only() -> None:
    key, value = Struct((Field("id", LONG),)), Struct((Field("n", LONG),))

    columns = record_columns(spec(mode="upsert", columns={"id": {"mask": "hash"}}), key, value)
    assert [str(f.type) for f in columns.key] == ["string"]
    for choice in ({"mask": "redact"}, {"mask": "last4"}, {"drop": True}):
        with pytest.raises(SpecError, match="id tells rows apart"):
            record_columns(spec(mode="upsert", columns={"id": choice}), key, value)


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        (("value", "field email: 'ann@example.com' is no moment"), "field email: value; what"),
        (("key_value", "key: field ann@example.com: 1"), "value; what"),
        (("not_json", "the text is no JSON: ann"), "not_json; what"),
        (("truncated", "the payload ends early"), "the payload ends early"),
    ],
)
def test_no_word_about_a_bad_record_holds_what_is_in_it(reason: tuple[str, str], expected: str) -> None:
    code, words = withheld(reason, Struct(()), VALUE)

    assert code == reason[0]
    assert words.startswith(expected)
    assert "ann" not in words


@pytest.mark.parametrize(
    "more",
    [
        {"columns": {"a": {"mask": "none"}}},
        {"columns": {"a": {"mask": "hash", "drop": True}}},
        {"columns": {"a": {}}},
        {"columns": {"a": {"mask": "redact", "key": "other"}}},
        {"columns": {"a": {"drop": True}, "a.b": {"mask": "hash"}}},
        {"metadata": "full"},
        {"mode": "tableflow"},
        {"columns": {}, "dead_letters": {"encrypt_with": "letters"}},
        {"columns": {}, "where": "a = 1", "mode": "upsert"},
    ],
)
def test_a_spec_that_would_leak_or_contradict_itself_is_refused(more: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="validation error"):
        spec(**more)


def test_a_mask_and_a_word_stand_side_by_side() -> None:
    masked = spec(columns={"a": "leave_out", "b": {"mask": "hash", "key": "people"}})

    assert (masked.column_words, masked.masks) == (
        {"a": "leave_out"}, {"b": ColumnMask(mask="hash", key="people")},
    )  # fmt: skip
