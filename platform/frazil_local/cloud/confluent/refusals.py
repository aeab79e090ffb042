"""Answers that refuse. Confluent has three shapes of them, by the part of the API that speaks."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

_BY_NUMBER = ("/kafka/v3/", "/registry/")
_CODES = {
    400: "invalid_request", 401: "user_unauthenticated", 402: "quota_exceeded", 403: "forbidden_access",
    404: "resource_not_found", 409: "resource_conflict", 429: "rate_limited", 500: "internal_error",
}  # fmt: skip


class Refusal(Exception):
    """An answer with an error; `number` is its code where the shape has one, such as 40002."""

    def __init__(
        self, status: int, detail: str, *, number: int = 0, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, dict(headers or {})
        self.number = number or status * 100 + 1

    def body(self, path: str) -> dict[str, Any]:
        """The error as the API at this path says it."""
        if path.startswith(_BY_NUMBER):
            return {"error_code": self.number, "message": self.detail}
        if path.startswith("/connect/"):
            return {"error": {"code": self.status, "message": self.detail}}
        code = _CODES.get(self.status, "error")
        error = {"id": uuid.uuid4().hex, "status": str(self.status), "code": code, "detail": self.detail}
        return {"errors": [{**error, "source": {}}]}


def forbidden(detail: str = "Forbidden Access") -> Refusal:
    """For who may not, and for what was deleted: Confluent does not tell them apart."""
    return Refusal(403, detail)


def missing(detail: str = "Resource Not Found") -> Refusal:
    """For what never was."""
    return Refusal(404, detail)
