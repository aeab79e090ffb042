"""Refuses what AWS refuses and MiniStack lets pass; without it 36 of 41 denials were right.

A trust names principals that exist; STS learns of a role's trust late; a secret's name is blocked while its
deletion is scheduled; a deleted principal leaves its id in the trusts that named it; a bucket that takes TLS
only takes nothing else from its owner either.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

from ministack.services import iam, s3, secretsmanager
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from frazil_local.cloud.aws.calls import Asked, asked, refusal
from frazil_local.cloud.faults import Knobs, read, replay

_TRUSTS = {"CreateRole": "AssumeRolePolicyDocument", "UpdateAssumeRolePolicy": "PolicyDocument"}
_PRINCIPALS = {"DeleteRole": ("RoleName", "RoleId"), "DeleteUser": ("UserName", "UserId")}

Refusal = tuple[int, str, str]
"""Status, code and text."""


class Judge:
    """The ASGI layer between the faults and MiniStack."""

    def __init__(self, app: ASGIApp, knobs: Knobs) -> None:
        self._app, self._knobs = app, knobs
        self._known_at: dict[str, float] = {}  # role ARN -> when STS learns of its trust

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuses a request, or hands it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        call = await read(scope, receive)
        question = asked(call)
        plain = self._knobs.more.get("plain")  # loopback stands for TLS: policies ask for it
        if refused := (plain and _without_tls(scope, question)) or self._refusal(question):
            await refusal(call, *refused)(scope, receive, send)
            return
        status = 0

        async def watch(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        before = _principal(question)
        await self._app({**scope, "scheme": "http" if plain else "https"}, replay(call.body), watch)
        if status < 300:
            self._learn(question, before)

    def _refusal(self, question: Asked) -> Refusal | None:
        parameters = question.parameters
        match question.action:
            case "CreateRole" | "UpdateAssumeRolePolicy":
                return _stranger(parameters[_TRUSTS[question.action]])
            case "AssumeRole" if self._known_at.get(parameters.get("RoleArn", ""), 0) > time.monotonic():
                return (
                    403,
                    "AccessDenied",
                    f"not authorized to perform: sts:AssumeRole on resource: {parameters['RoleArn']}",
                )
            case "GetSecretValue" if _has_no_value(question):
                text = "Secrets Manager can't find the specified secret value for staging label: AWSCURRENT"
                return 400, "ResourceNotFoundException", text
            case "CreateSecret" if _is_doomed(question):
                text = "a secret with this name is already scheduled for deletion"
                return 400, "InvalidRequestException", text
            case "PutParameter" if not parameters.get("Value"):
                text = "Value at 'value' failed to satisfy constraint: Member must have length of at least 1"
                return 400, "ValidationException", text
            case "GetParametersByPath" if parameters.get("MaxResults", 10) > 10:
                return 400, "ValidationException", "Member must have value less than or equal to 10"
        return None

    def _learn(self, question: Asked, before: tuple[str, str] | None) -> None:
        if question.action in _TRUSTS:
            arn = f"arn:aws:iam::{question.account}:role/{question.parameters['RoleName']}"
            self._known_at[arn] = time.monotonic() + self._knobs.propagation
        if before:
            _leave_id(*before)


def _without_tls(scope: Scope, question: Asked) -> Refusal | None:
    """The refusal of plain HTTP by a bucket's policy; the policy itself its owner may always fix."""
    bucket = scope["path"].strip("/").partition("/")[0]
    policy = s3._bucket_policies.get_scoped(question.account, None, bucket) if bucket else None
    if not policy or b"policy" in scope["query_string"]:
        return None
    for statement in json.loads(policy).get("Statement", []):
        asked_for = statement.get("Condition", {}).get("Bool", {}).get("aws:SecureTransport")
        if statement["Effect"] == "Deny" and asked_for == "false":
            return 403, "AccessDenied", "an explicit deny in a resource-based policy"
    return None


def _stranger(document: str) -> Refusal | None:
    """The refusal of a trust that names somebody who does not exist."""
    for arn in _named(document):
        _, _, _, _, account, thing = arn.split(":", 5) if arn.count(":") >= 5 else ("",) * 6
        kind, _, name = thing.partition("/")
        store = {"role": iam._roles, "user": iam._users}.get(kind)  # of all accounts; false if ours has none
        if (
            thing != "root"
            and not arn.isdigit()
            and not (store is not None and store.contains_scoped(account, "", name.rpartition("/")[2]))
        ):
            return 400, "MalformedPolicyDocument", f'Invalid principal in policy: "AWS":"{arn}"'
    return None


def _named(document: str) -> Iterator[str]:
    for statement in json.loads(document).get("Statement", []):
        principal = statement.get("Principal", {})
        arns = principal.get("AWS", []) if isinstance(principal, dict) else []
        yield from [arns] if isinstance(arns, str) else arns


def _is_doomed(question: Asked) -> bool:
    """Whether a secret of that name awaits its deletion."""
    return any(each.get("DeletedDate") for each in _secrets(question, "Name"))


def _has_no_value(question: Asked) -> bool:
    """Whether a secret was made without any text or bytes."""
    versions = (v for each in _secrets(question, "SecretId") for v in each["Versions"].values())
    with_values = [bool(each.get("SecretString") or each.get("SecretBinary")) for each in versions]
    return bool(with_values) and not any(with_values)


def _secrets(question: Asked, field: str) -> list[dict[str, Any]]:
    """The secrets of a name, in whichever region."""
    known: dict[tuple[str, ...], dict[str, Any]] = secretsmanager._secrets._data
    asked_for = (question.account, question.parameters.get(field))
    return [value for key, value in list(known.items()) if (key[0], key[-1]) == asked_for]


def _principal(question: Asked) -> tuple[str, str] | None:
    """The ARN and the id of whom a call deletes."""
    if question.action not in _PRINCIPALS:
        return None
    name, identity = _PRINCIPALS[question.action]
    store = iam._roles if name == "RoleName" else iam._users
    entry = store.get_scoped(question.account, "", question.parameters.get(name))
    return (entry["Arn"], entry[identity]) if entry else None


def _leave_id(arn: str, identity: str) -> None:
    for role in iam._roles._data.values():
        document = role["AssumeRolePolicyDocument"]
        role["AssumeRolePolicyDocument"] = document.replace(f'"{arn}"', f'"{identity}"')
