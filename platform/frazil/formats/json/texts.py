"""Values that no column holds, within a record of JSON: a text that is their own stands in their place.

A record's text is read by Python, and written again with a string where a free-form value was; all other
values, numbers above all, are written as they stood. Spark then reads it as any other record.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from frazil.exact import values_of
from frazil.formats.json.nodes import Entries, Items, Members, Node, Pairs, Scalar, has_text
from frazil.formats.unmappable import Written, digits_text, json_text, number_text
from frazil.formats.wire import HEADER


class _Repeated(ValueError):
    """A key stands twice in a value that becomes text."""


class _Object(list[tuple[str, Any]]):
    """An object's members, as they stand."""


def rewriter(nodes: Mapping[int, Node], framed: bool) -> Callable[[Any], Any]:
    """A function from records' bytes to texts for Spark, by schema id; null where they are no JSON."""
    known = dict(nodes)
    (first, *_) = known

    def each(raws: Any) -> Any:
        import pyarrow as pa

        return pa.array([_rewritten(known, first, framed, raw) for raw in values_of(raws)], pa.binary())

    return each


def _rewritten(nodes: Mapping[int, Node], first: int, framed: bool, raw: bytes | None) -> bytes | None:
    if raw is None:
        return None
    node = nodes.get(int.from_bytes(raw[1:HEADER], "big") if framed else first)
    payload = raw[HEADER:] if framed else raw
    return payload if node is None or not has_text(node) else with_texts(node, payload)


def text_of(text: bytes) -> str | None:
    """A value of JSON as text of its own: canonical; None where one of its keys stands twice."""
    try:
        return json_text(_whole(_loaded(text.decode())))
    except (ValueError, RecursionError):
        return None


def with_texts(node: Node, payload: bytes) -> bytes | None:
    """A record whose free-form values are texts; None where it is no JSON, or one of them is ambiguous."""
    try:
        return _written(_with_texts(node, _loaded(payload.decode()))).encode()
    except (ValueError, RecursionError):
        return None


def _loaded(text: str) -> Any:
    """What the text says, with each number as it is written and each member of an object."""
    return json.loads(
        text,
        parse_int=Written,
        parse_float=Written,
        parse_constant=_no_constant,
        object_pairs_hook=_Object,
    )


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _with_texts(node: Node, value: Any) -> Any:
    """The value, and texts where the node has them; what is of another type stays, and is found out later."""
    if value is None or not has_text(node):
        return value
    match node, value:
        case Scalar(wire="digits"), Written():
            return number_text(value)
        case Scalar(wire="base64_digits"), str() if not isinstance(value, Written):
            return str(digits_text(base64.b64decode(value, validate=True), node.declared[1]))
        case Scalar(wire="digits" | "base64_digits"), _:
            raise ValueError(f"{value!s:.100} is no decimal")
        case Scalar(), _:
            return json_text(_whole(value))
        case Items(), list() if not isinstance(value, _Object):
            return [_with_texts(node.element, each) for each in value]
        case Entries(), _Object():
            return _Object((name, _with_texts(node.value, each)) for name, each in value)
        case Members(), _Object():
            return _Object((name, _of_member(node, name, each)) for name, each in value)
        case Pairs(), list() if not isinstance(value, _Object):
            return [_entry(node, each) for each in value]
    return value


def _of_member(node: Members, name: str, value: Any) -> Any:
    member = node.get(name)
    return _with_texts(member.node, value) if member else value


def _entry(node: Pairs, value: Any) -> Any:
    if not isinstance(value, _Object):
        return value
    parts = {"key": node.key, "value": node.value}
    return _Object((name, _with_texts(parts[name], each) if name in parts else each) for name, each in value)


def _whole(value: Any) -> Any:
    """A value of which each key stands there once."""
    if isinstance(value, _Object):
        found = {name: _whole(each) for name, each in value}
        if len(found) < len(value):
            raise _Repeated
        return found
    return [_whole(each) for each in value] if isinstance(value, list) else value


def _written(value: Any) -> str:
    """The text, with each number and each key as it stood."""
    match value:
        case Written():
            return str(value)
        case _Object():
            return _joined("{%s}", (f"{json.dumps(name)}:{_written(each)}" for name, each in value))
        case list():
            return _joined("[%s]", map(_written, value))
        case _:
            return json.dumps(value)


def _joined(form: str, parts: Iterable[str]) -> str:
    return form % ",".join(parts)
