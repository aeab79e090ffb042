"""Values of JSON that no column holds, as text of their own: numbers, above all, as they are written."""

from __future__ import annotations

import json
from typing import Any

from frazil.formats.columns.unmappable import Written, json_text


class _Repeated(ValueError):
    """A key stands twice in a value that becomes text."""


class _Object(list[tuple[str, Any]]):
    """An object's members, as they stand."""


def text_of(text: bytes) -> str | None:
    """A value of JSON as text of its own: canonical; None where one of its keys stands twice."""
    try:
        return json_text(_whole(_loaded(text.decode())))
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


def _whole(value: Any) -> Any:
    """A value of which each key stands there once."""
    if isinstance(value, _Object):
        members = {name: _whole(each) for name, each in value}
        if len(members) < len(value):
            raise _Repeated
        return members
    return [_whole(each) for each in value] if isinstance(value, list) else value
