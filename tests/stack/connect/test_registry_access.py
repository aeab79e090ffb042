"""A registry that asks who is there, as Confluent Cloud's does: each way in, and each no."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message
from pathlib import Path
from typing import Any

import pytest

from frazil.connections import Connections
from frazil.errors import ConfigureError
from frazil.formats.registry.client import registry_client
from frazil.formats.registry.subjects import subject_versions
from frazil.settings.profile import Settings
from frazil_local.authority import Authority
from kit.logins.tokens import CLIENT, SECRET, Tokens
from kit.records.topics import Topic, topic_maker
from kit.wires.gate import gate

WAYS = ("certificate", "login", "token", "OAuth")
LOGIN = "KEY:registry-secret"
TOKEN = "a-static-token"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"), "the registry's authority")


@pytest.fixture
def topic(connections: Connections, fresh_name: str) -> Topic:
    return topic_maker(connections, fresh_name, "connect_tests")()


@contextmanager
def guarded(stack: Settings, authority: Authority, tokens: Tokens, way: str) -> Iterator[str]:
    """The stack's registry behind a gate that knows one way in."""

    def lets_in(headers: Message) -> bool:
        authorization = headers.get("Authorization", "")
        match way:
            case "login":
                return authorization == f"Basic {base64.b64encode(LOGIN.encode()).decode()}"
            case "token":
                return authorization == f"Bearer {TOKEN}" and headers.get("target-sr-cluster") == "lsrc-1"
            case "OAuth":
                return tokens.knows(authorization)
        return True

    with gate(stack.registry.url, lets_in, authority, mutual=way == "certificate") as address:
        yield address


def right(way: str, authority: Authority, tokens: Tokens) -> dict[str, Any]:
    """The settings that a way in needs."""
    login: dict[str, Any] = {"ca": authority.file}
    match way:
        case "login":
            login |= {"user_info": LOGIN}
        case "certificate":
            client = authority.identity("a-client")
            login |= {"certificate": client.certificate, "key": client.key}
        case "token":
            login |= {"token": TOKEN, "logical_cluster": "lsrc-1"}
        case "OAuth":
            login |= {"token_url": tokens.token_url, "client_id": CLIENT, "client_secret": SECRET}
    return login


@pytest.mark.parametrize("way", WAYS)
def test_a_subject_is_read_through_each_way_in(
    topic: Topic, stack: Settings, authority: Authority, tokens: Tokens, way: str
) -> None:
    with guarded(stack, authority, tokens, way) as address:
        login = right(way, authority, tokens)
        client = registry_client(Settings.load(registry=login | {"url": address}))

        versions = subject_versions(client, f"{topic.name}-value")

    assert [each.version for each in versions] == [1]


@pytest.mark.parametrize(
    ("way", "wrong"),
    [
        ("login", {"user_info": "KEY:wrong"}),
        ("token", {"token": "wrong"}),
        ("OAuth", {"client_secret": "wrong"}),
        ("certificate", {"certificate": None, "key": None}),
        ("login", {"ca": "another"}),
    ],
    ids=["wrong password", "wrong token", "wrong secret", "no certificate", "another authority"],
)
def test_whoever_is_not_let_in_is_told_what_to_mend(
    topic: Topic, stack: Settings, authority: Authority, tokens: Tokens, tmp_path: Path,
    way: str, wrong: dict[str, Any],
) -> None:  # fmt: skip
    login = right(way, authority, tokens) | wrong
    if login["ca"] == "another":
        login["ca"] = Authority(tmp_path, "somebody else").file

    with guarded(stack, authority, tokens, way) as address:
        client = registry_client(Settings.load(registry=login | {"url": address}))
        with pytest.raises(ConfigureError, match="FRAZIL_REGISTRY__") as refusal:
            subject_versions(client, f"{topic.name}-value")

    assert "registry-secret" not in str(refusal.value)
