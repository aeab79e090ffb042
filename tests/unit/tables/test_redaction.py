"""Every secret that Spark is told is one that its server hides."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from frazil.kafka.access import java_access
from frazil.settings.profile import Settings
from frazil.tables.catalogs.client_properties import spark_properties
from frazil.tables.spark.redaction import OF_SERVER, OF_SESSION, SECRETS, SPARK_CATALOG
from frazil_local.authority import Authority
from kit.logins.planted import MARK, encrypt, planted

KEYS = {name: planted(name) for name in ("access_key", "secret_key", "session_token")}
OAUTH = {"token_url": "https://t", "client_id": "frazil", "client_secret": planted("client")}
ROLE = {"role_arn": "arn:aws:iam::123456789012:role/r", "external_id": planted("id")}


@pytest.mark.parametrize(
    "settings",
    [
        {"aws": KEYS},
        {"aws": KEYS, "catalog": "glue"},
        {"aws": KEYS | ROLE},
        {"aws": KEYS, "rest": {"token": planted("token")}},
        {"aws": KEYS, "rest": OAUTH},
    ],
    ids=["signed", "Glue", "a role", "a token", "OAuth"],
)
def test_settings_of_a_session_that_hold_a_secret_are_known_to_the_server(settings: dict[str, Any]) -> None:
    properties = spark_properties(Settings().with_changes(**settings))

    options = {f"spark.sql.catalog.{SPARK_CATALOG}.{n}" for n, value in properties.items() if MARK in value}
    assert options
    assert options <= set(SECRETS)


def test_the_server_hides_each_of_them_by_its_name() -> None:
    hides = re.compile(OF_SERVER["spark.redaction.regex"])

    assert [name for name in SECRETS if not hides.search(name)] == []
    assert set(SECRETS) < OF_SERVER.keys()


@pytest.mark.parametrize("mechanism", ["PLAIN", "OAUTHBEARER"])
def test_options_of_kafka_that_hold_a_secret_are_hidden_in_plans(mechanism: str, tmp_path: Path) -> None:
    own = Authority(tmp_path, "own").identity("frazil")
    encrypt(own.key, own.key, password := planted('a "password" \\'))
    login = OAUTH if mechanism == "OAUTHBEARER" else {"username": "frazil", "password": password}
    access = {"certificate": own.certificate, "key": own.key, "key_password": password, **login}
    settings = Settings().with_changes(kafka={"mechanism": mechanism, **access})
    options = {f"kafka.{name}": value for name, value in java_access(settings.kafka, settings.aws).items()}

    shown = "".join(map(as_shown, options.items()))
    hidden = re.sub(OF_SESSION["spark.sql.redaction.string.regex"], "***", shown)

    assert MARK in shown
    assert own.key.read_text().splitlines()[1] in shown
    assert MARK not in hidden
    assert own.key.read_text().splitlines()[1] not in hidden
    assert "kafka.security.protocol" in hidden


def as_shown(option: tuple[str, str]) -> str:
    """An option as Spark Connect shows a plan: protobuf's text."""
    name, value = option
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'options {{\n  key: "{name}"\n  value: "{escaped}"\n}}\n'
