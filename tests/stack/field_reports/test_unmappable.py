"""Fields that no column can hold: `unmappable: text` lands their topics, each value as JSON text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, json_format
from google.protobuf.message_factory import GetMessageClass
from grpc_tools import protoc

from frazil.checks.run import run_check
from frazil.errors import SchemaRefusedError, SuspendedError
from kit.formats.formats import MakeSource, Source, avro


def framed(schema_id: int, payload: bytes) -> bytes:
    return b"\0" + schema_id.to_bytes(4, "big") + payload


def columns(source: Source) -> dict[str, str]:
    """The comments of the columns."""
    table = source.connections.catalog.load_table(source.name)
    return {field.name: field.doc or "" for field in table.schema().fields}


def one_row(source: Source, schema_id: int, payload: bytes) -> dict[str, Any]:
    """The row of the one record that is there; the refusal without the setting is told first."""
    source.produce((None, framed(schema_id, payload)))
    with pytest.raises(SchemaRefusedError) as refused:
        source.land(unmappable="refuse")
    assert "unmappable: text" in (refused.value.todo or "")
    assert source.land().records == 1
    (row,) = source.rows()
    (by_duckdb,) = source.rows_by_duckdb()
    assert {name: row[name] for name in by_duckdb if not name.startswith("$")} == {
        name: value for name, value in by_duckdb.items() if not name.startswith("$")
    }
    assert run_check("schema", source.spec, source.connections).passed
    return row


PYDANTIC = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "extra": {"type": "object", "description": "Whatever the caller sends."},
        "pair": {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]},
        "level": {"enum": [1, "high"]},
        "any": {},
        "either": {"anyOf": [{"type": "object"}, {"type": "string"}]},
        "tree": {"$ref": "#/$defs/Tree"},
        "many": {"type": "array", "items": {"type": "object"}},
    },
    "required": ["id", "extra"],
    "$defs": {
        "Tree": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "kids": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
            },
        }
    },
}


def test_free_form_objects_of_json_land_as_text(source: MakeSource) -> None:
    """https://docs.pydantic.dev/latest/concepts/json_schema/: a `dict` is an object without properties."""
    topic = source(key_format="none", unmappable="text")
    schema_id = topic.register(PYDANTIC, kind="JSON")
    text = (
        '{"id": 1, "extra": {"b": [1, 2.50, 1e400], "a": null, "big": 12345678901234567890123},'
        ' "pair": [1, "x"], "level": "high", "any": "\\u00e9", "either": {"k": true},'
        ' "tree": {"name": "r", "kids": [{"name": "k", "kids": []}]}, "many": [{}, {"x": "y"}]}'
    )

    row = one_row(topic, schema_id, text.encode())

    assert row["id"] == 1
    assert row["extra"] == '{"a":null,"b":[1,2.50,1e400],"big":12345678901234567890123}'
    assert [row[name] for name in ("pair", "level", "any", "either")] == [
        '[1,"x"]',
        '"high"',
        '"é"',
        '{"k":true}',
    ]
    assert row["tree"] == {"kids": ['{"kids":[],"name":"k"}'], "name": "r"}
    assert row["many"] == ["{}", '{"x":"y"}']
    assert columns(topic)["extra"].startswith("Whatever the caller sends. JSON text: ")


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        (b'{"id": 1, "extra": {"a": 1, "a": 2}}', "stands there twice"),
        (b'{"id": 1, "extra": {"a": 1}', "no JSON"),
        (b'{"id": 1, "extra": {"a": "\\ud800"}}', "surrogate"),
        (b'{"id": 1}', "extra"),
    ],
)
def test_what_is_wrong_in_such_a_value_is_a_bad_record(source: MakeSource, payload: bytes, why: str) -> None:
    """https://docs.pydantic.dev/latest/concepts/json_schema/: free-form is no excuse for what is no JSON."""
    topic = source(key_format="none", unmappable={"*": "text"})
    topic.produce((None, framed(topic.register(PYDANTIC, kind="JSON"), payload)))

    with pytest.raises(SuspendedError, match=why):
        topic.land()


CLOUD_EVENT = {
    "type": "record",
    "name": "Event",
    "namespace": "events",
    "fields": [
        {"name": "attribute", "type": {"type": "map", "values": ["null", "boolean", "int", "string"]}},
        {
            "name": "data",
            "type": [
                "null",
                "bytes",
                {
                    "type": "map",
                    "values": [
                        "null",
                        {
                            "type": "record",
                            "name": "Data",
                            "fields": [
                                {
                                    "name": "value",
                                    "type": {
                                        "type": "map",
                                        "values": ["null", "double", {"type": "array", "items": "Data"}],
                                    },
                                }
                            ],
                        },
                    ],
                },
            ],
        },
    ],
}
EVENT = {"attribute": {"n": 7}, "data": {"k": {"value": {"x": [{"value": {"y": 1.5, "z": None}}]}}}}


@pytest.mark.each_time("True")
@pytest.mark.parametrize("whole", [True, False])
def test_recursive_records_of_avro_land_as_text(source: MakeSource, whole: bool) -> None:
    """https://github.com/cloudevents/spec/blob/main/cloudevents/formats/cloudevents.avsc holds itself."""
    topic = source(key_format="none", unmappable={"data": "text"} if whole else "text")
    schema_id = topic.register(CLOUD_EVENT)

    row = one_row(topic, schema_id, avro(CLOUD_EVENT, schema_id, EVENT)[5:])

    assert row["attribute"] == {"n": {"boolean": None, "int": 7, "string": None}}
    if whole:
        assert json.loads(row["data"]) == EVENT["data"]
        assert row["data"] == '{"k":{"value":{"x":[{"value":{"y":1.5,"z":null}}]}}}'
    else:
        values = row["data"]["map"]["k"]["value"]["x"]
        assert values == {"double": None, "array": ['{"value":{"y":1.5,"z":null}}']}


SPANS = """
syntax = "proto3";
package telemetry;
import "google/protobuf/any.proto";
import "google/protobuf/struct.proto";
message Span {
  string name = 1;
  repeated KeyValue attributes = 2;
  google.protobuf.Struct labels = 3;
  map<string, google.protobuf.Value> more = 4;
  google.protobuf.Any detail = 5;
}
message AnyValue {
  oneof value {
    string string_value = 1;
    int64 int_value = 2;
    ArrayValue array_value = 3;
    KeyValueList kvlist_value = 4;
  }
}
message ArrayValue { repeated AnyValue values = 1; }
message KeyValueList { repeated KeyValue values = 1; }
message KeyValue { string key = 1; AnyValue value = 2; }
"""
SPAN = {
    "name": "s",
    "attributes": [
        {"key": "a", "value": {"stringValue": "x"}},
        {"key": "b", "value": {"arrayValue": {"values": [{"intValue": "5"}, {"arrayValue": {}}]}}},
        {"key": "c", "value": {"kvlistValue": {"values": [{"key": "d", "value": {"intValue": "6"}}]}}},
    ],
    "labels": {"z": 1.5, "a": [None, "é", {"b": True}]},
    "more": {"n": None, "o": {"p": "q"}},
}


def span(tmp_path: Any) -> bytes:
    """The record, by google.protobuf and nothing of Frazil's."""
    (tmp_path / "span.proto").write_text(SPANS)
    out = tmp_path / "span.bin"
    assert not protoc.main(
        [
            "protoc", f"-I{tmp_path}", f"-I{protoc.__file__.rpartition('/')[0]}/_proto",
            "--include_imports", f"--descriptor_set_out={out}", "span.proto",
        ]
    )  # fmt: skip
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file:
        pool.Add(file)
    made = GetMessageClass(pool.FindMessageTypeByName("telemetry.Span"))
    return bytes(json_format.ParseDict(SPAN, made()).SerializeToString())


def test_any_value_of_telemetry_lands_with_text_where_it_holds_itself(
    source: MakeSource, tmp_path: Any
) -> None:
    """https://github.com/open-telemetry/opentelemetry-proto: AnyValue has arrays and lists of AnyValue."""
    topic = source(key_format="none", unmappable="text")
    schema_id = topic.register(SPANS, kind="PROTOBUF")

    row = one_row(topic, schema_id, b"\0" + span(tmp_path))

    one, two, three = (each["value"]["value"] for each in row["attributes"])
    assert one["string_value"] == "x"
    assert two["array_value"] == {"values": ['{"intValue":"5"}', '{"arrayValue":{}}']}
    assert three["kvlist_value"] == {"values": ['{"key":"d","value":{"intValue":"6"}}']}
    assert row["labels"] == '{"a":[null,"é",{"b":true}],"z":1.5}'
    assert row["more"] == {"n": "null", "o": '{"p":"q"}'}


@pytest.mark.nightly
def test_a_schema_of_more_fields_than_a_table_can_have_is_cut_where_it_fits(source: MakeSource) -> None:
    """https://hl7.org/fhir/fhir.schema.json.zip: each resource holds every other one, at any depth."""
    inner = {f"k{m}": {"$ref": f"#/$defs/K{m}"} for m in range(12)}
    kind = {"type": "object", "properties": {"id": {"type": "string"}, **inner}}
    kinds = {f"K{n}": kind for n in range(12)}
    draft = "https://json-schema.org/draft/2020-12/schema"
    schema = {"$schema": draft, "type": "object", "$ref": "#/$defs/K0", "$defs": kinds}
    topic = source(key_format="none", unmappable="text")
    record = {"id": "a", "k1": {"id": "b", "k2": {"id": "c", "k3": {"id": "d", "k4": {"id": "e"}}}}}

    row = one_row(topic, topic.register(schema, kind="JSON"), json.dumps(record).encode())

    assert row["k1"]["k2"]["id"] == "c"
    assert json.loads(row["k1"]["k2"]["k3"]) == {"id": "d", "k4": {"id": "e"}}


def test_discover_proposes_it(source: MakeSource) -> None:
    """https://docs.pydantic.dev/latest/concepts/json_schema/: such a topic was proposed, and then refused."""
    from frazil.discovery.findings import discover

    topic = source()
    schema_id = topic.register(PYDANTIC, kind="JSON")
    topic.produce((None, framed(schema_id, b'{"id": 1, "extra": {}}')))

    (finding,) = discover([topic.spec.topic], topic.connections, ())

    (proposal,) = finding.proposals
    assert proposal.table["unmappable"] == "text"
    assert any("extra" in note for note in finding.notes)
