"""Documents of IAM: written from statements, and compared whatever their order."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

Statement = Mapping[str, Any]

_LISTS = ("Action", "NotAction", "Resource", "NotResource")
_ACCOUNT = re.compile(r"\d{12}")


def allow(actions: Sequence[str], resources: Sequence[str], condition: Statement | None = None) -> Statement:
    """A statement of what somebody may."""
    statement = {"Effect": "Allow", "Action": list(actions), "Resource": list(resources)}
    return {**statement, **({"Condition": condition} if condition else {})}


def trust(
    principal: Mapping[str, str], action: str = "sts:AssumeRole", external_id: str | None = None
) -> Statement:
    """A statement of who may take a role."""
    statement: dict[str, Any] = {"Effect": "Allow", "Principal": principal, "Action": action}
    return {
        **statement,
        **({"Condition": {"StringEquals": {"sts:ExternalId": external_id}}} if external_id else {}),
    }


def document(statements: Sequence[Statement]) -> str:
    """The statements as IAM takes them."""
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


def canonical(given: str | Mapping[str, Any] | Sequence[Statement]) -> list[dict[str, Any]]:
    """The statements of a document, or statements alone: sorted, one of a kind as a list of one.

    Two documents that mean the same are equal then. Names of statements (`Sid`) mean nothing. The id of a
    principal that was deleted (`AROA...`, `AIDA...`) stays, and so differs from every ARN.
    """
    if isinstance(given, str):
        given = json.loads(given)
    statements = given.get("Statement", []) if isinstance(given, Mapping) else given
    if isinstance(statements, Mapping):
        statements = [statements]
    return sorted(map(_statement, statements), key=lambda each: json.dumps(each, sort_keys=True))


def _statement(statement: Statement) -> dict[str, Any]:
    normalized = {name: value for name, value in statement.items() if name != "Sid"}
    normalized |= {name: _sorted(normalized[name]) for name in _LISTS if name in normalized}
    normalized |= {
        name: _principals(normalized[name]) for name in ("Principal", "NotPrincipal") if name in normalized
    }
    if "Condition" in normalized:
        normalized["Condition"] = {
            operator: {key: _sorted(values) for key, values in keys.items()}
            for operator, keys in normalized["Condition"].items()
        }
    return normalized


def _principals(principal: str | Mapping[str, Any]) -> dict[str, list[str]]:
    by_kind = {"AWS": principal} if isinstance(principal, str) else principal
    return {kind: [_root(each) for each in _sorted(names)] for kind, names in by_kind.items()}


def _root(principal: str) -> str:
    """An account may be named by its number alone."""
    return f"arn:aws:iam::{principal}:root" if _ACCOUNT.fullmatch(principal) else principal


def _sorted(values: Any) -> list[str]:
    return sorted(map(str, values)) if isinstance(values, list | tuple) else [str(values)]
