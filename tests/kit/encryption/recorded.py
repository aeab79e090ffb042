"""What Confluent's serializers encrypted, and a registry's answers to whoever reads it. See `record`."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

__all__ = ["KEK", "Recorded", "recorded"]

KEK = "people-kek"


@dataclass(frozen=True)
class Recorded:
    """One schema with rules, its keys, and the records that were written by it."""

    case: dict[str, Any]

    @property
    def subject(self) -> str:
        return f"{self.case['name']}-value"

    @property
    def schema(self) -> dict[str, Any]:
        """As the registry tells it, without its id."""
        schema: dict[str, Any] = self.case["schema"]
        return schema

    @property
    def secret(self) -> str:
        return str(self.case["secret"])

    @property
    def bytes(self) -> list[bytes]:
        return [base64.b64decode(each["bytes"]) for each in self.case["records"]]

    @property
    def values(self) -> list[dict[str, Any]]:
        """The records as their producer had them; bytes in base64."""
        return [each["value"] for each in self.case["records"]]

    def of_keys(self, path: str) -> dict[str, Any] | list[int] | None:
        """The answer of `/dek-registry/v1`, for any subject; None where it has none (404)."""
        asked = urlsplit(path.partition("/dek-registry/v1/keks/")[2])
        algorithm = parse_qs(asked.query).get("algorithm", ["AES256_GCM"])[0]
        name, *more = asked.path.split("/")
        deks = {
            dek["version"]: {name: part for name, part in dek.items() if name != "keyMaterial"}
            for dek in self.case["deks"]
            if dek["algorithm"] == algorithm
        }
        if name != self.case["kek"]["name"]:
            return None
        match more:
            case []:
                kek: dict[str, Any] = self.case["kek"]
                return kek
            case ["deks", _, "versions"]:
                return sorted(deks) or None
            case ["deks", subject, "versions", version]:
                dek: dict[str, Any] | None = deks.get(int(version))
                return None if dek is None else {**dek, "subject": subject}
        return None

    def answers(self) -> dict[str, tuple[int, dict[str, str], bytes]]:
        """What a registry says of the subject and of the keys, by parts of paths; longest ones first."""
        version = {**self.schema, "subject": self.subject, "version": 1, "id": self.case["id"]}
        at = f"/subjects/{self.subject}/versions"
        keys = [
            f"/dek-registry/v1/keks/{KEK}/deks/{self.subject}/versions/{dek['version']}?algorithm={dek['algorithm']}"
            for dek in self.case["deks"]
        ]
        algorithm = self.case["deks"][0]["algorithm"]
        paths = [*keys, f"/dek-registry/v1/keks/{KEK}/deks/{self.subject}/versions?algorithm={algorithm}"]
        answers: dict[str, Any] = {f"{at}/latest": version, f"{at}/1": version, at: [1]}
        answers |= {path.partition("?")[0]: self.of_keys(path) for path in paths}
        answers[f"/dek-registry/v1/keks/{KEK}?"] = self.of_keys(f"/dek-registry/v1/keks/{KEK}")
        return {path: (200, {}, json.dumps(answer).encode()) for path, answer in answers.items()}


@cache
def recorded() -> dict[str, Recorded]:
    """All cases, by name."""
    text = (Path(__file__).parent / "recorded.json").read_text(encoding="utf-8")
    return {case["name"]: Recorded(case) for case in json.loads(text)}
