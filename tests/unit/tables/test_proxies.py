"""Proxies and authorities that the environment names hold for REST catalogs, though looked at only once."""

from __future__ import annotations

import pytest
import requests

from frazil.tables.catalogs.rest import ask_environment_once

ADDRESSES = [
    "http://outer.example/v1/config",
    "http://inner.example/v1/tables/a",
    "http://inner.example/v1/tables/b?snapshots=refs",
    "https://outer.example/v1/tables/a",
]


def test_each_server_has_its_proxy_and_its_authorities(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "http_proxy": "http://proxy.example:1", "https_proxy": "http://proxy.example:2",
        "no_proxy": "inner.example", "REQUESTS_CA_BUNDLE": "/etc/ours.pem",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    plain, once = requests.Session(), requests.Session()
    ask_environment_once(once)

    def ways(session: requests.Session, verify: bool | str) -> list[object]:
        return [session.merge_environment_settings(url, {}, None, verify, None) for url in ADDRESSES]

    for verify in (True, "/etc/theirs.pem"):
        assert ways(once, verify) == ways(once, verify) == ways(plain, verify)
    monkeypatch.delenv("http_proxy")
    assert ways(once, True) != ways(plain, True)  # looked at once
