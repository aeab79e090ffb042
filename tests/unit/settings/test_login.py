"""Logging in by a client's secret: what the endpoint may do with it, and when a token is asked for again."""

from __future__ import annotations

import json

import pytest
from authlib.integrations.base_client import OAuthError
from requests.exceptions import TooManyRedirects

from frazil.settings.login import Login
from kit.wires.answering import Server, serving


def login(server: Server) -> Login:
    return Login(f"{server.url}/token", "frazil", "a secret", None, 10.0)


def token(seconds: int, text: str = "one") -> tuple[int, dict[str, str], bytes]:
    return 200, {}, json.dumps({"access_token": text, "expires_in": seconds}).encode()


def test_an_endpoint_that_sends_elsewhere_is_not_followed_with_the_secret() -> None:
    with serving() as endpoint, serving() as another:
        endpoint.answers["/token"] = (307, {"Location": f"{another.url}/token"}, b"")
        another.answers["/token"] = token(3600)

        with pytest.raises(TooManyRedirects):
            login(endpoint).bearer()


@pytest.mark.parametrize(("seconds", "second"), [(3600, "Bearer one"), (59, "Bearer two")])
def test_a_token_is_kept_until_a_minute_before_it_ends(seconds: int, second: str) -> None:
    with serving() as endpoint:
        client = login(endpoint)
        endpoint.answers["/token"] = token(seconds)
        assert client.bearer() == "Bearer one"
        endpoint.answers["/token"] = token(seconds, "two")

        assert client.bearer() == second


def test_a_refusal_has_the_endpoints_own_words() -> None:
    with serving() as endpoint:
        endpoint.answers["/token"] = (401, {}, b'{"error": "invalid_client", "error_description": "Who?"}')

        with pytest.raises(OAuthError, match="invalid_client: Who"):
            login(endpoint).bearer()
