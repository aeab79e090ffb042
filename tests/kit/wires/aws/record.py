"""Records by AWS' serializers in Java, and the schemas that they registered, as a file that tests read.

They need jars that nothing else here needs, so what they wrote is kept in `recorded.json`. With Maven and
Java 11 or newer, and moto of the extra `local`: `python tests/kit/wires/aws/record.py`. Each run makes other
versions.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from botocore.session import Session
from moto.server import ThreadedMotoServer

HERE = Path(__file__).parent
SERDE = "1.1.24"
IDENTITY = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_EC2_METADATA_DISABLED": "true"}

VALUES: list[dict[str, Any]] = [
    {"n": 1, "t": "a", "line": {"sku": "x-1", "qty": 3}, "tags": []},
    {"n": -70000, "t": "B\u00e4r" * 30, "line": {"sku": "", "qty": 9_000_000_000}, "tags": ["p", "q"]},
]

AVRO = {
    "type": "record", "name": "Order", "namespace": "shop",
    "fields": [
        {"name": "n", "type": "int"},
        {"name": "t", "type": "string"},
        {"name": "line", "type": {"type": "record", "name": "Line", "fields": [
            {"name": "sku", "type": "string"}, {"name": "qty", "type": "long"}]}},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
    ],
}  # fmt: skip

JSON = {
    "$schema": "http://json-schema.org/draft-07/schema#", "title": "Order", "type": "object",
    "required": ["n", "t", "line", "tags"],
    "properties": {
        "n": {"type": "integer"}, "t": {"type": "string"},
        "line": {"type": "object", "required": ["sku", "qty"], "properties": {
            "sku": {"type": "string"}, "qty": {"type": "integer"}}},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
}  # fmt: skip

PROTOBUF = """name: "order.proto" package: "shop" syntax: "proto3"
message_type { name: "Zoo" field { name: "z" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL } }
message_type { name: "Order"
  field { name: "n" number: 1 type: TYPE_INT32 label: LABEL_OPTIONAL }
  field { name: "t" number: 2 type: TYPE_STRING label: LABEL_OPTIONAL }
  field { name: "line" number: 3 type: TYPE_MESSAGE type_name: ".shop.Order.Line" label: LABEL_OPTIONAL }
  field { name: "tags" number: 4 type: TYPE_STRING label: LABEL_REPEATED }
  nested_type { name: "Line"
    field { name: "sku" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }
    field { name: "qty" number: 2 type: TYPE_INT64 label: LABEL_OPTIONAL } } }
message_type { name: "Apple" field { name: "a" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL } }
"""
"""The records are of the second message, which is the second by name as well, and not the first."""

SCHEMAS = {"AVRO": json.dumps(AVRO), "JSON": json.dumps(JSON), "PROTOBUF": PROTOBUF}


def recorded() -> dict[str, Any]:
    server = ThreadedMotoServer("127.0.0.1", 0)
    server.start()
    endpoint = "http://127.0.0.1:{1}".format(*server.get_host_and_port())
    try:
        with TemporaryDirectory() as folder:
            lines = _written(Path(folder), endpoint)
        return {"values": VALUES} | {kind: _of_kind(kind, lines, endpoint) for kind in SCHEMAS}
    finally:
        server.stop()


def _of_kind(kind: str, lines: list[list[str]], endpoint: str) -> dict[str, Any]:
    """A schema as it was registered, and its records by their compression."""
    glue = Session().create_client("glue", "us-east-1", endpoint_url=endpoint)
    named = {"RegistryName": "default-registry", "SchemaName": kind.lower()}
    version = glue.get_schema_version(SchemaId=named, SchemaVersionNumber={"LatestVersion": True})
    records = {way: [raw for k, w, raw in lines if (k, w) == (kind, way)] for way in ("NONE", "ZLIB")}
    return {"version": version["SchemaVersionId"], "schema": version["SchemaDefinition"], "records": records}


def _written(folder: Path, endpoint: str) -> list[list[str]]:
    """What the program prints: format, compression, record."""
    of_maven = (
        "<project><modelVersion>4.0.0</modelVersion><groupId>x</groupId><artifactId>x</artifactId>"
        "<version>1</version><dependencies><dependency><groupId>software.amazon.glue</groupId>"
        f"<artifactId>schema-registry-serde</artifactId><version>{SERDE}</version></dependency></dependencies>"
        "</project>"
    )
    (folder / "pom.xml").write_text(of_maven)
    for kind, text in SCHEMAS.items():
        (folder / kind).write_text(text)
        lines = (_in_protobuf(each) if kind == "PROTOBUF" else _in_json(each) for each in VALUES)
        (folder / f"{kind}.values").write_text("".join(f"{line}\n" for line in lines))
    jars = "dependency:build-classpath", f"-Dmdep.outputFile={folder / 'jars'}"
    subprocess.run(["mvn", "-q", "-B", *jars], cwd=folder, check=True)
    path = f"{folder}:{(folder / 'jars').read_text()}"
    subprocess.run(["javac", "-cp", path, "-d", folder, HERE / "Record.java"], check=True)
    program = ["java", "-cp", path, "Record", endpoint, folder]
    done = subprocess.run(
        program, env={**os.environ, **IDENTITY}, check=True, stdout=subprocess.PIPE, text=True
    )
    return [line.split() for line in done.stdout.splitlines()]


def _in_json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False)


def _in_protobuf(value: Mapping[str, Any]) -> str:
    line = " ".join(f"{name}: {_in_json(part)}" for name, part in value["line"].items())
    tags = " ".join(f"tags: {_in_json(tag)}" for tag in value["tags"])
    return f"n: {value['n']} t: {_in_json(value['t'])} line {{ {line} }} {tags}"


if __name__ == "__main__":
    os.environ.update(IDENTITY)
    text = json.dumps(recorded(), indent=1, ensure_ascii=False)
    (HERE / "recorded.json").write_text(f"{text}\n", encoding="utf-8")
