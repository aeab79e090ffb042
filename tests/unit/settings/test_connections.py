"""Named connections of a profile: other clusters, registries and catalogs beside its own."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from frazil.errors import ConfigureError
from frazil.settings.profile import Settings

KAFKA = {"tls": True, "mechanism": "PLAIN", "username": "me", "password": "s3cret"}


def settings_of(**connections: Any) -> Settings:
    return Settings.load(kafka=KAFKA, connections=connections)


def test_what_a_connection_does_not_tell_is_as_the_profile_says() -> None:
    settings = settings_of(eu={"kafka": {"bootstrap_servers": "eu:1"}, "catalog": "glue"})

    eu = settings.of("eu")

    assert (eu.kafka.bootstrap_servers, eu.kafka.username, eu.catalog) == ("eu:1", "me", "glue")
    assert eu.rest == settings.rest
    assert settings.of("") is settings
    assert eu.of("eu") == eu


def test_its_cluster_is_named_like_the_connection_unless_it_says_otherwise() -> None:
    settings = settings_of(eu={}, us={"cluster": "america"})

    assert [settings.of(name).cluster for name in ("eu", "us")] == ["eu", "america"]


def test_a_connection_may_take_back_what_the_profile_tells() -> None:
    plain = {"tls": False, "mechanism": None, "username": None, "password": None}

    assert settings_of(eu={"kafka": plain}).of("eu").kafka.protocol == "PLAINTEXT"


def test_they_stand_in_the_profile_and_their_secrets_are_references(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EU_KEY", "user:s3cret")
    profile = {"connections": {"eu": {"registry": {"user_info": "env:EU_KEY"}}}}
    (tmp_path / "profile.json").write_text(json.dumps(profile))
    monkeypatch.setenv("FRAZIL_PROFILE", str(tmp_path / "profile.json"))

    settings = Settings.load()

    user_info = settings.of("eu").registry.user_info
    assert user_info is not None
    assert user_info.get_secret_value() == "user:s3cret"
    assert "s3cret" not in repr(settings)


@pytest.mark.parametrize(
    ("connections", "expected"),
    [
        (
            {"eu": {"kafka": {"bootstrap_server": "x"}}},
            "connections.eu.kafka.bootstrap_server: there is no such",
        ),
        ({"eu": {"pipelines": "x"}}, "connections.eu.pipelines: there is no such setting"),
        ({"eu": {"kafka": {"mechanism": "OAUTHBEARER"}}}, "connections.eu.kafka: "),
        ({"eu": {"kafka": {"password": None}}}, "connections.eu: Value error, PLAIN needs password as well"),
        ({"E U": {}}, "connections.E U: use lower-case letters"),
    ],
)
def test_a_mistake_in_one_is_told_with_its_name(connections: dict[str, Any], expected: str) -> None:
    with pytest.raises(ConfigureError) as refusal:
        settings_of(**connections)

    assert expected in str(refusal.value)
    assert "s3cret" not in str(refusal.value)


def test_one_that_is_not_there_is_told_with_the_nearest() -> None:
    with pytest.raises(ConfigureError, match="no connection orders-ue, is it orders-eu"):
        settings_of(**{"orders-eu": {}}).of("orders-ue")


def test_the_profile_in_the_docs_is_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[3] / "docs" / "connect.md").read_text()
    (profile,) = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    monkeypatch.setenv("ORDERS_EU_PASSWORD", "s3cret")
    monkeypatch.setenv("ORDERS_EU_REGISTRY", "user:s3cret")

    eu = Settings.load(**json.loads(profile)).of("orders-eu")

    assert (eu.kafka.protocol, eu.catalog, eu.aws.region) == ("SASL_SSL", "glue", "eu-central-1")
