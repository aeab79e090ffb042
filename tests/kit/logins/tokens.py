"""An OAuth server of the tests' own: client credentials for a signed token, and the key that proves it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

from frazil_local.servers.gate import client_of

CLIENT, SECRET = "frazil-client", 'a secret with "quotes" \\ and more'
AUDIENCE, ISSUER = "the-brokers", "https://issuer.test"
_KEY_ID = "one"


@dataclass
class Tokens:
    """The server's state: how long its tokens hold, and how often it was asked for one."""

    lifetime: int = 300
    asked: int = 0
    key: rsa.RSAPrivateKey = field(default_factory=lambda: rsa.generate_private_key(65537, 2048))
    url: str = ""

    @property
    def token_url(self) -> str:
        return f"{self.url}/token"

    @property
    def keys_url(self) -> str:
        return f"{self.url}/keys"

    def token(self) -> str:
        """A token as a client gets it."""
        now = int(time.time())
        claims = {"sub": CLIENT, "aud": AUDIENCE, "iss": ISSUER, "iat": now, "exp": now + self.lifetime}
        return jwt.encode({**claims, "scope": "kafka"}, self.key, "RS256", {"kid": _KEY_ID})

    def knows(self, authorization: str) -> bool:
        """Whether the header bears a token of this server that still holds."""
        token, key = authorization.removeprefix("Bearer "), self.key.public_key()
        try:
            jwt.decode(token, key, ["RS256"], audience=AUDIENCE, issuer=ISSUER)
        except jwt.InvalidTokenError:
            return False
        return True

    def keys(self) -> dict[str, object]:
        """The public key as JSON Web Key."""
        known = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
        return {"keys": [{**known, "kid": _KEY_ID, "alg": "RS256", "use": "sig"}]}


@contextmanager
def token_server() -> Iterator[Tokens]:
    """A server that runs with the context."""
    tokens = Tokens()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(200, tokens.keys())

        def do_POST(self) -> None:
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            if client_of(self.headers.get("Authorization", ""), form) != (CLIENT, SECRET):
                self._answer(401, {"error": "invalid_client"})
                return
            tokens.asked += 1
            answer = {"access_token": tokens.token(), "token_type": "Bearer", "expires_in": tokens.lifetime}
            self._answer(200, answer)

        def _answer(self, status: int, answer: dict[str, object]) -> None:
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        tokens.url = f"http://127.0.0.1:{server.server_address[1]}"
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield tokens
        server.shutdown()
