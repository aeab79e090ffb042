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
    told = {"Effect": "Allow", "Action": list(actions), "Resource": list(resources)}
    return {**told, **({"Condition": condition} if condition else {})}


def trust(
    principal: Mapping[str, str], action: str = "sts:AssumeRole", external_id: str | None = None
) -> Statement:
    """A statement of who may take a role."""
    told: dict[str, Any] = {"Effect": "Allow", "Principal": principal, "Action": action}
    return {
        **told,
        **({"Condition": {"StringEquals": {"sts:ExternalId": external_id}}} if external_id else {}),
    }


def document(statements: Sequence[Statement]) -> str:
    """The statements as IAM takes them."""
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


def canonical(told: str | Mapping[str, Any] | Sequence[Statement]) -> list[dict[str, Any]]:
    """The statements of a document, or statements alone: sorted, one of a kind as a list of one.

    Two documents that mean the same are equal then. Names of statements (`Sid`) mean nothing. The id of a
    principal that was deleted (`AROA...`, `AIDA...`) stays, and so differs from every ARN.
    """
    if isinstance(told, str):
        told = json.loads(told)
    statements = told.get("Statement", []) if isinstance(told, Mapping) else told
    if isinstance(statements, Mapping):
        statements = [statements]
    return sorted(map(_statement, statements), key=lambda each: json.dumps(each, sort_keys=True))


def _statement(told: Statement) -> dict[str, Any]:
    found = {name: value for name, value in told.items() if name != "Sid"}
    found |= {name: _sorted(found[name]) for name in _LISTS if name in found}
    found |= {name: _principals(found[name]) for name in ("Principal", "NotPrincipal") if name in found}
    if "Condition" in found:
        found["Condition"] = {
            operator: {key: _sorted(values) for key, values in keys.items()}
            for operator, keys in found["Condition"].items()
        }
    return found


def _principals(told: str | Mapping[str, Any]) -> dict[str, list[str]]:
    by_kind = {"AWS": told} if isinstance(told, str) else told
    return {kind: [_root(each) for each in _sorted(names)] for kind, names in by_kind.items()}


def _root(principal: str) -> str:
    """An account may be named by its number alone."""
    return f"arn:aws:iam::{principal}:root" if _ACCOUNT.fullmatch(principal) else principal


def _sorted(values: Any) -> list[str]:
    return sorted(map(str, values)) if isinstance(values, list | tuple) else [str(values)]
