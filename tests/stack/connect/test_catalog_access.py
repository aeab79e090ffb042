"""A REST catalog that asks for a token, as Polaris, Unity and Open Catalog do."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from email.message import Message
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from frazil.clients import Clients
from frazil.connections import Connections
from frazil.errors import ConfigureError
from frazil.landing.land import land
from frazil.settings.profile import Settings
from frazil.tables.catalogs.catalog import catalog_errors
from frazil_local.authority import Authority
from kit.logins.tokens import CLIENT, SECRET, Tokens
from kit.records.topics import topic_maker
from kit.runs.waiting import wait_for
from kit.wires.gate import gate, signer

TOKEN = "a-static-token"


Guarded = Callable[[str], AbstractContextManager[str]]


@pytest.fixture
def guarded(stack: Settings, tokens: Tokens) -> Guarded:
    """The stack's catalog behind a gate that checks the token of each request."""

    def open_gate(way: str) -> AbstractContextManager[str]:
        def lets_in(headers: Message) -> bool:
            authorization = headers.get("Authorization", "")
            return authorization == f"Bearer {TOKEN}" if way == "token" else tokens.knows(authorization)

        return gate(stack.rest.uri, lets_in, signed=signer(stack))

    return open_gate


def access(way: str, tokens: Tokens) -> dict[str, Any]:
    if way == "token":
        return {"token": TOKEN}
    client = {"client_id": CLIENT, "client_secret": SECRET, "scope": "catalog"}
    return {"token_url": tokens.token_url, **client}


def through(connections: Connections, address: str, access: dict[str, Any]) -> Clients:
    """The stack's connections, but for the catalog."""
    return Clients(connections.settings.with_changes(rest={"uri": address, **access}))


@pytest.mark.parametrize("way", ["token", "OAuth"])
def test_records_land_in_a_catalog_that_asks_for_a_token(
    connections: Connections, tokens: Tokens, guarded: Guarded, fresh_name: str, way: str
) -> None:
    with guarded(way) as address:
        clients = through(connections, address, access(way, tokens))
        topic = topic_maker(clients, fresh_name, "connect_tests")()
        topic.trades(10)

        assert land(topic.spec, clients).records == 10
        assert len(topic.rows()) == 10


def test_a_token_that_ends_is_followed_by_another(
    connections: Connections, tokens: Tokens, guarded: Guarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "lifetime", 61)  # a new one is taken a minute before the end of the old one

    with guarded("OAuth") as address:
        catalog = through(connections, address, access("OAuth", tokens)).catalog
        catalog.list_namespaces()
        monkeypatch.setattr(tokens, "asked", 0)
        wait_for(lambda: catalog.list_namespaces() and tokens.asked)


@pytest.mark.parametrize(
    ("way", "wrong"),
    [("token", {"token": "wrong"}), ("OAuth", {"client_secret": "wrong"})],
    ids=["wrong token", "wrong secret"],
)
def test_whoever_is_not_let_in_is_told_what_to_mend(
    connections: Connections, tokens: Tokens, guarded: Guarded, way: str, wrong: dict[str, Any]
) -> None:
    with guarded(way) as address:
        clients = through(connections, address, access(way, tokens) | wrong)
        with (
            pytest.raises(ConfigureError, match="FRAZIL_REST__") as refusal,
            catalog_errors(clients.settings),
        ):
            clients.catalog.list_namespaces()

    assert SECRET not in str(refusal.value)


def test_a_certificate_of_somebody_else_is_refused(connections: Connections, tmp_path: Path) -> None:
    authority, other = Authority(tmp_path / "own", "own"), Authority(tmp_path / "other", "other")
    let_all_in = partial(gate, connections.settings.rest.uri, lambda _: True, authority)

    with let_all_in(signed=signer(connections.settings)) as address:
        known = through(connections, address, {"ca": authority.file, "token": TOKEN})
        unknown = through(connections, address, {"ca": other.file, "token": TOKEN})

        assert known.catalog.list_namespaces() is not None
        with pytest.raises(ConfigureError, match="certificate verify failed"):
            _ = unknown.catalog
