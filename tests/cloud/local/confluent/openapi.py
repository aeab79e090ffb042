"""Holds the stand-in and Frazil's client against Confluent's OpenAPI document: every body of a whole life.

    python tests/cloud/local/confluent/openapi.py DOCUMENT

The document is a JSON object of OpenAPI documents by name; it is not part of this repository.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests
import stamina.instrumentation
from openapi_schema_validator import OAS30ReadValidator, OAS30WriteValidator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT4

sys.path.insert(0, str(Path(__file__).parents[3]))

from kit.cloud_confluent import Deployed, cloud_confluent

Json = Any

KNOWN = (
    "statement_name",  # asked for by no prose and by no recorded answer
    "is not of type 'string'",  # a 429 of Kafka REST is a text; ours is its usual error
    "Tried to write read-only property",  # kind and api_version of a key's resource: Flink's need them
    "config: 'kafka.api.",  # the other way to log in; a service account needs none
    "404 is not among",  # met by many: a topic that Tableflow does not see yet
)
"""What is right all the same, and why."""


class Document:
    """The operations of all parts of the API."""

    def __init__(self, text: str) -> None:
        self._parts: dict[str, Json] = json.loads(text)
        self._registry = Registry().with_resources(
            (f"urn:{name}", Resource(contents=part, specification=DRAFT4))
            for name, part in self._parts.items()
        )

    def mistakes(self, answer: requests.Response) -> Iterator[str]:
        """What is wrong with a request and its answer."""
        request = answer.request
        path, method = urlsplit(str(request.url)).path, str(request.method)
        found = self._operation(path, method)
        if found is None:
            if not path.startswith("/registry/"):
                yield f"{method} {path}: no such operation"
            return
        part, operation = found
        if request.body:
            body = json.loads(request.body)
            yield from self._wrong(
                part, operation.get("requestBody", {}), body, OAS30WriteValidator, f"{method} {path}"
            )
        told = operation["responses"].get(str(answer.status_code)) or operation["responses"].get("5XX")
        if told is None:
            yield f"{method} {path}: {answer.status_code} is not among {list(operation['responses'])}"
        elif answer.content:
            where = f"{answer.status_code} of {method} {path}"
            yield from self._wrong(part, told, answer.json(), OAS30ReadValidator, where)

    def _operation(self, path: str, method: str) -> tuple[str, Json] | None:
        for name, part in self._parts.items():
            for template, operations in part["paths"].items():
                pattern = re.sub(r"\{\w+\}", "[^/]+", template)
                if re.fullmatch(pattern, path) and method.lower() in operations:
                    return name, operations[method.lower()]
        return None

    def _wrong(self, part: str, told: Json, body: Json, judge: Any, where: str) -> Iterator[str]:
        told = self._resolved(part, told)
        schema = next(iter(told.get("content", {}).values()), {}).get("schema")
        if schema is None:
            return
        absolute = json.loads(json.dumps(schema).replace('"#/', f'"urn:{part}#/'))
        for error in judge(absolute, registry=self._registry).iter_errors(body):
            yield f"{where}: {'/'.join(map(str, error.absolute_path))}: {error.message:.200}"

    def _resolved(self, part: str, told: Json) -> Json:
        for name in told.get("$ref", "").split("/")[1:]:
            told = self._parts[part] if name == "components" and "$ref" in told else told
            told = told[name]
        return told


def main() -> None:
    stamina.instrumentation.set_on_retry_hooks([])
    document = Document(Path(sys.argv[1]).read_text())
    seen: dict[str, int] = {}
    wrong: dict[str, int] = {}

    def judge(answer: requests.Response, **_: Any) -> None:
        shape = re.sub(r"[A-Z0-9]{16}|(env|lkc|lsrc|sa|rb|lfcp|cspi|tci)-\w+", "*", str(answer.request.url))
        key = f"{answer.request.method} {urlsplit(shape).path} {answer.status_code}"
        seen[key] = seen.get(key, 0) + 1
        for said in document.mistakes(answer):
            if any(known in said for known in KNOWN):
                continue
            mistake = re.sub(r"[A-Z0-9]{16}|(env|lkc|lsrc|sa|rb|lfcp|cspi|tci)-\w{6}", "*", said)
            wrong[mistake] = wrong.get(mistake, 0) + 1

    with cloud_confluent() as cloud:
        cloud.delay(provision=0.3, key_sync=0.3, rbac_sync=0.3, topic_sync=0.3)
        cloud.turn(throttle_every=17)
        deployed = Deployed(cloud, confluent=cloud.client)
        assert deployed.confluent
        deployed.confluent.session.hooks["response"].append(judge)
        deployed.create()
        deployed.reconciler().verify()
        deployed.delete()
    print(f"{sum(seen.values())} answers of {len(seen)} kinds; mistakes: {len(wrong)}")
    for mistake, times in sorted(wrong.items()):
        print(f"{times:5} {mistake}")


if __name__ == "__main__":
    main()
