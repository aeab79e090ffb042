"""A process that has read its settings follows secrets that are replaced where they are kept."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from email.message import Message
from pathlib import Path
from typing import Any

import boto3
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from moto import mock_aws

from frazil.errors import ConfigureError
from frazil.formats.registry.client import registry_client
from frazil.formats.registry.subjects import subject_versions
from frazil.publishing.snowflake.login import connection_arguments
from frazil.settings import reference
from frazil.settings.profile import Settings
from frazil.settings.secret import conceal, read_anew, revealed
from frazil_cloud.key_pair import KeyPair
from kit.wires.answering import serving
from kit.wires.gate import gate

GOOD = {"subject": "t-value", "version": 1, "id": 7, "schema": '"int"', "schemaType": "AVRO"}


@pytest.fixture
def secrets(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Secrets Manager as moto plays it, with one secret."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        client = boto3.client("secretsmanager")
        client.create_secret(Name="keys", SecretString=json.dumps({"user": "one", "password": "first"}))
        yield client


@pytest.fixture
def nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "KEPT_SECONDS", 0.0)


@pytest.fixture
def refusals_are_heard_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "_RESTING_SECONDS", 0.0)


def by_key(**further: Any) -> Settings:
    access = {
        "mechanism": "PLAIN",
        "username": "aws-secret:keys#user",
        "password": "aws-secret:keys#password",
    }
    return Settings.load(kafka=access, **further)


def login(settings: Settings) -> tuple[str | None, str | None]:
    return revealed(settings.kafka.username), revealed(settings.kafka.password)


def replace(secrets: Any, **values: str) -> None:
    secrets.put_secret_value(SecretId="keys", SecretString=json.dumps(values))


@pytest.mark.usefixtures("nothing_is_kept")
def test_after_a_while_a_secret_is_read_anew_and_the_name_with_it(secrets: Any) -> None:
    settings = by_key()
    assert login(settings) == ("one", "first")

    replace(secrets, user="two", password="second")

    assert login(settings) == ("two", "second")
    assert login(settings.with_changes(cluster="another")) == ("two", "second")


@pytest.mark.usefixtures("refusals_are_heard_at_once")
def test_a_name_and_its_password_are_kept_together_until_somebody_was_refused(secrets: Any) -> None:
    settings = by_key()
    replace(secrets, user="two", password="second")
    assert login(settings) == ("one", "first")

    read_anew(settings.kafka.password)

    assert login(settings) == ("two", "second")


@pytest.mark.usefixtures("nothing_is_kept")
@pytest.mark.parametrize("text", [None, "no JSON", '{"user": "two"}'])
def test_a_secret_that_can_be_read_no_more_stands_as_it_was(secrets: Any, text: str | None) -> None:
    settings = by_key()
    if text is None:
        secrets.delete_secret(SecretId="keys", ForceDeleteWithoutRecovery=True)
    else:
        secrets.put_secret_value(SecretId="keys", SecretString=text)

    assert login(settings)[1] == "first"


def test_one_reference_follows_the_number_of_the_key_that_is_in_use(secrets: Any) -> None:
    one, two = KeyPair.new(), KeyPair.new()
    replace(secrets, number="2", key_1_pem=one.private_base64, key_2_pem=two.private_base64)

    settings = Settings.load(snowflake={"account": "lab", "private_key": "aws-secret:keys#key_{number}_pem"})

    private_key = connection_arguments(settings)["private_key"]
    assert private_key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption()) == two.private_der


@pytest.mark.parametrize("text", ["no key at all", "bm8ga2V5"])
def test_a_key_that_is_none_is_refused_without_being_shown(text: str) -> None:
    settings = Settings.load(snowflake={"account": "lab", "private_key": text})

    with pytest.raises(ConfigureError, match="private key for Snowflake") as met:
        connection_arguments(settings)

    assert text not in str(met.value)


def test_the_name_is_shown_and_the_password_is_not(secrets: Any) -> None:
    settings = by_key()

    assert "first" not in f"{settings!r} {settings.model_dump()} {settings.model_dump_json()}"
    assert settings.model_dump(mode="json")["kafka"]["username"] == "one"
    assert conceal("user one, password first", settings) == "user one, password ***"


@pytest.mark.usefixtures("refusals_are_heard_at_once")
def test_a_registry_that_refuses_the_old_login_is_asked_once_more_with_the_new_one(tmp_path: Path) -> None:
    file, valid = tmp_path / "login", ["user:old"]
    file.write_text(valid[0])

    def knows(headers: Message) -> bool:
        return headers.get("Authorization") == "Basic " + base64.b64encode(valid[0].encode()).decode()

    with serving() as server, gate(server.url, knows) as address:
        versions = (200, {}, b"[1]")
        server.answers = {"versions/": (200, {}, json.dumps(GOOD).encode()), "versions": versions}
        client = registry_client(Settings.load(registry={"url": address, "user_info": f"file:{file}"}))
        assert subject_versions(client, "t-value")[0].schema_id == 7

        valid[0] = "user:new"
        with pytest.raises(ConfigureError, match="gives no access"):
            subject_versions(client, "t-value")
        file.write_text("user:new")

        assert subject_versions(client, "t-value")[0].schema_id == 7
