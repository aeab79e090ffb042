"""What judges the stand-in by Confluent's documents sees what they know otherwise."""

from __future__ import annotations

import json
from typing import Any

import pytest
import requests

from kit.clouds.confluent_openapi import Document

PART = {
    "paths": {
        "/things": {
            "get": {
                "parameters": [
                    {"name": "page_size", "in": "query", "schema": {"type": "integer", "maximum": 100}},
                    {"name": "environment", "in": "query", "required": True, "schema": {"type": "string"}},
                ],
                "responses": {"200": {"content": {"application/json": {"schema": {"type": "object"}}}}},
            }
        }
    }
}


def mistakes(url: str, status: int = 200, body: Any = None) -> list[str]:
    answer = requests.Response()
    answer.status_code, answer._content = status, json.dumps(body or {}).encode()
    answer.headers["content-type"] = "application/json"
    answer.request = requests.Request("GET", f"http://localhost{url}").prepare()
    return list(Document({"things/v1": PART}).mistakes(answer))


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("/things?environment=env-1&page_size=101", "101 is greater than the maximum of 100"),
        ("/things?environment=env-1&page_size=abc", "'abc' is not of type 'integer'"),
        ("/things?environment=env-1&nonsense=1", "the query has nonsense"),
        ("/things?page_size=100", "the query lacks environment"),
        ("/registry/lsrc-1/things", "the query lacks environment"),
        ("/others", "no such operation"),
        ("/registry/lsrc-1/others", "no such operation"),
    ],
)
def test_a_query_and_a_path_are_judged(url: str, words: str) -> None:
    (mistake,) = mistakes(url)
    assert words in mistake


def test_what_the_documents_know_is_right() -> None:
    assert mistakes("/things?environment=env-1&page_size=100") == []


def test_a_status_that_no_document_has_is_told_with_what_was_said() -> None:
    (mistake,) = mistakes("/things?environment=env-1", 404, {"message": "no such thing"})
    assert "404 is not among ['200']" in mistake
    assert "no such thing" in mistake
