"""A token service of the tests' own: it hands out a role's keys to whoever says the right thing."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qsl

ROLE = "arn:aws:iam::123456789012:role/frazil"
BASE, EXTERNAL_ID, WEB_TOKEN = "AKIABASE", "the-external-id", "a.web.token"
_ANSWER = """<{0}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><{0}Result><Credentials>
<AccessKeyId>{1}</AccessKeyId><SecretAccessKey>secret</SecretAccessKey><SessionToken>{2}</SessionToken>
<Expiration>{3}</Expiration></Credentials></{0}Result></{0}Response>"""
_REFUSAL = "<ErrorResponse><Error><Code>{}</Code><Message>no</Message></Error></ErrorResponse>"


@dataclass
class Sts:
    """What was handed out and still holds: session tokens by key; and what was asked for."""

    url: str = ""
    holding: dict[str, str] = field(default_factory=dict)
    asked: list[dict[str, str]] = field(default_factory=list)

    def knows(self, headers: Mapping[str, str]) -> bool:
        """Whether a request is signed by keys of the role that have not ended."""
        token = self.holding.get(key_of(headers))
        return token is not None and headers.get("X-Amz-Security-Token") == token

    def refuses(self, request: dict[str, str], headers: Mapping[str, str]) -> str:
        """The code of a refusal; empty where the role may be taken on."""
        if request["Action"] == "AssumeRoleWithWebIdentity":
            return "" if request["WebIdentityToken"] == WEB_TOKEN else "InvalidIdentityToken"
        if key_of(headers) != BASE:
            return "InvalidClientTokenId"
        return "" if request.get("ExternalId") == EXTERNAL_ID else "AccessDenied"

    def hand_out(self, request: dict[str, str]) -> str:
        """Keys that hold until `holding` is cleared. They say 30 s: botocore asks for others at each use."""
        key, token = f"ASIA{uuid.uuid4().hex[:12]}", uuid.uuid4().hex
        self.holding[key] = token
        until = datetime.now(UTC) + timedelta(seconds=30)
        return _ANSWER.format(request["Action"], key, token, until.isoformat())


def key_of(headers: Mapping[str, str]) -> str:
    """The key that signed a request."""
    match = re.search(r"Credential=([^/]+)/", headers.get("Authorization", ""))
    return match[1] if match else ""


@contextmanager
def token_service() -> Iterator[Sts]:
    """A service that runs with the context."""
    sts = Sts()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = dict(parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
            sts.asked.append(request)
            code = sts.refuses(request, self.headers)
            body = (_REFUSAL.format(code) if code else sts.hand_out(request)).encode()
            self.send_response(403 if code else 200)
            self.send_header("Content-Type", "text/xml")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        sts.url = f"http://127.0.0.1:{server.server_address[1]}"
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield sts
        server.shutdown()
