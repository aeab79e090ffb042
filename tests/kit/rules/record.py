"""What Confluent's own consumer says of records by conditions in CEL, as a file that tests read.

Its executor of CEL needs packages that nothing else here needs, so its verdicts are kept in `recorded.json`.
In an environment of its own: `pip install 'confluent-kafka[avro,json,rules]'` and
`python tests/kit/rules/record.py`.
Truth values are left out: this client hands them to CEL as whole numbers.
"""

from __future__ import annotations

import base64
import json
from io import BytesIO
from pathlib import Path
from typing import Any

from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer
from confluent_kafka.schema_registry.rule_registry import RuleRegistry
from confluent_kafka.schema_registry.rules.cel.cel_executor import CelExecutor
from confluent_kafka.serialization import MessageField, SerializationContext, SerializationError
from fastavro import parse_schema, schemaless_writer

FILE = Path(__file__).parent / "recorded.json"
TEXT = ["null", "string"]
NAMES = ("n0", "n3", "", "B\u00e4r", "n44", "lang\u00e4r")

AVRO = {
    "type": "record", "name": "Order", "namespace": "org.shop",
    "fields": [
        {"name": "qty", "type": "int"},
        {"name": "amount", "type": "double"},
        {"name": "name", "type": "string"},
        {"name": "currency", "type": TEXT, "default": None},
        {"name": "note", "type": TEXT, "default": None},
        {"name": "home", "type": {"type": "record", "name": "Home", "fields": [
            {"name": "city", "type": "string"}, {"name": "zip", "type": TEXT, "default": None}]}},
        {"name": "back", "type": ["null", "Home"], "default": None},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "scan", "type": "bytes"},
    ],
}  # fmt: skip

_HOME = {
    "type": "object", "required": ["city"],
    "properties": {"city": {"type": "string"}, "zip": {"type": "string"}},
}  # fmt: skip

JSON = {
    "$schema": "http://json-schema.org/draft-07/schema#", "title": "Order", "type": "object",
    "required": ["qty", "amount", "name", "home", "tags"],
    "properties": {
        "qty": {"type": "integer"}, "amount": {"type": "number"}, "name": {"type": "string"},
        "currency": {"type": ["null", "string"]}, "note": {"type": "string"}, "home": _HOME, "back": _HOME,
        "tags": {"type": "array", "items": {"type": "string"}},
    },
}  # fmt: skip

BOTH = [
    "message.amount > 0.0",
    "message.qty >= 2 && message.name != ''",
    "message.currency == 'EUR'",
    'message.currency in ["EUR", "USD"]',
    "message.back.city == 'Oslo'",
    "message.home.city == 'Oslo' || message.back.city == 'Oslo'",
    "message.name.matches('^n[0-9]+$')",
    r"message.name.matches(r'n\d') || message.name.matches('\\d\\d')",
    "message.name.startsWith('n') && !message.name.endsWith('3')",
    "message.name.contains('\u00e4')",
    "size(message.name) == 3 || message.name.size() > 4",
    "size(message.tags) > 1",
    "message.home.city == 'Oslo' ; message.amount < 2.0",
    " ; message.qty > 1",
    "message.qty * 2 - 1 > 3 + message.qty",
    "-message.qty < -1",
    "message.qty > 1 ? message.amount > 3.0 : message.name == 'n0'",
    "message.home.zip.startsWith('1')",
    "message.name < 'n3'",
    "message.amount < 3.0 || message.currency == 'EUR'",
    "message.currency > 'F' || message.amount > 4.0",
    "!(message.currency > 'F')",
    "!(message.qty == 2) && !(message.home.city == 'Oslo' && message.qty > 3)",
    "'Oslo' == message.home.city",
    "message['home'].city != \"Oslo\"",
    "(message.qty + 1) in [1, 3, 5]",
    "message.qty == 2 || message.qty != 4 && message.qty < 3",
    "true",
    "message.qty > 1 == true",
]
"""Conditions that columns tell of both formats."""

AVRO_ALONE = [
    "message.back.city == 'Oslo' ; message.amount < 2.0",
    "message.currency != 'EUR'",
    "message.currency == null || size(message.currency) == 3",
    "message.currency != null && message.note == null",
    "!(message.currency == 'EUR')",
    "message.back.city != 'Oslo'",
    "message.back == null || message.back.city != 'Oslo'",
    "message.back.zip == null",
    "message.note == message.currency",
    "message.note != message.currency",
    "!(message.currency in ['EUR', 'USD'])",
    "size(message.scan) > 2",
    "message.amount * 2.0 - 1.0 > 3.0",
    "message.currency == 'EUR' ; message.amount < 3.0",
]
"""Those that ask for null, or may pass because of it: a JSON record may also lack the field."""


def orders(kind: str) -> list[dict[str, Any]]:
    """Records, some of which lack what others have."""
    currencies = ["EUR", None, "USD", "", "EUR", None, "NOK", "EUR"]
    made = []
    for number, currency in enumerate(currencies):
        home = {"city": ["Oslo", "Ulm"][number % 2], "zip": [None, "10", "23"][number % 3]}
        back = None if number % 3 == 0 else {"city": ["Ulm", "Oslo", "Rom"][number % 3], "zip": None}
        made.append({
            "qty": number - 1, "amount": number * 0.75 - 0.5, "name": NAMES[number % 6], "currency": currency,
            "note": [None, "EUR"][number // 2 % 2], "home": home, "back": back,
            "tags": ["a", "b", "c"][: number % 4], "scan": bytes(number),
        })  # fmt: skip
    return made if kind == "AVRO" else [_as_json(order, number) for number, order in enumerate(made)]


def _as_json(order: dict[str, Any], number: int) -> dict[str, Any]:
    """Without the fields that have no value; every other time with a null where the schema has one."""
    del order["scan"]
    for record in (order, order["home"], order["back"] or {}):
        for name in [name for name, value in record.items() if value is None]:
            if name != "currency" or number % 4 == 1:
                del record[name]
    return order


def payload(kind: str, value: dict[str, Any]) -> bytes:
    if kind == "JSON":
        return json.dumps(value, ensure_ascii=False).encode()
    written = BytesIO()
    schemaless_writer(written, parse_schema(AVRO), value)
    return written.getvalue()


def verdicts(kind: str, condition: str, payloads: list[bytes]) -> list[bool]:
    """Which records a consumer gets; of the others its deserializer raises."""
    registry, own = SchemaRegistryClient.new_client({"url": "mock://rules"}), RuleRegistry()
    own.register_executor(CelExecutor())
    rule = {"name": "fit", "kind": "CONDITION", "mode": "READ", "type": "CEL", "expr": condition}
    text = json.dumps(AVRO if kind == "AVRO" else JSON)
    schema = {"schemaType": kind, "schema": text, "ruleSet": {"domainRules": [rule]}}
    number = registry.register_schema("orders-value", Schema.from_dict(schema))
    if kind == "AVRO":
        read: Any = AvroDeserializer(registry, rule_registry=own)
    else:
        read = JSONDeserializer(None, schema_registry_client=registry, rule_registry=own)
    prefix = b"\0" + number.to_bytes(4, "big")
    return [_passes(read, prefix + each) for each in payloads]


def _passes(read: Any, raw: bytes) -> bool:
    try:
        read(raw, SerializationContext("orders", MessageField.VALUE, []))
    except SerializationError:
        return False
    return True


def recorded(kind: str) -> dict[str, Any]:
    payloads = [payload(kind, order) for order in orders(kind)]
    conditions = [*BOTH, *(AVRO_ALONE if kind == "AVRO" else ())]
    return {
        "schema": AVRO if kind == "AVRO" else JSON,
        "payloads": [base64.b64encode(each).decode() for each in payloads],
        "verdicts": {condition: verdicts(kind, condition, payloads) for condition in conditions},
    }


if __name__ == "__main__":
    text = json.dumps({kind: recorded(kind) for kind in ("AVRO", "JSON")}, indent=1, ensure_ascii=False)
    FILE.write_text(f"{text}\n", encoding="utf-8")
