"""What bytes look like, without any schema."""

from __future__ import annotations

import json
from typing import Any, NoReturn


def is_framed(part: bytes | None) -> bool:
    """Whether they begin as Confluent's serializers begin: a zero, and the id of a schema."""
    return part is not None and len(part) >= 5 and part[0] == 0


def schema_id(part: bytes) -> int:
    """The id behind the zero."""
    return int.from_bytes(part[1:5], "big")


def is_text(part: bytes) -> bool:
    """Whether they are UTF-8 without a zero."""
    try:
        return "\0" not in part.decode()
    except UnicodeDecodeError:
        return False


def json_object(part: bytes | None) -> dict[str, Any] | None:
    """The JSON object that they are; None where they are anything else."""
    if part is None or not part.lstrip(b" \t\r\n").startswith(b"{"):
        return None
    try:
        value = json.loads(part.decode(), parse_constant=_no_number)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number of JSON")
