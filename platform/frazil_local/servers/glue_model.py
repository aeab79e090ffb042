"""What botocore's model of a service says of each request: the stand-in refuses what Glue itself would.

moto takes texts of any length, and any letters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import botocore.session

_SUPPLEMENTARY = "\\uD800\\uDC00-\\uDBFF\\uDFFF"
"""All letters beyond 16 bits, as Java writes them."""


def refusals(action: str, request: dict[str, Any], service: str = "glue") -> list[str]:
    """Why AWS would refuse a request, a sentence for each fault; none where it would take it."""
    return list(_faults(_model(service).operation_model(action).input_shape, request, ""))


@cache
def _model(service: str) -> Any:
    return botocore.session.get_session().get_service_model(service)


def _faults(shape: Any, value: Any, at: str) -> Iterator[str]:
    match shape.type_name:
        case "structure" if isinstance(value, dict):
            yield from _of_parts(shape, value, at)
        case "list" if isinstance(value, list):
            yield from _size(shape, len(value), at)
            for number, each in enumerate(value, 1):
                yield from _faults(shape.member, each, f"{at}{number}.member.")
        case "map" if isinstance(value, dict):
            for key, each in value.items():
                yield from _faults(shape.key, key, f"{at}key.")
                yield from _faults(shape.value, each, f"{at}value.")
        case "string" if isinstance(value, str):
            yield from _of_text(shape, value, at)
        case "integer" | "long" if isinstance(value, int):
            yield from _size(shape, value, at, "have value")


def _of_parts(shape: Any, value: dict[str, Any], at: str) -> Iterator[str]:
    for name in shape.metadata.get("required", ()):
        if value.get(name) is None:
            yield f"{_at(at + name)}: Member must not be null"
    for name, member in shape.members.items():
        yield from _faults(member, value.get(name), f"{at}{name}.")


def _of_text(shape: Any, text: str, at: str) -> Iterator[str]:
    yield from _size(shape, len(text.encode("utf-16-le", "surrogatepass")) // 2, at)
    pattern = shape.metadata.get("pattern")
    if pattern and not _compiled(pattern).fullmatch(text):
        yield f"{_at(at)}: Member must satisfy regular expression pattern: {pattern}"
    if shape.enum and text not in shape.enum:
        yield f"{_at(at)}: Member must satisfy enum value set: {shape.enum}"


def _size(shape: Any, size: int, at: str, what: str = "have length") -> Iterator[str]:
    least, most = shape.metadata.get("min"), shape.metadata.get("max")
    if least is not None and size < least:
        yield f"{_at(at)}: Member must {what} greater than or equal to {least}"
    if most is not None and size > most:
        yield f"{_at(at)}: Member must {what} less than or equal to {most}"


def _at(at: str) -> str:
    return f"Value at '{at.rstrip('.')}' failed to satisfy constraint"


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """As Java reads it: without its words for classes of letters, which Python lacks."""
    plain = pattern.replace(_SUPPLEMENTARY, "\\U00010000-\\U0010ffff")
    plain = re.sub(r"\\p\{[LN]\}", "\\\\w", plain).replace("\\p{Z}", "\\s").replace("\\p{Graph}", "\\S")
    try:
        return re.compile(plain)
    except re.error:
        return re.compile(".*", re.DOTALL)
