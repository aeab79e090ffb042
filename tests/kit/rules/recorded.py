"""What Confluent's consumer says of records by conditions in CEL. See `record`."""

from __future__ import annotations

import base64
import json
from functools import cache
from pathlib import Path
from typing import Any

from kit.wires.answering import Answer

__all__ = ["answers", "framed", "payloads", "schema", "verdicts"]

ID = 7


@cache
def _recorded() -> dict[str, Any]:
    known: dict[str, Any] = json.loads((Path(__file__).parent / "recorded.json").read_text(encoding="utf-8"))
    return known


def schema(kind: str) -> str:
    return json.dumps(_recorded()[kind]["schema"])


def payloads(kind: str) -> list[bytes]:
    return [base64.b64decode(each) for each in _recorded()[kind]["payloads"]]


def framed(kind: str) -> list[bytes]:
    """The records behind Confluent's prefix."""
    return [b"\0" + ID.to_bytes(4, "big") + each for each in payloads(kind)]


def verdicts(kind: str) -> dict[str, list[bool]]:
    """Whether a consumer gets each record, by condition."""
    known: dict[str, list[bool]] = _recorded()[kind]["verdicts"]
    return known


def answers(topic: str, kind: str, *rules: dict[str, Any]) -> dict[str, Answer]:
    """What a registry says of a topic's values."""
    subject = f"{topic}-value"
    version = {
        "subject": subject, "version": 1, "id": ID, "schemaType": kind, "schema": schema(kind),
        "ruleSet": {"domainRules": [*rules]},
    }  # fmt: skip
    at = f"/subjects/{subject}/versions"
    known: dict[str, Any] = {f"{at}/latest": version, f"{at}/1": version, at: [1]}
    return {path: (200, {}, json.dumps(answer).encode()) for path, answer in known.items()}
