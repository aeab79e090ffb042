"""What Confluent Cloud says no with, in its three shapes and in none: the reader is told what to do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from frazil.errors import ConfigureError, NotAllowedError
from frazil_cloud.confluent.plane import Plane
from frazil_cloud.resource import AnswerLost, RefusedYet, Throttled
from kit.wires.answering import Server, serving

SHAPES: list[Any] = [
    {"errors": [{"id": "1", "status": "4", "code": "c", "detail": "the reason"}]},
    {"error_code": 40301, "message": "the reason"},
    {"error": {"code": 403, "message": "the reason"}},
]


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


def plane(server: Server, *, is_ours: bool = False) -> Plane:
    return Plane("the cluster", server.url, ("KEY", "the-secret"), requests.Session(), is_ours)


def refused(server: Server, status: int, body: Any, *, is_ours: bool = False, **headers: str) -> Exception:
    server.answers = {
        "/things": (status, headers, body if isinstance(body, bytes) else json.dumps(body).encode())
    }
    with pytest.raises(Exception) as raised:  # noqa: PT011 - the kind is what the caller looks at
        plane(server, is_ours=is_ours).ask("GET", "/things", right="the role ResourceOwner on the topic")
    assert "the-secret" not in f"{raised.value} {raised.value!r} {plane(server)!r}"
    return raised.value


@pytest.mark.parametrize("body", SHAPES)
def test_the_reason_is_found_in_each_shape(server: Server, body: Any) -> None:
    assert "the reason" in str(refused(server, 403, body))
    assert "the reason" in str(refused(server, 400, body))


@pytest.mark.parametrize(
    "body", [b"<html>no</html>", b"", b"[]", b'{"errors": 5}', b'{"error": {}}', b"null"]
)
def test_a_refusal_of_no_shape_is_told_all_the_same(server: Server, body: bytes) -> None:
    assert isinstance(refused(server, 403, body), RefusedYet)
    assert isinstance(refused(server, 400, body), ConfigureError)
    assert isinstance(refused(server, 502, body), AnswerLost)


def test_what_waiting_mends_is_waited_for(server: Server) -> None:
    assert isinstance(refused(server, 404, SHAPES[0]), RefusedYet)
    assert "a new key works after a while" in str(refused(server, 401, SHAPES[0]))
    assert "the role ResourceOwner on the topic" in str(refused(server, 403, SHAPES[0]))
    assert "https://there" in str(refused(server, 409, SHAPES[0], Location="https://there"))


@pytest.mark.parametrize(
    ("headers", "after"),
    [
        ({"Retry-After": "7"}, 7),
        ({"X-RateLimit-Reset": "2"}, 2),
        ({"Retry-After": "soon"}, 1),
        ({"Retry-After": "-5"}, 0),
        ({}, 1),
    ],
)
def test_a_throttled_call_comes_again_when_it_is_told_to(
    server: Server, headers: dict[str, str], after: float
) -> None:
    error = refused(server, 429, SHAPES[0], **headers)
    assert isinstance(error, Throttled)
    assert error.after == after


def test_the_settings_own_key_is_refused_for_good(server: Server) -> None:
    unknown = refused(server, 401, SHAPES[0], is_ours=True)
    assert isinstance(unknown, ConfigureError)
    assert "FRAZIL_CONFLUENT__API_KEY" in unknown.todo
    denied = refused(server, 403, SHAPES[0], is_ours=True)
    assert isinstance(denied, NotAllowedError)
    assert "the role ResourceOwner on the topic" in denied.todo


@pytest.mark.parametrize("body", [b"<html>", b'{"data": ', b"\xff\xfe"])
def test_an_answer_that_is_no_json_is_one_that_was_lost(server: Server, body: bytes) -> None:
    assert isinstance(refused(server, 200, body), AnswerLost)


def test_nobody_at_all_is_an_answer_that_was_lost(server: Server) -> None:
    away = Plane("the cluster", "http://127.0.0.1:1", ("KEY", "the-secret"), requests.Session())
    with pytest.raises(AnswerLost, match="did not answer GET /things"):
        away.ask("GET", "/things")
