"""A gate before a server of the stack, as long as a context."""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Thread
from urllib.parse import urlsplit

from frazil.settings.profile import Settings
from frazil.settings.secret import revealed
from frazil_local.authority import Authority
from frazil_local.home import Credentials
from frazil_local.servers.gate import NO, Answer, Editor, Gate, Rule, Signer
from frazil_local.servers.gate import signer as signer_of


def signer(settings: Settings) -> Signer:
    """Logs the gate in to the stack's catalog, which knows signatures only."""
    access, secret = revealed(settings.aws.access_key), revealed(settings.aws.secret_key)
    assert access
    assert secret
    return signer_of(Credentials(access, secret, settings.aws.region))


@contextmanager
def gate(
    target: str, lets_in: Rule, authority: Authority | None = None, *, mutual: bool = False,
    signed: Signer | None = None, edited: Editor = lambda _headers, body: body, refusal: Answer = NO,
) -> Iterator[str]:  # fmt: skip
    """The address of `target` behind the gate; by TLS where there is an authority.

    `mutual`: it asks for a certificate, too. `signed`: how the gate itself logs in to what is behind.
    `edited`: what becomes of an answer. `refusal`: what it says to all others.
    """
    tls = server_tls(authority, mutual=mutual) if authority else None
    with Gate(0, target, lets_in, signed, tls=tls) as server:
        server.edited, server.refusal = edited, refusal
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        host = f"127.0.0.1:{server.server_address[1]}"
        yield urlsplit(target)._replace(scheme="https" if authority else "http", netloc=host).geturl()
        server.shutdown()


def uncompressed(_method: str, _url: str, _body: bytes, headers: Mapping[str, str]) -> dict[str, str]:
    """A request for an answer that can be edited, for `signed`."""
    return {
        **{k: v for k, v in headers.items() if k.lower() != "accept-encoding"},
        "Accept-Encoding": "identity",
    }


def server_tls(authority: Authority, *, mutual: bool = False) -> ssl.SSLContext:
    """How a server of that authority listens; `mutual`: it asks for a certificate, too."""
    own = authority.identity("gate")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own.certificate, own.key)
    if mutual:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(authority.file)
    return context
