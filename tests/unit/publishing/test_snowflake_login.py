"""Logins to Snowflake end in time, whatever the connector's own tries add up to; what proves who logs in."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import snowflake.connector
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    load_der_private_key,
)
from snowflake.connector.errors import DatabaseError

from frazil.errors import ConfigureError, PartDownError
from frazil.publishing.snowflake import login
from frazil.publishing.snowflake.connection import open_snowflake
from frazil.settings import reference
from frazil.settings.profile import Settings
from frazil_cloud.key_pair import KeyPair
from kit.runs.waiting import PATIENCE

SETTINGS = Settings.load(snowflake={"account": "us-one", "user": "frazil", "token": "said"})


class Slow:
    """A connector whose login lasts until it may end."""

    def __init__(self) -> None:
        self.may_end, self.closed = Event(), Event()

    def connect(self, **_: object) -> Slow:
        """As the connector's."""
        assert self.may_end.wait(PATIENCE)
        return self

    def close(self) -> None:
        """As a connection's."""
        self.closed.set()


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Slow]:
    fake = Slow()
    monkeypatch.setattr(snowflake.connector, "connect", fake.connect)
    yield fake
    fake.may_end.set()


def test_a_login_that_lasts_longer_than_its_limit_is_given_up_and_closed_when_it_comes(
    slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login, "_LOGIN_SECONDS", 0)

    with pytest.raises(PartDownError, match="Snowflake does not answer"), open_snowflake(SETTINGS):
        pass
    slow.may_end.set()

    assert slow.closed.wait(PATIENCE)


def test_a_login_within_the_limit_is_kept_until_the_work_is_done(slow: Slow) -> None:
    slow.may_end.set()

    with open_snowflake(SETTINGS):
        assert not slow.closed.is_set()

    assert slow.closed.is_set()


class Writing:
    """A connector that writes into the parameters of a session what the server says of it, as theirs does."""

    def __init__(self) -> None:
        self.got: list[dict[str, Any]] = []

    def connect(self, session_parameters: dict[str, Any], **_: object) -> Writing:
        """As the connector's."""
        self.got.append(dict(session_parameters))
        session_parameters["TIMEZONE"] = "Etc/UTC"
        return self


def test_logins_by_the_same_arguments_share_no_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    connector = Writing()
    monkeypatch.setattr(snowflake.connector, "connect", connector.connect)
    arguments = login.connection_arguments(SETTINGS)
    given = dict(arguments["session_parameters"])

    for _ in range(2):
        login.log_in(arguments)

    assert connector.got == [given, given]
    assert arguments["session_parameters"] == given


def pem(key: Any, encryption: KeySerializationEncryption | None = None) -> bytes:
    text: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption or NoEncryption())
    return text


def given(**options: Any) -> Any:
    """The key that the connector gets."""
    return login.connection_arguments(Settings.load(snowflake={"account": "lab", **options}))["private_key"]


@pytest.mark.parametrize("passphrase", [None, "a phrase"])
def test_an_rsa_key_is_loaded_once_and_goes_to_the_connector_as_it_is(
    tmp_path: Path, passphrase: str | None
) -> None:
    key, file = rsa.generate_private_key(65537, 2048), tmp_path / "key.p8"
    text = pem(key, BestAvailableEncryption(passphrase.encode()) if passphrase else None)
    file.write_bytes(text)

    keys = [
        given(private_key_path=file, private_key_passphrase=passphrase),
        given(private_key=text.decode(), private_key_passphrase=passphrase),
        given(private_key=base64.b64encode(text).decode(), private_key_passphrase=passphrase),
    ]

    assert [one.private_numbers() for one in keys] == [key.private_numbers()] * 3


def test_a_key_of_a_curve_goes_to_the_connector_in_the_form_that_it_takes_of_all(tmp_path: Path) -> None:
    key, file = ec.generate_private_key(ec.SECP256R1()), tmp_path / "key.p8"
    file.write_bytes(pem(key))

    der = base64.b64decode(given(private_key_path=file))

    loaded: Any = load_der_private_key(der, None)
    assert loaded.private_numbers() == key.private_numbers()


def test_a_file_without_a_key_is_refused_before_anybody_is_asked(tmp_path: Path) -> None:
    file = tmp_path / "key.p8"
    file.write_text("no key")

    with pytest.raises(ConfigureError, match="can't be read"):
        given(private_key_path=file)


class Refusing:
    """A connector that refuses all keys but one, and notes which it got."""

    def __init__(self, right: KeyPair) -> None:
        self._right = right
        self.got: list[bytes] = []

    def connect(self, private_key: Any, **_: object) -> Refusing:
        """As the connector's."""
        der = private_key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
        self.got.append(der)
        if der != self._right.private_der:
            raise DatabaseError("JWT token is invalid")
        return self

    def close(self) -> None:
        """As a connection's."""


def test_a_refused_key_is_tried_again_only_where_it_was_replaced_meanwhile(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    old, new, file = KeyPair.new(), KeyPair.new(), tmp_path / "key"
    file.write_text(old.private_pem)
    settings = Settings.load(snowflake={"account": "lab", "private_key": f"file:{file}"})
    connector = Refusing(new)
    monkeypatch.setattr(snowflake.connector, "connect", connector.connect)
    monkeypatch.setattr(reference, "_RESTING_SECONDS", 0.0)  # else what is kept is asked for once in a while

    with pytest.raises(ConfigureError, match="refuses the login"), open_snowflake(settings):
        pass
    assert connector.got == [old.private_der]

    file.write_text(new.private_pem)
    with open_snowflake(settings):
        assert connector.got[1:] == [old.private_der, new.private_der]
