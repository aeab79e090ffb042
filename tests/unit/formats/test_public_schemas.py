"""Public schemas land with `unmappable: text`: each value of a real record is right, by both decoders."""

from __future__ import annotations

import io
import json
from functools import cache
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from google.protobuf import duration_pb2  # noqa: F401 - ParseDict looks it up
from google.protobuf.json_format import ParseDict
from google.protobuf.message_factory import GetMessageClass

from frazil.exact import rows_of
from frazil.formats.bare import differences
from frazil.formats.columns.unmappable import REFUSED, Unmappable
from frazil.formats.kinds import schema_format
from frazil.formats.protobuf.descriptors import compiled, file_of
from frazil.formats.protocol import VALUE, Decoder, HalfSchemas, WriterSchema
from kit.pages.followed import followed

HERE = Path(__file__).parent / "public_schemas"
TEXT = Unmappable.of("text")
KINDS = {".json": "JSON", ".avsc": "AVRO", ".proto": "PROTOBUF"}
IMPORTS = {
    "trace.proto": tuple(
        (f"opentelemetry/proto/{name}/v1/{name}.proto", (HERE / f"{name}.proto").read_text())
        for name in ("common", "resource")
    )
}


def schemas(name: str, unmappable: Unmappable = TEXT, *, strict: bool = False) -> HalfSchemas:
    kind = KINDS[Path(name).suffix]
    text, imports = (HERE / name).read_text(), IMPORTS.get(name, ())
    writer = WriterSchema(1, 1, text, kind, (), imports)
    form = schema_format(kind, "s-value")
    return HalfSchemas(VALUE, form, "s-value", (writer,), unmappable=unmappable, strict=strict)


def encoded(of: HalfSchemas, record: Any) -> bytes:
    """A record by an encoder of others, with Confluent's header."""
    (writer,) = of.writers
    if writer.kind == "JSON":
        return b"\0\0\0\0\1" + json.dumps(record).encode()
    if writer.kind == "AVRO":
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, fastavro.parse_schema(json.loads(writer.text)), record)
        return b"\0\0\0\0\1" + stream.getvalue()
    message = next(iter(file_of(compiled(writer, "s-value")).message_types_by_name.values()))
    payload: bytes = ParseDict(record, GetMessageClass(message)()).SerializeToString()
    return b"\0\0\0\0\1\0" + payload


@cache
def decoder_of(name: str, *, strict: bool = False) -> Decoder:
    return schemas(name, strict=strict).decoder()


def row(name: str, record: Any, *, strict: bool = False) -> dict[str, Any]:
    """What a record becomes by columns, which the independent decoder must tell alike."""
    decoder, raw = decoder_of(name, strict=strict), encoded(schemas(name), record)
    arrow = decoder.arrow()
    assert arrow
    batch = arrow.decode(pa.array([raw, raw[:-1]], pa.binary()))
    assert batch.ok.to_pylist() == [True, False], decoder.explain(raw)
    values = decoder.values(raw)
    assert values is not None
    made: dict[str, Any] = rows_of(pa.Table.from_struct_array(batch.data))[0]
    assert list(differences(decoder.columns, values, made)) == []
    return made


def at(value: Any, *path: str | int) -> Any:
    """A part of a row; a map is a list of pairs."""
    for step in path:
        value = dict(value)[step] if isinstance(value, list) and isinstance(step, str) else value[step]
    return value


EVENT: dict[str, Any] = {
    "specversion": "1.0",
    "id": "A234-1234-1234",
    "source": "https://github.com/cloudevents",
    "type": "com.github.pull_request.opened",
    "time": "2018-04-05T17:31:00Z",
    "datacontenttype": "application/json",
}
CHANGE: dict[str, Any] = {
    "$schema": "/mediawiki/recentchange/1.0.0",
    "meta": {"id": "b2d3e1c8-8a1f-4a3c-9d0e-5f7f1d2c3b4a", "dt": "2026-01-01T00:00:00Z", "stream": "rc"},
    "id": 1_402_117_389,
    "type": "log",
    "namespace": -1,
    "title": "Special:Log",
    "timestamp": 1_700_000_000,
    "bot": False,
    "length": {"old": None, "new": 512},
}
RUN: dict[str, Any] = {
    "eventType": "COMPLETE",
    "eventTime": "2026-01-01T00:00:00.001+10:00",
    "producer": "https://github.com/OpenLineage/OpenLineage",
    "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
    "run": {
        "runId": "3f5e83fa-3480-44ff-99c5-ff943904e5e8",
        "facets": {"nominalTime": {"_producer": "p", "_schemaURL": "u", "m": 1.5}},
    },
    "job": {"namespace": "my-namespace", "name": "myjob.mytask"},
    "inputs": [{"namespace": "db", "name": "public.orders", "facets": {}}],
}
JOB = {name: RUN[name] for name in ("eventTime", "producer", "schemaURL", "job", "inputs")}
DATASET = {
    **{name: RUN[name] for name in ("eventTime", "producer", "schemaURL")},
    "dataset": RUN["inputs"][0],
}
NESTED = {"url": "http://x/a", "extension": [{"url": "http://x/b", "valueDecimal": 1.10}]}
PATIENT = {
    "resourceType": "Patient",
    "id": "f001",
    "gender": "male",
    "birthDate": "1944-11-17",
    "extension": [NESTED],
}
OBSERVATION = {
    "resourceType": "Observation",
    "id": "f002",
    "status": "final",
    "code": {"text": "Carbon dioxide in blood"},
    "valueQuantity": {"value": 6.2, "unit": "kPa"},
    "contained": [PATIENT],
}
SPAN = {
    "traceId": "W47/95gDgQPSafYzgT/GDA==",
    "spanId": "7uGbfsPBsX8=",
    "name": "I'm a server span",
    "kind": "SPAN_KIND_SERVER",
    "startTimeUnixNano": "1544712660000000000",
    "attributes": [
        {"key": "http.status", "value": {"intValue": "200"}},
        {"key": "tags", "value": {"arrayValue": {"values": [{"stringValue": "a"}, {"boolValue": True}]}}},
    ],
}
TRACES = {
    "resourceSpans": [
        {
            "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]},
            "scopeSpans": [{"scope": {"name": "lib"}, "spans": [SPAN]}],
        }
    ]
}
SPAN_AT = ("resource_spans", 0, "scope_spans", 0, "spans", 0)
AVRO = {
    "attribute": {"specversion": "1.0", "n": 7, "raw": b"\0\1", "none": None},
    "data": {
        "a": {"value": {"k": [{"value": {"x": 1.5}}], "m": {"j": {"value": {"y": "t"}}}}},
        "s": "text",
    },
}
PROTO: dict[str, Any] = {
    "id": "A",
    "specVersion": "1.0",
    "attributes": {"n": {"ceInteger": 7}},
    "protoData": {"@type": "type.googleapis.com/google.protobuf.Duration", "value": "1.500s"},
}
FIRST, SECOND, THIRD = (f"connect_union_field_{n}" for n in range(3))
IN_A = ("data", "map", "a", "AvroCloudEventData", "value")
CASES: list[tuple[str, Any, dict[tuple[str | int, ...], Any]]] = [
    (
        "cloudevents.json",
        {**EVENT, "data": {"b": [1, 2.5], "a": 0}},
        {("data",): '{"a":0,"b":[1,2.5]}'},
    ),
    ("cloudevents.json", {**EVENT, "data": "text"}, {("data",): '"text"', ("time",): EVENT["time"]}),
    ("cloudevents.json", {**EVENT, "data": 5}, {("data",): "5"}),
    ("cloudevents.json", {**EVENT, "data_base64": "AAE="}, {("data",): None, ("data_base64",): "AAE="}),
    (
        "cloudevents.avsc",
        AVRO,
        {
            ("attribute", "n", "int"): 7,
            ("attribute", "raw", "bytes"): b"\0\1",
            ("attribute", "none"): None,
            ("data", "map", "s", "string"): "text",
            (*IN_A, "k", "array"): ['{"value":{"x":1.5}}'],
            (*IN_A, "m", "map", "j"): '{"value":{"y":"t"}}',
        },
    ),
    (
        "cloudevents.proto",
        PROTO,
        {
            ("id",): "A",
            ("attributes", "n", "attr", "ce_integer"): 7,
            ("data", "proto_data", "type_url"): PROTO["protoData"]["@type"],
            ("data", "proto_data", "value"): b"\x08\x01\x10\x80\xca\xb5\xee\x01",
            ("data", "text_data"): None,
        },
    ),
    ("recentchange.json", {**CHANGE, "log_params": {"b": 1, "a": []}}, {("log_params",): '{"a":[],"b":1}'}),
    ("recentchange.json", {**CHANGE, "log_params": []}, {("log_params",): "[]", ("id",): CHANGE["id"]}),
    ("recentchange.json", {**CHANGE, "id": None}, {("id",): None, ("length", "new"): 512, ("bot",): False}),
    (
        "OpenLineage.json",
        RUN,
        {
            ("value", FIRST, "eventType"): "COMPLETE",
            (
                "value",
                FIRST,
                "run",
                "facets",
            ): '{"nominalTime":{"_producer":"p","_schemaURL":"u","m":1.5}}',
            ("value", FIRST, "job"): {"namespace": "my-namespace", "name": "myjob.mytask", "facets": None},
            ("value", FIRST, "inputs", 0, "name"): "public.orders",
            ("value", SECOND): None,
            ("value", THIRD): None,
        },
    ),
    (
        "OpenLineage.json",
        DATASET,
        {
            ("value", SECOND, "dataset"): {"namespace": "db", "name": "public.orders", "facets": "{}"},
            ("value", FIRST): None,
            ("value", THIRD): None,
        },
    ),
    (
        "OpenLineage.json",
        JOB,
        {
            ("value", THIRD, "job", "name"): "myjob.mytask",
            ("value", FIRST): None,
            ("value", SECOND): None,
        },
    ),
    (
        "trace.proto",
        TRACES,
        {
            (*SPAN_AT, "trace_id"): bytes.fromhex("5b8efff798038103d269f633813fc60c"),
            (*SPAN_AT, "kind"): "SPAN_KIND_SERVER",
            (*SPAN_AT, "start_time_unix_nano"): 1_544_712_660_000_000_000,
            (*SPAN_AT, "attributes", 0, "value", "value", "int_value"): 200,
            (*SPAN_AT, "attributes", 1, "value", "value", "array_value", "values"): [
                '{"stringValue":"a"}',
                '{"boolValue":true}',
            ],
        },
    ),
    (
        "fhir.json",
        PATIENT,
        {
            ("value", SECOND, "birthDate"): "1944-11-17",
            ("value", SECOND, "extension", 0, "url"): "http://x/a",
            ("value", SECOND, "extension", 0, "extension"): ['{"url":"http://x/b","valueDecimal":1.1}'],
            ("value", FIRST): None,
        },
    ),
    (
        "fhir.json",
        OBSERVATION,
        {
            ("value", FIRST, "valueQuantity", "value"): 6.2,
            ("value", FIRST, "code", "text"): "Carbon dioxide in blood",
            ("value", SECOND): None,
        },
    ),
]


@pytest.mark.parametrize(("name", "record", "wanted"), CASES)
def test_a_real_record_of_a_public_schema_lands_with_every_value(
    name: str, record: Any, wanted: dict[tuple[str | int, ...], Any]
) -> None:
    decoded = row(name, record)

    assert {path: at(decoded, *path) for path in wanted} == wanted


def test_a_resource_within_another_is_its_json() -> None:
    (text,) = at(row("fhir.json", OBSERVATION), "value", FIRST, "contained")

    assert json.loads(text) == PATIENT


@pytest.mark.parametrize("name", ["OpenLineage.json", "cloudevents.json", "trace.proto", "cloudevents.avsc"])
def test_the_refusal_of_a_public_schema_proposes_what_lands_it(name: str) -> None:
    assert [bool(columns.fields) for columns in followed(schemas(name, REFUSED))] == [True, True]


def test_what_only_constrains_is_checked_where_validation_is_strict() -> None:
    event = {**DATASET, "run": RUN["run"], "job": RUN["job"]}  # by its schema a dataset's event has no run
    event.pop("dataset")
    assert row("OpenLineage.json", event)
    bad = {**event, "run": "none", "dataset": DATASET["dataset"]}

    assert row("OpenLineage.json", bad)
    with pytest.raises(AssertionError, match="False"):
        row("OpenLineage.json", bad, strict=True)
