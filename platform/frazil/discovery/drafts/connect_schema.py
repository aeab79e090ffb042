"""JSON Schema from the schema that Connect's JSON converter writes beside each payload (`schemas.enable`)."""

from __future__ import annotations

from typing import Any

from frazil.errors import MALFORMED

_NUMBERS = {
    **{kind: ("integer", kind) for kind in ("int8", "int16", "int32", "int64")},
    "float": ("number", "float32"),
    "double": ("number", "float64"),
}

Schema = dict[str, Any]


def is_embedded(value: Any) -> bool:
    """Whether a value is a schema of Connect's and what it describes."""
    return isinstance(value, dict) and value.keys() == {"schema", "payload"}


def payload_schema(value: Any) -> Schema | None:
    """The JSON Schema of a value's payload; None where Connect's schema beside it says none."""
    try:
        return _schema(value["schema"])
    except MALFORMED:
        return None


def _schema(node: dict[str, Any]) -> Schema:
    schema = _kind(node)
    if name := node.get("name"):
        schema["title"] = name
    return {"oneOf": [{"type": "null"}, schema]} if node.get("optional") else schema


def _kind(node: dict[str, Any]) -> Schema:
    match kind := node["type"]:
        case "struct":
            fields = {field["field"]: _schema(field) for field in node["fields"]}
            required = [field["field"] for field in node["fields"] if not field.get("optional")]
            return {"type": "object", "properties": fields, "required": required}
        case "array":
            return {"type": "array", "items": _schema(node["items"])}
        case "map" if node["keys"]["type"] == "string":
            return {"type": "object", "additionalProperties": _schema(node["values"])}
        case "bytes":
            notes = {"connect.parameters": node["parameters"]} if node.get("parameters") else {}
            return {"type": "string", "connect.type": "bytes", **notes}
        case "boolean" | "string":
            return {"type": kind}
        case _:
            word, connect = _NUMBERS[kind]
            return {"type": word, "connect.type": connect}
