"""The gate before a locked stack's catalog: who gets a token, who gets in, and what goes on to the server."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.error import HTTPError
from urllib.parse import urlencode

import jwt
import pytest

from frazil.settings.login import Login
from frazil_local.authority import Authority
from frazil_local.server import get
from frazil_local.servers.gate import TOKENS, Gate, Issuer
from kit.wires.gate import server_tls

CLIENT, SECRET = "frazil", "a secret of more than thirty-two letters"
LOGIN = {"grant_type": "client_credentials", "client_id": CLIENT, "client_secret": SECRET}
EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"


class Behind(BaseHTTPRequestHandler):
    """Tells what it was asked."""

    def do_GET(self) -> None:
        body = json.dumps({"path": self.path, "authorization": self.headers.get("Authorization")}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"), "the gate's authority")


@pytest.fixture(scope="module")
def address(authority: Authority) -> Iterator[str]:
    issuer = Issuer(CLIENT, SECRET)

    def signed(_method: str, _url: str, _body: bytes, _headers: dict[str, str]) -> dict[str, str]:
        return {"Authorization": "by the gate"}

    with served(ThreadingHTTPServer(("127.0.0.1", 0), Behind)) as behind:
        target = f"http://127.0.0.1:{behind}"
        gate = Gate(0, target, issuer.knows, signed, issuer, server_tls(authority))
        with served(gate) as port:
            yield f"https://127.0.0.1:{port}"


@contextmanager
def served(server: ThreadingHTTPServer) -> Iterator[int]:
    with server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def token(address: str, authority: Authority, form: dict[str, str]) -> str:
    document = json.loads(get(f"{address}{TOKENS}", body=urlencode(form).encode(), ca=authority.file))
    assert document["expires_in"] > 0
    return str(document["access_token"])


def ask(address: str, authority: Authority, authorization: str) -> dict[str, str]:
    answer: dict[str, str] = json.loads(
        get(f"{address}/v1/config", {"Authorization": authorization}, ca=authority.file)
    )
    return answer


def test_who_has_a_token_is_led_to_the_server_by_the_gates_own_login(
    address: str, authority: Authority
) -> None:
    given = token(address, authority, LOGIN)

    assert ask(address, authority, f"Bearer {given}") == {
        "path": "/v1/config",
        "authorization": "by the gate",
    }


def test_a_token_is_good_for_another_one_as_spark_wants_it(address: str, authority: Authority) -> None:
    first = token(address, authority, LOGIN)

    second = token(address, authority, {"grant_type": EXCHANGE, "subject_token": first})

    assert ask(address, authority, f"Bearer {second}")["path"] == "/v1/config"


def signed_token(secret: str, **claims: int) -> str:
    return jwt.encode({"sub": CLIENT, **claims}, secret, "HS256")


@pytest.mark.parametrize(
    "authorization",
    [
        "",
        "Basic ZnJhemlsOndyb25n",
        "Bearer nonsense",
        f"Bearer {signed_token('another secret of more than thirty-two', exp=int(time.time()) + 60)}",
        f"Bearer {signed_token(SECRET, exp=1)}",
        f"Bearer {signed_token(SECRET)}",
        f"Bearer {jwt.encode({'exp': int(time.time()) + 60}, None, 'none')}",
    ],
    ids=["nothing", "a login", "nonsense", "another key", "expired", "without an end", "unsigned"],
)
def test_whoever_has_no_token_that_holds_is_not_let_in(
    address: str, authority: Authority, authorization: str
) -> None:
    with pytest.raises(HTTPError, match="401"):
        ask(address, authority, authorization)


@pytest.mark.parametrize(
    "form",
    [
        {},
        LOGIN | {"client_secret": "wrong"},
        LOGIN | {"client_id": "somebody"},
        {"grant_type": EXCHANGE},
        {"grant_type": EXCHANGE, "subject_token": "nonsense"},
    ],
)
def test_no_token_is_given_to_a_client_that_is_not_known(
    address: str, authority: Authority, form: dict[str, str]
) -> None:
    with pytest.raises(HTTPError, match="401"):
        token(address, authority, form)


def test_a_token_endpoint_of_a_private_authority_is_trusted_where_the_settings_name_it(
    address: str, authority: Authority
) -> None:
    login = Login(f"{address}{TOKENS}", CLIENT, SECRET, None, 10.0, ca=authority.file)

    assert login.bearer().startswith("Bearer ")


def test_without_it_the_endpoints_certificate_is_refused(address: str, tmp_path: Path) -> None:
    another = Authority(tmp_path, "another").file

    for ca in (None, another):
        login = Login(f"{address}{TOKENS}", CLIENT, SECRET, None, 10.0, ca=ca)
        with pytest.raises(OSError, match="certificate verify failed"):
            login.bearer()
