"""JSON Schema's values without parts, by their type and Connect's notes beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from frazil.formats.json.nodes import Scalar
from frazil.formats.logical import Decimal, Fixed, Primitive

__all__ = ["scalar"]

_CONNECT = "org.apache.kafka.connect.data."
_INTEGERS: dict[str, tuple[Primitive, tuple[int, int] | None]] = {
    "int8": (Primitive("int"), (-(2**7), 2**7 - 1)),
    "int16": (Primitive("int"), (-(2**15), 2**15 - 1)),
    "int32": (Primitive("int"), (-(2**31), 2**31 - 1)),
    "int64": (Primitive("long"), None),
}
_DAYS = (-719162, 2932896)
"""0001-01-01 and 9999-12-31: what every engine can show."""
_MILLIS = (_DAYS[0] * 86_400_000, _DAYS[1] * 86_400_000 + 86_399_999)

Refuse = Callable[[str, str], Exception]
"""Makes the error, of why and what to do."""


def scalar(kind: str, schema: dict[str, Any], refuse: Refuse) -> Scalar:
    """The node of a schema of one of the types without parts.

    Args:
        kind: Its type: `boolean`, `integer`, `number` or `string`.
        schema: All that it says.
        refuse: Makes the error where no column can hold it.
    """
    match kind:
        case "boolean":
            return Scalar(Primitive("boolean"), "boolean", None, _allowed(schema))
        case "integer" | "number" if schema.get("connect.type") == "bytes":
            return Scalar(_decimal(schema, refuse), "number")
        case "integer" | "number":
            return _number(kind, schema, refuse)
        case "string" if schema.get("connect.type") == "bytes":
            return _bytes(schema, refuse)
        case "string":
            return Scalar(Primitive("string"), "string", None, _allowed(schema))
        case _:
            raise refuse(f"{kind!r} is no type of JSON Schema", "Mend the schema.")


def _number(kind: str, schema: dict[str, Any], refuse: Refuse) -> Scalar:
    connect, title = schema.get("connect.type"), str(schema.get("title", "")).removeprefix(_CONNECT)
    allowed = _allowed(schema)
    match connect, title:
        case "int32", "Date":
            return Scalar(Primitive("date"), "days", _DAYS)
        case "int32", "Time":
            return Scalar(Primitive("long"), "time_millis", (0, 86_399_999))
        case "int64", "Timestamp" if _note(schema, "flink.type") == "timestamp":
            return Scalar(Primitive("timestamp"), "local_millis", _MILLIS)
        case "int64", "Timestamp":
            return Scalar(Primitive("timestamptz"), "millis", _MILLIS)
        case "float32", _:
            return Scalar(Primitive("float"), "float", None, allowed)
        case "float64", _:
            return Scalar(Primitive("double"), "double", None, allowed)
        case str(), _ if connect in _INTEGERS:
            column, bounds = _INTEGERS[connect]
            return Scalar(column, "integer", bounds, allowed)
        case None, _ if kind == "integer":
            return Scalar(Primitive("long"), "integer", None, allowed)
        case None, _:
            return Scalar(Primitive("double"), "double", None, allowed)
    raise refuse(
        f"connect.type {connect!r} does not go with {kind}", "Use int8 to int64, or float32, float64."
    )


def _bytes(schema: dict[str, Any], refuse: Refuse) -> Scalar:
    if str(schema.get("title", "")) == f"{_CONNECT}Decimal":
        return Scalar(_decimal(schema, refuse), "base64_number")
    shortest, longest = (_note(schema, f"flink.{k}Length") for k in ("min", "max"))
    if longest is not None and shortest == longest:
        return Scalar(Fixed(int(longest)), "base64")
    return Scalar(Primitive("binary"), "base64")


def _decimal(schema: dict[str, Any], refuse: Refuse) -> Decimal:
    names = ("connect.decimal.precision", "flink.precision", "precision")
    precision = next((p for n in names if (p := _note(schema, n)) is not None), 38)
    scale = _note(schema, "scale")
    try:
        found = Decimal(int(precision), 18 if scale is None else int(scale))
    except (TypeError, ValueError):
        raise refuse(f"decimal({precision},{scale}) is no size", "Write numbers.") from None
    if not 1 <= found.precision <= 38 or not 0 <= found.scale <= found.precision:
        raise refuse(f"decimal({found.precision},{found.scale}) is out of range", "Use 1..38 digits.")
    return found


def _note(schema: dict[str, Any], name: str) -> Any:
    """A note of Connect's or Flink's, wherever it stands."""
    return schema.get("connect.parameters", {}).get(name, schema.get(name))


def _allowed(schema: dict[str, Any]) -> tuple[str | int | float | bool, ...] | None:
    values = schema.get("enum", [schema["const"]] if "const" in schema else None)
    return None if values is None else tuple(v for v in values if isinstance(v, str | int | float))
