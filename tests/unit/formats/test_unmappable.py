"""What a spec may let land as text: where it begins, what it says, and that it is the value."""

from __future__ import annotations

import io
import json
import math
from decimal import Decimal
from functools import cache
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frazil.errors import SchemaRefusedError
from frazil.formats.avro.format import Avro
from frazil.formats.columns.unmappable import REFUSED, Unmappable, json_text
from frazil.formats.json.format import Json, JsonDecoder
from frazil.formats.json.schemas.versions import json_columns
from frazil.formats.logical import Struct
from frazil.formats.protocol import VALUE, ArrowDecoder, HalfSchemas, WriterSchema
from kit.drawn.examples import examples

TEXT = Unmappable.of("text")
NODE = {
    "type": "record",
    "name": "Node",
    "fields": [
        {"name": "n", "type": ["null", "long"], "default": None},
        {"name": "text", "type": "string"},
        {"name": "raw", "type": "bytes"},
        {"name": "real", "type": "double"},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
        {"name": "kids", "type": {"type": "array", "items": "Node"}},
        {"name": "by", "type": {"type": "map", "values": ["null", "Node"]}},
    ],
}


def nodes(kids: st.SearchStrategy[Any] | None) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {
            "n": st.none() | st.integers(-(2**63), 2**63 - 1),
            "text": st.text(max_size=5),
            "raw": st.binary(max_size=4),
            "real": st.floats(),
            "kind": st.sampled_from(["A", "B"]),
            "kids": st.just([]) if kids is None else st.lists(kids, max_size=2),
            "by": st.dictionaries(st.text(max_size=3), st.none() if kids is None else kids, max_size=2),
        }
    )


def as_json(value: Any) -> Any:
    """What JSON has of a value of Avro."""
    import base64

    match value:
        case dict():
            return {name: as_json(each) for name, each in value.items()}
        case list():
            return [as_json(each) for each in value]
        case bytes():
            return base64.b64encode(value).decode()
        case float() if math.isnan(value):
            return "NaN"
        case float() if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        case _:
            return value


def schemas(schema: Any, unmappable: Unmappable = TEXT, *older: Any) -> HalfSchemas:
    versions = [WriterSchema(n, n, json.dumps(s), "AVRO") for n, s in enumerate((*older, schema), 1)]
    return HalfSchemas(VALUE, Avro(), "s-value", tuple(versions), unmappable=unmappable)


def payload(schema: Any, value: Any) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(json.loads(json.dumps(schema))), value)
    return b"\0\0\0\0\1" + stream.getvalue()


DEEP = st.recursive(nodes(None), nodes, max_leaves=6)


@examples(60)
@given(value=DEEP)
def test_what_is_within_a_record_of_its_own_kind_is_its_json(value: dict[str, Any]) -> None:
    decoder = Avro().decoder(schemas(NODE))
    arrow = decoder.arrow()
    assert arrow
    raw = payload(NODE, value)

    batch = arrow.decode(pa.array([raw, raw[:-1], raw + b"\0", None], pa.binary()))

    assert batch.ok.to_pylist() == [True, False, False, False]
    row = batch.data.to_pylist()[0]
    assert [json.loads(text) for text in row["kids"]] == as_json(value["kids"])
    by = {name: None if text is None else json.loads(text) for name, text in row["by"]}
    assert by == as_json(value["by"])
    assert row["n"] == value["n"]


def test_as_little_as_possible_is_text_unless_a_path_is_named() -> None:
    inner = Avro().columns(schemas(NODE))
    assert str(inner.get("kids").type) == "list<string>"  # type: ignore[union-attr]
    outer = {"type": "record", "name": "R", "fields": [{"name": "a", "type": NODE}]}

    parts = Avro().columns(schemas(outer)).fields[0]
    whole = Avro().columns(schemas(outer, Unmappable.of({"a": "text"}))).fields[0]

    assert (isinstance(parts.type, Struct), str(whole.type)) == (True, "string")
    assert whole.doc == "JSON text: record Node contains itself."
    with pytest.raises(SchemaRefusedError, match="contains itself") as refused:
        _ = schemas(outer, Unmappable.of({"b": "text"})).columns
    assert "`unmappable: {a.kids: text, b: text}`, or `unmappable: text`" in refused.value.todo
    with pytest.raises(SchemaRefusedError):
        Avro().columns(schemas(outer, Unmappable.of({"*": "text", "a.kids": "refuse"})))


def test_a_version_in_which_the_field_was_plain_text_is_not_read_as_json() -> None:
    before = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "string"}]}
    after = {"type": "record", "name": "R", "fields": [{"name": "a", "type": {**NODE}}]}

    decoder = Avro().decoder(schemas(after, Unmappable.of({"a": "text"}), before))

    assert decoder.writers == (2,)
    assert decoder.explain(b"\0\0\0\0\1\x02x")[0] == "unreadable_schema"


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)
FREE = {
    "type": "object",
    "properties": {"free": {}, "n": {"type": "number"}, "many": {"type": "array", "items": {}}},
}


@examples(200)
@given(free=JSONS, many=st.lists(JSONS, max_size=3), spaced=st.booleans())
def test_free_form_json_is_its_own_text_within_the_record(free: Any, many: list[Any], spaced: bool) -> None:
    text = json.dumps({"free": free, "n": 1, "many": many, "more": free}, indent=2 if spaced else None)

    decoded = free_row(text)

    assert decoded is not None
    assert (decoded["free"] is None) if free is None else json.loads(decoded["free"]) == free
    assert [each if each is None else json.loads(each) for each in decoded["many"]] == many


@pytest.mark.parametrize(
    ("schema", "optional"),
    [
        ({"type": "object"}, False),
        ({}, True),
        ({"enum": [1, "a"]}, False),
        ({"enum": [1, "a", None]}, True),
        ({"anyOf": [{"type": "object"}, {"type": "string"}]}, False),
        ({"anyOf": [{"type": "object"}, {"type": "null"}]}, True),
        ({"type": ["object", "null"]}, True),
        ({"type": "array", "items": [{"type": "string"}]}, False),
    ],
)
def test_a_text_that_is_required_must_be_there(schema: Any, optional: bool) -> None:
    whole = {"type": "object", "properties": {"a": schema}, "required": ["a"]}

    (field,) = json_columns([WriterSchema(1, 1, json.dumps(whole), "JSON")], "s", "value", TEXT)

    assert (str(field.type), field.optional) == ("string", optional)


def test_numbers_stay_as_they_are_written() -> None:
    decoded = free_row('{"free": {"b": 1.10, "a": [1e400, -0]}, "n": 1.50E+2, "many": []}')

    assert decoded == {"free": '{"a":[1e400,-0],"b":1.10}', "n": Decimal("150.00"), "many": []}
    bad = '{"free": {"a": 1, "a": 1}}', '{"free": NaN}', '{"free": 1} 2'
    assert [free_row(text) for text in bad] == [None] * 3


def free_row(text: str) -> dict[str, Any] | None:
    """What a record of `FREE` becomes; None where it is bad."""
    batch = free_decoder().decode(pa.array([text.encode()], pa.binary()))
    row: dict[str, Any] | None = batch.data[0].as_py() if batch.ok[0].as_py() else None
    return row


@cache
def free_decoder() -> ArrowDecoder:
    writer = WriterSchema(1, 1, json.dumps(FREE), "JSON")
    return JsonDecoder(HalfSchemas(VALUE, Json(), "s", (writer,), framed=False, unmappable=TEXT)).arrow()


def test_a_union_with_such_a_branch_is_text_as_a_whole() -> None:
    schema = {"type": "object", "properties": {"u": {"anyOf": [{"type": "string"}, {"type": "object"}]}}}
    writers = [WriterSchema(1, 1, json.dumps(schema), "JSON")]

    (field,) = json_columns(writers, "s", "value", TEXT)
    with pytest.raises(SchemaRefusedError) as refused:
        _ = HalfSchemas(VALUE, Json(), "s", tuple(writers)).columns

    assert (field.name, str(field.type)) == ("u", "string")
    assert "`unmappable: {u: text}`" in refused.value.todo


def test_a_schema_of_too_many_fields_is_cut_where_it_fits() -> None:
    kinds = {
        f"K{n}": {"type": "object", "properties": {f"k{m}": {"$ref": f"#/$defs/K{m}"} for m in range(20)}}
        for n in range(20)
    }
    writers = [WriterSchema(1, 1, json.dumps({"$ref": "#/$defs/K0", "$defs": kinds}), "JSON")]

    columns = json_columns(writers, "s", "value", TEXT)

    assert len(columns.fields) == 20
    with pytest.raises(SchemaRefusedError):
        json_columns(writers, "s", "value", REFUSED)


def test_text_has_its_keys_in_order_and_no_white_space() -> None:
    assert json_text({"b": [1, None, True, "é\n"], "a": {}}) == '{"a":{},"b":[1,null,true,"é\\n"]}'


def of_json(schema: Any, unmappable: Unmappable = TEXT) -> HalfSchemas:
    writer = WriterSchema(1, 1, json.dumps(schema), "JSON")
    return HalfSchemas(VALUE, Json(), "s", (writer,), unmappable=unmappable)


def landed(schema: Any, *texts: bytes) -> list[Any]:
    """What texts become by columns; None of bad ones, for which there is a reason."""
    decoder = of_json(schema).decoder()
    arrow, raws = decoder.arrow(), [b"\0\0\0\0\1" + text for text in texts]
    assert arrow
    batch = arrow.decode(pa.array(raws, pa.binary()))
    assert all(decoder.explain(raw)[1] for raw, ok in zip(raws, batch.ok.to_pylist(), strict=True) if not ok)
    return [row if ok else None for row, ok in zip(batch.data.to_pylist(), batch.ok.to_pylist(), strict=True)]


@pytest.mark.parametrize(
    "schema", [{}, True, {"type": "object"}, {"oneOf": [{"type": "object"}, {"type": "string"}]}]
)
def test_a_record_that_has_no_columns_at_all_is_one_text(schema: Any) -> None:
    (field,) = of_json(schema).columns

    assert (field.name, str(field.type)) == ("value", "string")
    assert field.doc == "JSON text: its schema has no columns."
    rows = landed(schema, b'{"b": 1.10, "a": [null]}', b'"t"', b'{"a": 1, "a": 2}', b"{", b"null")
    assert rows == [{"value": '{"a":[null],"b":1.10}'}, {"value": '"t"'}, None, None, None]
    with pytest.raises(SchemaRefusedError):
        _ = of_json(schema, Unmappable.of({"*": "text", "a": "refuse"})).columns


@pytest.mark.parametrize(
    ("schema", "kind", "text", "value"),
    [
        ({"type": "array", "items": {"type": "object"}}, "list<string>", b'[{"a": 1.0}]', ['{"a":1.0}']),
        (
            {"patternProperties": {".": {"type": "object"}}},
            "map<string,string>",
            b'{"k": {}}',
            [("k", "{}")],
        ),
    ],
)
def test_what_is_in_a_list_or_a_map_that_is_the_record_is_text(
    schema: Any, kind: str, text: bytes, value: Any
) -> None:
    assert str(of_json(schema).columns.fields[0].type) == kind
    assert landed(schema, text) == [{"value": value}]


def branch(name: str, kind: Any) -> dict[str, Any]:
    return {"title": name, "type": "object", "properties": {"kind": {"const": name}, "data": kind}}


def test_the_union_that_a_record_is_keeps_its_branches() -> None:
    node = {"$ref": "#/$defs/node"}
    tree = {"type": "object", "properties": {"up": node, "n": {"type": "integer"}}}
    schema = {
        "oneOf": [branch("a", {"type": "object"}), branch("b", {"type": "string"}), branch("c", node)],
        "$defs": {"node": tree},
    }

    (value,) = of_json(schema).columns
    rows = landed(
        schema,
        b'{"kind": "a", "data": {"x": 1.0}}',
        b'{"kind": "b", "data": "{}"}',
        b'{"kind": "c", "data": {"n": 1, "up": {"n": 2}}}',
        b'{"kind": "d"}',
        b'{"kind": "a", "data": {"x": 1, "x": 2}}',
    )

    assert [f.name for f in value.type.fields] == ["a", "b", "c"]
    kinds = [row and {name: content for name, content in row["value"].items() if content} for row in rows]
    assert kinds == [
        {"a": {"data": '{"x":1.0}', "kind": "a"}},
        {"b": {"data": "{}", "kind": "b"}},
        {"c": {"data": {"n": 1, "up": '{"n":2}'}, "kind": "c"}},
        None,
        None,
    ]
