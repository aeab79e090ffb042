"""JSON without a schema, by a list of its fields: which records become rows, and why the others are bad."""

from __future__ import annotations

import json
import pickle
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pydantic import ValidationError

from frazil.formats.bare import Unknown
from frazil.formats.columns.columns import rest_field
from frazil.formats.evolution import refused, verdicts
from frazil.formats.json.given.format import FieldsDecoder
from frazil.formats.json.given.shape import columns_of
from frazil.spec.fields import JsonField
from frazil.spec.topic import TableSpec

ID = {"name": "id", "type": "long"}
CITY = {"name": "city", "type": "string", "path": "address.city", "optional": True}
ZIP = {"name": "zip", "type": "string", "path": ["address", "zip.code"]}
MOMENT = datetime(2026, 11, 26, 10, 0, 0, 250_000)
WITH_ZONE = MOMENT.replace(tzinfo=UTC)


def spec(*fields: dict[str, Any], **more: Any) -> TableSpec:
    return TableSpec.model_validate({"topic": "t", "value_format": "json", "fields": fields, **more})


def decoder(*fields: dict[str, Any]) -> FieldsDecoder:
    return FieldsDecoder(spec(*fields).fields)


def rows(by: FieldsDecoder, *texts: str | bytes | None) -> list[dict[str, Any] | None]:
    """Per record its columns, as a worker decodes them; None where it is bad."""
    raw = pa.array([t.encode() if isinstance(t, str) else t for t in texts], pa.binary())
    batch = pickle.loads(pickle.dumps(by.arrow())).decode(raw)
    batch.data.validate(full=True)
    assert batch.writer.null_count == len(raw)
    return [row if ok else None for row, ok in zip(batch.data.to_pylist(), batch.ok.to_pylist(), strict=True)]


def why(by: FieldsDecoder, text: str) -> str:
    return ": ".join(by.explain(text.encode()))


def test_fields_anywhere_in_a_record_become_columns_side_by_side() -> None:
    by = decoder(ID, CITY, ZIP)

    decoded = rows(
        by,
        '{"address": {"zip.code": "1", "city": "Brno", "street": 5}, "id": 1, "coupon": {}}',
        '{"id": 2, "address": {"zip.code": "1", "city": null}}',
        '{"id": 3, "address": {"zip.code": "1"}}',
        None,
    )

    assert decoded == [
        {"id": 1, "city": "Brno", "zip": "1"},
        {"id": 2, "city": None, "zip": "1"},
        {"id": 3, "city": None, "zip": "1"},
        None,
    ]


def test_what_an_optional_field_is_in_may_be_missing_and_must_be_an_object_where_it_is_there() -> None:
    by = decoder(ID, CITY)

    assert (
        rows(by, '{"id": 1}', '{"id": 1, "address": null}', '{"id": 1, "address": {}}')
        == [{"id": 1, "city": None}] * 3
    )
    assert rows(by, '{"id": 1, "address": "Brno"}', '{"id": 1, "address": []}') == [None, None]
    assert why(by, '{"id": 1, "address": "Brno"}') == "type: address: Brno is of another type"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"address": {"zip.code": "1"}}', "required: id: it is not there, or null, and id is not optional"),
        ('{"id": 1}', "required: address.zip.code: it is not there, or null, and zip is not optional"),
        ('{"id": 1, "address": null}', "required: address.zip.code: it is not there"),
        ('{"id": 1, "address": {"zip.code": null}}', "required: address.zip.code: it is not there"),
        ('{"id": 1, "address": {"city": "x"}}', "required: address.zip.code: it is not there"),
        ('{"id": "1", "address": {"zip.code": "1"}}', "type: id: 1 is no integer"),
        ('{"id": 1.0, "address": {"zip.code": "1"}}', "number_form: id: "),
        ('{"id": 1, "address": {"zip.code": 1}}', "type: address.zip.code: 1 is no string"),
        ('{"id": 9223372036854775808, "address": {"zip.code": "1"}}', "range: id: "),
        ('{"id": 1, "address": {"zip.code": "1"}} x', "trailing_bytes: 1 bytes"),
        ('{"id": 1, "address": {"zip.code": "1"}', "not_json: "),
        ("[]", "type: (root): "),
        ("null", "type: (root): "),
        ("", "not_json: "),
    ],
)
def test_a_record_that_does_not_fit_is_bad_and_the_reason_names_the_path(text: str, reason: str) -> None:
    by = decoder(ID, CITY, ZIP)

    assert rows(by, text) == [None]
    assert why(by, text).startswith(reason)


@pytest.mark.parametrize(
    ("kind", "good", "column", "bad"),
    [
        ("boolean", "true", True, "1"),
        ("int", "-2147483648", -(2**31), "2147483648"),
        ("long", "9223372036854775807", 2**63 - 1, "1e3"),
        ("float", "1.5", 1.5, "1e39"),
        ("double", "1", 1.0, "1e309"),
        ("decimal(5, 2)", "123.45", Decimal("123.45"), "123.456"),
        ("string", '"a"', "a", "1"),
        ("binary", '"AAE="', b"\0\1", '"AAE"'),
        ("date", '"2026-02-28"', date(2026, 2, 28), '"2026-02-30"'),
        ("date", '"0001-01-01"', date(1, 1, 1), '"2026-02-28T00:00:00"'),
        ("timestamp", '"2026-11-26T10:00:00.25"', MOMENT, '"2026-11-26T10:00:00Z"'),
        ("timestamp", '"9999-12-31T23:59:59"', datetime(9999, 12, 31, 23, 59, 59), '"2026-11-26 10:00:00"'),
        ("timestamptz", '"2026-11-26T11:00:00.25+01:00"', WITH_ZONE, '"2026-11-26T10:00:00"'),
        ("json", '{"b": [1.50, null], "a": {}}', '{"a":{},"b":[1.50,null]}', '{"a": 1, "a": 2}'),
        ("list<string>", '["a", null]', ["a", None], '["a", 1]'),
        ("list<list<date>>", '[["2026-02-28"], []]', [[date(2026, 2, 28)], []], '[["2026"]]'),
    ],
)  # fmt: skip
def test_each_type_takes_its_values_as_they_are_and_no_others(
    kind: str, good: str, column: Any, bad: str
) -> None:
    by = decoder({"name": "a", "type": kind})

    (row, none) = rows(by, f'{{"a": {good}}}', f'{{"a": {bad}}}')

    assert row == {"a": column}
    assert none is None
    assert not by.explain(f'{{"a": {bad}}}'.encode())[0].startswith("value")


def test_moments_may_be_numbers_of_milliseconds() -> None:
    by = decoder(
        {"name": "at", "type": "timestamptz", "unit": "millis"},
        {"name": "here", "type": "timestamp", "unit": "millis"},
    )

    assert rows(by, '{"at": 1500, "here": -1}', '{"at": "2026-11-26T10:00:00Z", "here": 0}') == [
        {
            "at": datetime(1970, 1, 1, 0, 0, 1, 500_000, UTC),
            "here": datetime(1969, 12, 31, 23, 59, 59, 999_000),
        },
        None,
    ]


def test_the_independent_decoder_agrees_on_each_value() -> None:
    by = decoder(
        ID, CITY, {"name": "day", "type": "date"}, {"name": "at", "type": "timestamp"},
        {"name": "price", "type": "decimal(5,2)"},
    )  # fmt: skip

    values = by.values(b'{"id": 1, "day": "1970-01-02", "at": "1970-01-01T00:00:01", "price": 1.5}')

    assert values == {"id": 1, "city": None, "day": 1, "at": 1_000_000, "price": Decimal("1.5")}


def test_names_that_no_column_may_have_are_reached_by_their_path() -> None:
    keys = ["a b", 'qu"ote', "Id", "id"]
    by = decoder(*({"name": f"c{n}", "type": "long", "path": [key]} for n, key in enumerate(keys)))

    assert rows(by, json.dumps({key: n for n, key in enumerate(keys)})) == [{f"c{n}": n for n in range(4)}]


@pytest.mark.parametrize(
    ("fields", "more", "expected"),
    [
        ([ID], {"value_format": "avro"}, "write value_format: json, not avro"),
        ([ID], {"value_format": "auto"}, "write value_format: json, not auto"),
        ([ID], {"value_schema": "a.json"}, "take value_schema out"),
        ([ID], {"validate": "strict"}, "take validate out"),
        ([ID], {"unmappable": "text"}, "take unmappable out"),
        ([ID], {"mode": "cdc"}, "mode: cdc knows its columns"),
        ([ID, {**CITY, "name": "ID"}], {}, "two columns are named id"),
        ([CITY, {**CITY, "name": "b"}], {}, "two have the path address.city"),
        ([CITY, {"name": "address", "type": "json"}], {}, "address.city is within address"),
        ([{"name": "a b", "type": "long"}], {}, "say by path what the record calls it"),
        ([{"name": "a", "type": "integer"}], {}, "'integer' is no type of a field; write boolean"),
        ([{"name": "a", "type": "list<list<int64>>"}], {}, "'int64' is no type"),
        ([{"name": "a", "type": "decimal(39,2)"}], {}, "1 to 38 digits"),
        ([{"name": "a", "type": "decimal(2,3)"}], {}, "of which the scale is a part"),
        ([{"name": "a", "type": "long", "unit": "millis"}], {}, "unit is for timestamp and timestamptz"),
        ([{"name": "a", "type": "long", "path": "b..c"}], {}, "an empty name"),
        ([{"name": "a", "type": "long", "path": []}], {}, "an empty name"),
        ([{"name": "a", "type": "long", "path": "a" + ".a" * 40}], {}, "levels deep"),
        ([{"name": "a", "type": "long", "format": "x"}], {}, "Extra inputs"),
    ],
)  # fmt: skip
def test_a_list_that_can_not_be_meant_is_a_mistake_of_the_spec(
    fields: list[dict[str, Any]], more: dict[str, Any], expected: str
) -> None:
    with pytest.raises(ValidationError) as error:
        spec(*fields, **more)

    assert expected in str(error.value)


def test_another_list_changes_a_table_as_another_schema_would() -> None:
    def stopped(*fields: dict[str, Any]) -> list[str]:
        """The changes that the next landing would refuse, of a table with id and city."""
        table = columns_of([JsonField.model_validate(f) for f in (ID, CITY)])
        wanted = columns_of([JsonField.model_validate(f) for f in fields])
        return [each.change for each in refused(verdicts(table, wanted, ()))]

    note = {"name": "note", "type": "string"}
    assert stopped(ID, CITY, {**note, "optional": True}) == []
    assert stopped(ID, {**CITY, "optional": False}) == []
    assert stopped(ID, CITY, note) == ["add"]
    assert stopped({**ID, "type": "string"}, CITY) == ["retype"]
    assert stopped({**ID, "type": "int"}, CITY) == []
    assert stopped(ID) == ["drop"]


def test_what_no_field_names_is_kept_as_text_if_asked() -> None:
    asked = spec(ID, CITY, ZIP, rest=True)
    by = FieldsDecoder(asked.fields, rest_field(asked))

    def rest(text: str) -> Any:
        (row,) = rows(by, text)
        return row["$$rest"] if row else by.explain(text.encode())[0]

    assert by.columns.fields[-1].name == "$$rest"
    assert rest('{"id": 1, "address": {"zip.code": "1"}}') is None
    assert rest(
        '{"z": 1.50, "id": 1, "address": {"zip.code": "1", "st\\"reet": null}, "a": [{"id": "ž:" }]}'
    ) == ('{"z":1.50,"address":{"st\\"reet":null},"a":[{"id": "ž:" }]}')
    assert rest('{"a:b": ":", "id": 1, "address": {"zip.code": "1"}}') == '{"a:b":":"}'
    assert rest('{"a": {"b": 1, "b": 2}, "id": 1, "address": {"zip.code": "1"}}') == '{"a":{"b": 1, "b": 2}}'
    for again in ('"x": 1, "x": 1', '"x": {"y": 1}, "x": ":"', '"a\\u003ab": 1, "x": 1, "x": 2', '"id": 0'):
        assert rest(f'{{{again}, "id": 1, "address": {{"zip.code": "1"}}}}') == "repeated_key", again
    assert rest('{"id": 1, "address": {"a": 1}, "address": {"zip.code": "1"}}') == "repeated_key"
    assert rest('{"id": 1, "address": {"zip.code": "1", "a": 1, "a": 1}}') == "repeated_key"
    assert rest('{"id": 1, "x": ' + "[" * 5000 + "]" * 5000 + ', "address": {"zip.code": "1"}}') == "not_json"
    assert isinstance((by.values(b'{"id": 1}') or {})["$$rest"], Unknown)


def test_the_rest_has_a_portable_name_and_is_refused_where_it_would_show_what_is_hidden() -> None:
    portable = rest_field(spec(ID, rest=True, metadata_names="portable"))
    assert portable
    assert portable.name == "cflt_metadata_rest"
    for more in ({"columns": {"id": {"mask": "hash"}}}, {"columns": {"id": {"drop": True}}}):
        with pytest.raises(ValidationError, match="beside which masks hide little"):
            spec(ID, rest=True, **more)
    with pytest.raises(ValidationError, match="list the fields"):
        spec(rest=True)
