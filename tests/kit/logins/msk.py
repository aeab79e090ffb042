"""As much of an MSK broker as a login needs: it knows one key of AWS, and says no to any other.

Kafka's protocol: kafka.apache.org/protocol (ApiVersions, SaslHandshake, SaslAuthenticate, Metadata). What a
token is: a presigned request to kafka-cluster:Connect, by AWS' Signature Version 4.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import socketserver
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import parse_qsl, quote, urlsplit

from frazil_local.authority import Identity

API_VERSIONS, METADATA, SASL_HANDSHAKE, SASL_AUTHENTICATE = 18, 3, 17, 36
_VERSIONS = {0: 3, 1: 4, 2: 1, METADATA: 4, SASL_HANDSHAKE: 1, API_VERSIONS: 0, SASL_AUTHENTICATE: 0}
_OK, _UNSUPPORTED_VERSION, _REFUSED = 0, 35, 58


class Broker(socketserver.ThreadingTCPServer):
    """Lets in who signed with this key; `seen` has the access keys of all who asked."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, server: Identity, key: str, secret: str, region: str) -> None:
        super().__init__(("127.0.0.1", 0), _Session)
        self.key, self.secret, self.region = key, secret, region
        self.seen: list[str] = []
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.load_cert_chain(server.certificate, server.key)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"

    def get_request(self) -> tuple[ssl.SSLSocket, object]:
        plain, peer = super().get_request()
        return self._tls.wrap_socket(plain, server_side=True, do_handshake_on_connect=False), peer

    def lets_in(self, token: str) -> bool:
        """Whether the key that is known signed it, for this region and this purpose."""
        url = urlsplit(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode())
        query = dict(parse_qsl(url.query))
        self.seen.append(query["X-Amz-Credential"].split("/")[0])
        scope = query["X-Amz-Credential"].split("/", 1)[1]
        wanted = f"{query['X-Amz-Date'][:8]}/{self.region}/kafka-cluster/aws4_request"
        return (
            self.seen[-1] == self.key
            and scope == wanted
            and query["Action"] == "kafka-cluster:Connect"
            and url.netloc == f"kafka.{self.region}.amazonaws.com"
            and hmac.compare_digest(query["X-Amz-Signature"], self._signature(url.netloc, query, scope))
        )

    def _signature(self, host: str, parameters: dict[str, str], scope: str) -> str:
        signed = {
            name: value for name, value in parameters.items() if name not in ("X-Amz-Signature", "User-Agent")
        }
        query = "&".join(f"{quote(n, '-_.~')}={quote(v, '-_.~')}" for n, v in sorted(signed.items()))
        request = "\n".join(["GET", "/", query, f"host:{host}", "", "host", hashlib.sha256(b"").hexdigest()])
        digest = hashlib.sha256(request.encode()).hexdigest()
        key = b"AWS4" + self.secret.encode()
        for part in scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        text = "\n".join(["AWS4-HMAC-SHA256", parameters["X-Amz-Date"], scope, digest])
        return hmac.new(key, text.encode(), "sha256").hexdigest()


@contextmanager
def msk(server: Identity, key: str, secret: str, region: str = "us-east-1") -> Iterator[Broker]:
    """The broker, as long as the context."""
    with Broker(server, key, secret, region) as broker:
        thread = threading.Thread(target=broker.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield broker
        finally:
            broker.shutdown()
            thread.join()


class _Session(socketserver.StreamRequestHandler):
    server: Broker

    def handle(self) -> None:
        known = False
        while len(size := self.rfile.read(4)) == 4:
            request = self.rfile.read(struct.unpack(">i", size)[0])
            kind, version, correlation, length = struct.unpack_from(">hhih", request)
            body = request[10 + max(length, 0) :]
            if kind == SASL_AUTHENTICATE:
                known = self.server.lets_in(body[4:].split(b"Bearer ")[1].split(b"\x01")[0].decode())
            answer = struct.pack(">i", correlation) + self._answer(kind, version, known=known)
            self.wfile.write(struct.pack(">i", len(answer)) + answer)

    def _answer(self, kind: int, version: int, *, known: bool) -> bytes:
        if kind == API_VERSIONS:
            ranges = b"".join(struct.pack(">hhh", api, 0, newest) for api, newest in _VERSIONS.items())
            error = _UNSUPPORTED_VERSION if version else _OK
            return struct.pack(">hi", error, len(_VERSIONS)) + ranges
        if kind == SASL_HANDSHAKE:
            return struct.pack(">hi", _OK, 1) + _text("OAUTHBEARER")
        if kind == SASL_AUTHENTICATE:
            return (
                struct.pack(">h", _OK if known else _REFUSED) + _text("Access denied") + struct.pack(">i", 0)
            )
        assert kind == METADATA
        assert known
        host, port = self.server.address.split(":")
        broker = struct.pack(">ii", 1, 1) + _text(host) + struct.pack(">ih", int(port), -1)
        return struct.pack(">i", 0) + broker + _text("msk") + struct.pack(">ii", 1, 0)


def _text(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()
