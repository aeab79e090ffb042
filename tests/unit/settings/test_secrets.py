"""A secret may be told by where it is kept, and is shown nowhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from moto import mock_aws

from frazil.errors import ConfigureError
from frazil.settings.profile import Settings


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Secrets Manager and Parameter Store as moto plays them."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        yield


def setting_of(reference: str) -> str:
    """What a setting holds that was given as a reference."""
    secret = Settings.load(registry={"user_info": reference}).registry.user_info
    assert secret
    return secret.get_secret_value()


def test_a_value_may_stand_for_itself() -> None:
    assert setting_of("user:password") == "user:password"


def test_a_variable_or_a_file_may_hold_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGISTRY_LOGIN", "user:one")
    (tmp_path / "login").write_text("user:two\n")

    assert setting_of("env:REGISTRY_LOGIN") == "user:one"
    assert setting_of(f"file:{tmp_path / 'login'}") == "user:two"


@pytest.mark.usefixtures("aws")
def test_aws_may_keep_it() -> None:
    boto3.client("secretsmanager").create_secret(Name="/a/key", SecretString=json.dumps({"login": "user:3"}))
    boto3.client("secretsmanager").create_secret(Name="whole", SecretString="user:4")
    boto3.client("ssm").put_parameter(Name="/a/parameter", Value="user:5", Type="SecureString")

    assert setting_of("aws-secret:/a/key#login") == "user:3"
    assert setting_of("aws-secret:whole") == "user:4"
    assert setting_of("aws-ssm:/a/parameter") == "user:5"


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("env:NOWHERE", "there is no environment variable NOWHERE"),
        ("file:/nowhere/at/all", "/nowhere/at/all can't be read"),
        ("file:~nobody-here/login", "this machine knows no user of that name"),
        ("aws-secret:nowhere", "secretsmanager does not give it"),
        ("aws-ssm:nowhere", "ssm does not give it"),
    ],
)
def test_what_is_not_there_is_named_with_the_setting(reference: str, expected: str) -> None:
    with pytest.raises(ConfigureError, match=f"registry.user_info.*{expected}"):
        setting_of(reference)


@pytest.mark.usefixtures("aws")
def test_a_key_that_a_secret_lacks_is_named_without_the_secret() -> None:
    boto3.client("secretsmanager").create_secret(Name="keys", SecretString=json.dumps({"other": "planted"}))

    with pytest.raises(ConfigureError, match="no JSON object with a key login") as refusal:
        setting_of("aws-secret:keys#login")

    assert "planted" not in str(refusal.value)


def test_no_secret_is_shown_with_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRAZIL_KAFKA__MECHANISM", "PLAIN")
    monkeypatch.setenv("FRAZIL_KAFKA__USERNAME", "user")
    monkeypatch.setenv("FRAZIL_KAFKA__PASSWORD", "planted")
    settings = Settings.load(aws={"access_key": "key", "secret_key": "planted"})

    assert "planted" not in f"{settings!r} {settings} {settings.model_dump()} {settings.model_dump_json()}"
