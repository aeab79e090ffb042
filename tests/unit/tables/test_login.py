"""A REST catalog that asks for a certificate gets it, also where the key of that is encrypted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from frazil.errors import ConfigureError
from frazil.settings.profile import Settings
from frazil.tables.catalogs.catalog import open_catalog
from frazil_local.authority import Authority
from kit.logins.planted import encrypt
from kit.wires.answering import serving
from kit.wires.gate import gate

PASSWORD = "the-password"


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    """Of a catalog that lets in whoever has a certificate; the key of that is encrypted."""
    authority = Authority(tmp_path, "own")
    own = authority.identity("frazil")
    encrypt(own.key, own.key, PASSWORD)
    access = {"ca": authority.file, "certificate": own.certificate, "key": own.key, "token": "t"}
    with serving() as server, gate(server.url, lambda _: True, authority, mutual=True) as address:
        server.answers = {
            "/v1/config": (200, {}, b'{"defaults": {}, "overrides": {}}'),
            "/namespaces": (200, {}, b'{"namespaces": [["one"]]}'),
        }
        yield Settings().with_changes(rest={"uri": address, **access})


def test_the_password_opens_the_key(settings: Settings) -> None:
    catalog = open_catalog(settings.with_changes(rest={"key_password": PASSWORD}))

    assert catalog.list_namespaces() == [("one",)]


@pytest.mark.parametrize("password", [None, "wrong"])
def test_without_it_the_settings_are_named(settings: Settings, password: str | None) -> None:
    with pytest.raises(ConfigureError, match=r"FRAZIL_REST__KEY_PASSWORD") as refusal:
        open_catalog(settings.with_changes(rest={"key_password": password}))

    assert "wrong" not in str(refusal.value)


def test_a_catalog_that_gets_no_certificate_refuses(settings: Settings) -> None:
    with pytest.raises(ConfigureError, match="FRAZIL_REST__"):
        open_catalog(settings.with_changes(rest={"certificate": None, "key": None}))
