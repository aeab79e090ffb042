"""What AWS' serializers in Java wrote, and the schemas that they registered. See `record`."""

from __future__ import annotations

import base64
import json
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["records", "schema", "values"]


@cache
def _recorded() -> dict[str, Any]:
    known: dict[str, Any] = json.loads((Path(__file__).parent / "recorded.json").read_text(encoding="utf-8"))
    return known


def values() -> list[dict[str, Any]]:
    """The records as their producer had them."""
    known: list[dict[str, Any]] = _recorded()["values"]
    return known


def schema(kind: str) -> tuple[str, str]:
    """The version of a format's schema, and its text."""
    return _recorded()[kind]["version"], _recorded()[kind]["schema"]


def records(kind: str, compression: str) -> list[bytes]:
    return [base64.b64decode(each) for each in _recorded()[kind]["records"][compression]]
