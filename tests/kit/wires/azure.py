"""A stand-in for Azure's schema registry, by Microsoft's description of its API; it says no as that does."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from kit.wires.answering import Answer, Server, serving

__all__ = ["GROUP", "SECRET", "TOKEN", "Azure", "azure"]

GROUP, TOKEN, SECRET = "orders", "a token of Entra", "a secret of Entra"
_BASIC = b64encode(f"frazil:{SECRET}".encode()).decode()


class Azure:
    """The versions of schemas in one group, by name: each an id and a text."""

    def __init__(self, server: Server) -> None:
        self.schemas: dict[str, list[tuple[str, str]]] = {}
        self.tokens = 0
        self.down = False
        self.url = server.url
        server.answer = self._answer  # type: ignore[method-assign]

    @property
    def settings(self) -> dict[str, Any]:
        """Of `FRAZIL_REGISTRY__...`."""
        oauth = {
            "token_url": f"{self.url}/token",
            "client_id": "frazil",
            "client_secret": SECRET,
        }
        return {"kind": "azure", "url": self.url, "azure_group": GROUP, **oauth}

    def _answer(self, path: str, headers: Mapping[str, Any]) -> Answer:
        asked = urlsplit(path)
        if asked.path == "/token":
            if headers.get("Authorization") != f"Basic {_BASIC}":
                text = "AADSTS7000215: Invalid client secret provided."
                return _as_json(401, {"error": "invalid_client", "error_description": text})
            self.tokens += 1
            return _as_json(200, {"access_token": TOKEN, "expires_in": 3600})
        if self.down or headers.get("Authorization") != f"Bearer {TOKEN}":
            return _as_json(503 if self.down else 401, {"error": {"code": "Unauthorized"}})
        if parse_qs(asked.query).get("api-version") != ["2022-10"]:
            return _as_json(400, {"error": {"code": "MissingApiVersionParameter"}})
        match [unquote(part) for part in asked.path.strip("/").split("/")]:
            case ["$schemaGroups", group, "schemas", name, "versions"] if self._has(group, name):
                return self._page(asked.path, parse_qs(asked.query), len(self.schemas[name]))
            case ["$schemaGroups", group, "schemas", name, "versions", number] if self._has(
                group, name, number
            ):
                schema_id, text = self.schemas[name][int(number) - 1]
                kind = "Avro" if "record" in text else "Json"
                more = {"Schema-Id": schema_id, "Content-Type": f"application/json; serialization={kind}"}
                return _as_json(200, text, more)
        return _as_json(404, {"error": {"code": "ItemNotFound"}})

    def _has(self, group: str, name: str, number: str = "1") -> bool:
        return group == GROUP and name in self.schemas and int(number) <= len(self.schemas[name])

    def _page(self, path: str, query: Mapping[str, list[str]], count: int) -> Answer:
        """Two numbers a page."""
        first = int(query.get("skip", ["0"])[0])
        link = f"{self.url}{path}?api-version=2022-10&skip={first + 2}" if first + 2 < count else None
        return _as_json(200, {"Value": [*range(first + 1, min(first + 2, count) + 1)], "NextLink": link})


def _as_json(status: int, document: Any, headers: Mapping[str, str] | None = None) -> Answer:
    body = (document if isinstance(document, str) else json.dumps(document)).encode()
    return (
        status,
        {"Content-Type": "application/json", "Content-Length": str(len(body)), **(headers or {})},
        body,
    )


@contextmanager
def azure() -> Iterator[Azure]:
    """One that listens."""
    with serving() as server:
        yield Azure(server)
