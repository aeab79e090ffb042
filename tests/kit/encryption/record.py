"""Records with encrypted fields, by Confluent's own serializers, as a file that tests read.

Their encryption needs packages that nothing else here needs, so what they wrote is kept in `recorded.json`.
In an environment of its own: `pip install 'confluent-kafka[avro,json,protobuf,rules]' grpcio-tools` and
`python tests/kit/encryption/record.py`. Each run makes other keys.
"""

from __future__ import annotations

import base64
import copy
import json
import sys
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.confluent import meta_pb2
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.schema_registry.rule_registry import RuleRegistry
from confluent_kafka.schema_registry.rules.encryption.dek_registry.dek_registry_client import DekAlgorithm
from confluent_kafka.schema_registry.rules.encryption.encrypt_executor import Clock, FieldEncryptionExecutor
from confluent_kafka.schema_registry.rules.encryption.localkms.local_driver import LocalKmsDriver
from confluent_kafka.serialization import MessageField, SerializationContext

FILE = Path(__file__).parent / "recorded.json"
SECRET = "the secret of a local key service"
KEK = "people-kek"
DAY = 86_400_000

AVRO = {
    "type": "record", "name": "Person", "namespace": "org.people",
    "fields": [
        {"name": "id", "type": "int"},
        {"name": "email", "type": "string", "confluent:tags": ["PII"]},
        {"name": "scan", "type": "bytes", "confluent:tags": ["PII"]},
        {"name": "city", "type": "string"},
        {"name": "note", "type": ["null", "string"], "default": None, "confluent:tags": ["PII", "FREE"]},
        {"name": "either", "type": ["null", "string", "bytes"], "default": None, "confluent:tags": ["PII"]},
        {"name": "card", "type": "string"},
        {"name": "home", "type": {"type": "record", "name": "Home", "fields": [
            {"name": "street", "type": "string"},
            {"name": "phone", "type": "string", "confluent:tags": ["PII"]}]}},
        {"name": "others", "type": {"type": "array", "items": "Home"}},
        {"name": "names", "type": {"type": "array", "items": "string"}, "confluent:tags": ["PII"]},
        {"name": "by_year", "type": {"type": "map", "values": "string"}, "confluent:tags": ["PII"]},
    ],
}  # fmt: skip

JSON = {
    "$schema": "http://json-schema.org/draft-07/schema#", "title": "Person", "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "email": {"type": "string", "confluent:tags": ["PII"]},
        "city": {"type": "string"},
        "note": {"oneOf": [{"type": "null"}, {"type": "string"}], "confluent:tags": ["PII"]},
        "nick": {"type": ["null", "string"], "confluent:tags": ["PII"]},
        "card": {"type": "string"},
        "home": {"$ref": "#/definitions/home"},
        "others": {"type": "array", "items": {"$ref": "#/definitions/home"}},
        "names": {"type": "array", "items": {"type": "string"}, "confluent:tags": ["PII"]},
    },
    "definitions": {"home": {"type": "object", "properties": {
        "street": {"type": "string"}, "phone": {"type": "string", "confluent:tags": ["PII"]}}}},
}  # fmt: skip

PROTOBUF = """
syntax = "proto3";
package org.people;
import "confluent/meta.proto";
message Home {
  string street = 1;
  string phone = 2 [(confluent.field_meta).tags = "PII"];
}
message Person {
  int32 id = 1;
  string email = 2 [(confluent.field_meta).tags = "PII"];
  bytes scan = 3 [(confluent.field_meta).tags = "PII"];
  string city = 4;
  optional string note = 5 [(confluent.field_meta).tags = "PII", (confluent.field_meta).tags = "FREE"];
  string card = 6;
  Home home = 7;
  repeated Home others = 8;
  repeated string names = 9 [(confluent.field_meta).tags = "PII"];
  map<string, string> by_year = 10;
  oneof contact {
    string phone = 11 [(confluent.field_meta).tags = "PII"];
    string room = 12;
  }
}
"""

TAGGED = {"AVRO": {"**.Person.card": ["PCI"]}, "JSON": {"$.card": ["PCI"]}, "PROTOBUF": {"**.card": ["PCI"]}}
"""Tags that stand in the registry, and not in the text of a schema."""


class Turning(Clock):
    """A clock by which a key is too old once, where it is told to."""

    turns = False

    def now(self) -> int:
        late, self.turns = self.turns, False
        return int(super().now()) + (2 * DAY if late else 0)


def person(number: int, kind: str) -> dict[str, Any]:
    """A record as its producer has it; bytes in base64."""
    empty = number % 4 == 3
    value: dict[str, Any] = {
        "id": number, "email": f"ann{number}@example.com", "city": "Ulm",
        "note": None if number % 2 else f"ill since {number} días", "card": f"4111 1111 {number:04}",
        "home": {"street": f"Way {number}", "phone": f"+49 170 {number}"},
        "others": [] if empty else [{"street": "a", "phone": f"+1 {n}"} for n in range(number % 3)],
        "names": [] if empty else [f"name {n}" for n in range(number % 4)],
    }  # fmt: skip
    if kind == "JSON":
        return {**value, "nick": None if number % 3 else f"nick {number}"}
    value |= {"scan": base64.b64encode(bytes([number, 0, 255])).decode(), "by_year": {"2026": f"y{number}"}}
    if kind == "AVRO":
        return {**value, "either": [None, f"text {number}"][number % 2]}
    return {**value, **({"phone": f"+2 {number}"} if number % 2 else {"room": "12a"})}


def rules(algorithm: str, days: int) -> dict[str, Any]:
    """Two rules that encrypt by one KEK, and one that a reader shall ask."""
    params = {"encrypt.kek.name": KEK, "encrypt.kms.type": "local-kms", "encrypt.kms.key.id": "any"}
    params |= {"encrypt.dek.algorithm": algorithm, **({"encrypt.dek.expiry.days": str(days)} if days else {})}
    encrypting = [
        {"name": f"hide_{tag.lower()}", "kind": "TRANSFORM", "mode": "WRITEREAD", "type": "ENCRYPT",
         "tags": [tag], "params": params, "onFailure": "ERROR,NONE"}
        for tag in ("PII", "PCI")
    ]  # fmt: skip
    return {"domainRules": encrypting}


def written(kind: str, algorithm: str, turns: bool) -> dict[str, Any]:
    """One case: what the registry holds, and each record with its bytes."""
    name = f"{kind.lower()}_{algorithm.lower()}{'_turning' if turns else ''}"
    registry, clock = SchemaRegistryClient.new_client({"url": f"mock://{name}"}), Turning()
    executor = FieldEncryptionExecutor(clock)
    own = RuleRegistry()
    own.register_executor(executor)
    subject = f"{name}-value"
    schema = {
        "schemaType": kind, "schema": _text(kind), "ruleSet": rules(algorithm, 1 if turns else 0),
        "metadata": {"tags": TAGGED[kind]},
    }  # fmt: skip
    of_client = copy.deepcopy(schema)
    of_client["metadata"]["tags"] = {
        name: tuple(tags) for name, tags in TAGGED[kind].items()
    }  # it hashes them
    schema_id = registry.register_schema(subject, Schema.from_dict(of_client))
    encode = _encoder(kind, registry, own)
    records = []
    for number in range(8):
        clock.turns = turns and number in (3, 6)
        value = person(number, kind)
        raw = encode(copy.deepcopy(value), SerializationContext(name, MessageField.VALUE, []))
        records.append({"value": value, "bytes": base64.b64encode(raw).decode()})
    client = executor.executor.client
    deks = [
        client.get_dek(KEK, subject, DekAlgorithm[algorithm], version)
        for version in (1, 2, 3)[: 3 if turns else 1]
    ]
    return {
        "name": name, "kind": kind, "id": schema_id, "schema": schema, "secret": SECRET,
        "kek": client.get_kek(KEK).to_dict(), "deks": [dek.to_dict() for dek in deks], "records": records,
    }  # fmt: skip


def _encoder(kind: str, registry: Any, own: RuleRegistry) -> Callable[[dict[str, Any], Any], bytes]:
    conf = {"auto.register.schemas": False, "use.latest.version": True}
    more = {"conf": conf, "rule_conf": {"secret": SECRET}, "rule_registry": own}
    if kind == "AVRO":
        return _with_bytes(AvroSerializer(registry, None, **more), "scan")
    if kind == "JSON":
        return JSONSerializer(None, registry, **more)
    person_class = _classes()["org.people.Person"]
    serialize = ProtobufSerializer(person_class, registry, **more)
    return _with_bytes(lambda value, context: serialize(person_class(**_present(value)), context), "scan")


def _with_bytes(encode: Callable[[dict[str, Any], Any], bytes], name: str) -> Any:
    return lambda value, context: encode({**value, name: base64.b64decode(value[name])}, context)


def _present(value: dict[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in value.items() if each is not None}


def _text(kind: str) -> str:
    if kind != "PROTOBUF":
        return json.dumps(AVRO if kind == "AVRO" else JSON)
    return base64.b64encode(_file().serialized_pb).decode()


def _file() -> Any:
    return _classes()["org.people.Person"].DESCRIPTOR.file


def _classes() -> dict[str, Any]:
    """The messages' classes, in protobuf's own pool, where the client looks for tags."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    from grpc_tools import protoc

    pool = descriptor_pool.Default()
    try:
        file = pool.FindFileByName("people.proto")
    except KeyError:
        with TemporaryDirectory() as made:
            folder = Path(made)
            (folder / "people.proto").write_text(PROTOBUF)
            (folder / "confluent").mkdir()
            (folder / "confluent" / "meta.proto").write_text(_meta())
            known = [f"-I{folder}", f"-I{files('grpc_tools') / '_proto'}"]
            asked = [*known, f"--descriptor_set_out={folder / 'set'}", "people.proto"]
            assert protoc.main(["protoc", *asked]) == 0
            own = descriptor_pb2.FileDescriptorSet.FromString((folder / "set").read_bytes())
        pool.Add(own.file[0])
        file = pool.FindFileByName("people.proto")
    return {m.full_name: message_factory.GetMessageClass(m) for m in file.message_types_by_name.values()}


def _meta() -> str:
    protos = Path(__file__).parents[3] / "platform/frazil/formats/protobuf/protos/confluent/meta.proto"
    assert meta_pb2.DESCRIPTOR.name == "confluent/meta.proto"
    return protos.read_text()


def cases() -> Iterator[dict[str, Any]]:
    LocalKmsDriver.register()
    for algorithm in ("AES256_GCM", "AES128_GCM", "AES256_SIV"):
        yield written("AVRO", algorithm, False)
    yield written("AVRO", "AES256_GCM", True)
    yield written("JSON", "AES256_GCM", False)
    yield written("PROTOBUF", "AES256_SIV", False)


if __name__ == "__main__":
    FILE.write_text(json.dumps(list(cases()), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    sys.stdout.write(f"{FILE}\n")
