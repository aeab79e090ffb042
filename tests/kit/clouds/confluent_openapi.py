"""Confluent's own OpenAPI documents judge requests and answers; a folder beside the checkout has them.

`FRAZIL_TEST_OPENAPI` names the folder: a copy of github.com/confluentinc/ccloud-sdk-go-v2, where each service
has an `api/openapi.yaml`. They are not part of this repository.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import requests
import yaml
from openapi_schema_validator import OAS30ReadValidator, OAS30WriteValidator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT4

Json = Any

SERVICES = (
    "apikeys/v2", "cmk/v2", "connect/v1", "flink/v2", "flink-gateway/v1", "iam/v2", "kafkarest/v3", "mds/v2",
    "org/v2", "provider-integration/v1", "srcm/v3", "tableflow/v1", "schema-registry/v1",
)  # fmt: skip
KNOWN = {
    ("'statement_name' is a required property",): "a statement's name stands beside its spec",
    ("Tried to write read-only property with",): "kind of a key's resource: Flink's need it",
    ("'kafka.api.",): "the other way to log in; a connector of a service account has no key",
    ("POST /sql/", "/statements: 404 is not among", "the API key is not known here"): (
        "a region that does not know a key yet (terraform-provider-confluent)"
    ),
    ("POST /tableflow/v1/tableflow-topics: 404 is not among", "topic not found"): (
        "a topic that is not seen yet: no code"
    ),
}
"""What is right all the same, by all that its mistake says, and why."""
_OF_REGISTRY = re.compile(r"^/registry/[^/]+/")
_IDS = re.compile(r"\b[A-Z0-9]{16}\b|\b(env|lkc|lsrc|sa|rb|lfcp|cspi|tci)-\w{6}\b|[0-9a-f]{32}")


@dataclass
class Judged:
    """What was seen, and what of it the documents know otherwise."""

    answers: Counter[str] = field(default_factory=Counter)
    mistakes: Counter[str] = field(default_factory=Counter)

    def report(self) -> str:
        lines = [f"{sum(self.answers.values())} answers of {len(self.answers)} kinds"]
        return "\n".join([*lines, *(f"{times:5} {what}" for what, times in sorted(self.mistakes.items()))])


class Document:
    """The operations of all services."""

    def __init__(self, parts: dict[str, Json]) -> None:
        self._parts = parts
        self._registry = Registry().with_resources(
            (f"urn:{name}", Resource(contents=part, specification=DRAFT4)) for name, part in parts.items()
        )
        self._paths = [
            (re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path.partition("?")[0]))), name, operations)
            for name, part in parts.items()
            for path, operations in part["paths"].items()
        ]

    def mistakes(self, answer: requests.Response) -> Iterator[str]:
        """What is wrong with a request and its answer."""
        asked, method = urlsplit(str(answer.request.url)), str(answer.request.method)
        path = _OF_REGISTRY.sub("/", asked.path)
        matching = self._operation(path, method)
        if matching is None:
            if answer.status_code < 400 and not path.startswith("/_knobs"):
                yield f"{method} {path}: no such operation"
            return
        part, operation = matching
        if answer.status_code < 400:
            yield from self._wrong_query(part, operation, dict(parse_qsl(asked.query)), f"{method} {path}")
        if answer.request.body and answer.status_code < 400:  # what is refused may be wrong on purpose
            described = self._resolved(part, operation.get("requestBody", {}))
            yield from self._wrong(
                part, described, json.loads(answer.request.body), OAS30WriteValidator, f"{method} {path}"
            )
        described = operation["responses"].get(str(answer.status_code)) or operation["responses"].get("5XX")
        if described is None:
            codes = list(operation["responses"])
            yield f"{method} {path}: {answer.status_code} is not among {codes}: {answer.text:.200}"
        elif answer.content:
            where = f"{answer.status_code} of {method} {path}"
            yield from self._wrong_body(part, self._resolved(part, described), answer, where)

    def _wrong_query(self, part: str, operation: Json, query: dict[str, str], where: str) -> Iterator[str]:
        parameters = [self._resolved(part, each) for each in operation.get("parameters", [])]
        known = {each["name"]: each for each in parameters if each["in"] == "query"}
        for name in sorted({n for n, each in known.items() if each.get("required")} - query.keys()):
            yield f"{where}: the query lacks {name}"
        for name, value in query.items():
            if name not in known:
                yield f"{where}: the query has {name}, and it may have {sorted(known)}"
                continue
            schema = self._resolved(part, known[name]["schema"])
            read = int(value) if schema.get("type") == "integer" and value.isdecimal() else value
            if schema.get("type") != "array":
                yield from self._wrong_value(part, schema, read, OAS30WriteValidator, f"{where}: {name}")

    def _wrong_body(self, part: str, described: Json, answer: requests.Response, where: str) -> Iterator[str]:
        kind = answer.headers.get("content-type", "").partition(";")[0]
        kinds = list(described.get("content", {}))
        if kind not in kinds and not (kind == "application/json" and any("json" in each for each in kinds)):
            yield f"{where}: the body is {kind}, not of {kinds}"
        elif "json" in kind:
            yield from self._wrong(part, described, answer.json(), OAS30ReadValidator, where)

    def _operation(self, path: str, method: str) -> tuple[str, Json] | None:
        fits = [
            (len(pattern.pattern), name, operations[method.lower()])
            for pattern, name, operations in self._paths
            if method.lower() in operations and pattern.fullmatch(path)
        ]
        return max(fits, key=lambda each: each[0])[1:] if fits else None

    def _wrong(self, part: str, described: Json, body: Json, judge: Any, where: str) -> Iterator[str]:
        contents = described.get("content", {})
        schema = next((each.get("schema") for kind, each in contents.items() if "json" in kind), None)
        if schema is not None:
            yield from self._wrong_value(part, schema, body, judge, where)

    def _wrong_value(self, part: str, schema: Json, body: Json, judge: Any, where: str) -> Iterator[str]:
        absolute = json.loads(json.dumps(schema).replace('"#/', f'"urn:{part}#/'))
        for error in judge(absolute, registry=self._registry).iter_errors(body):
            yield f"{where}: {'/'.join(map(str, error.absolute_path))}: {error.message:.200}"

    def _resolved(self, part: str, part_given: Json) -> Json:
        for name in part_given.get("$ref", "").split("/")[1:]:
            part_given = self._parts[part] if name == "components" and "$ref" in part_given else part_given
            part_given = part_given[name]
        return part_given


@cache
def document() -> Document | None:
    """The documents, if they stand beside the checkout."""
    folder = os.environ.get("FRAZIL_TEST_OPENAPI")
    if not folder:
        return None
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    read = {s: yaml.load((Path(folder) / s / "api/openapi.yaml").read_text(), loader) for s in SERVICES}
    # Dates and the like are texts in JSON.
    return Document({name: json.loads(json.dumps(part, default=str)) for name, part in read.items()})


_WATCHED: dict[str, Judged] = {}
_SEND = requests.Session.send


@contextmanager
def judged(url: str) -> Iterator[Judged | None]:
    """Judges all that `requests` sends to an address meanwhile; None without documents."""
    if document() is None:
        yield None
        return
    seen = _WATCHED[url] = Judged()
    requests.Session.send = _watched  # type: ignore[method-assign,assignment]
    try:
        yield seen
    finally:
        del _WATCHED[url]
        if not _WATCHED:
            requests.Session.send = _SEND  # type: ignore[method-assign]


def _watched(session: requests.Session, request: requests.PreparedRequest, **how: Any) -> requests.Response:
    answer = _SEND(session, request, **how)
    judge = document()
    for url, seen in list(_WATCHED.items()):
        if judge is not None and str(request.url).startswith(f"{url}/"):
            path = _IDS.sub("*", urlsplit(str(request.url)).path)
            seen.answers[f"{request.method} {path} {answer.status_code}"] += 1
            problems = [each for each in judge.mistakes(answer) if not _is_known(each)]
            seen.mistakes.update(_IDS.sub("*", each) for each in problems)
    return answer


def _is_known(mistake: str) -> bool:
    return any(all(part in mistake for part in known) for known in KNOWN)
