"""The settings of a deployment: what was made, with the identities made, and no secret in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from frazil.errors import NotYetError
from frazil.settings.profile import Settings
from frazil_cloud.identities import CROSSING, settings_of
from frazil_cloud.spec.deployment import DeploymentSpec

KNOWN = {
    "confluent/cluster": {"id": "lkc-1", "bootstrap": "pkc-1:9092", "protocol": "SASL_SSL"},
    "confluent/registry": {"http_endpoint": "https://psrc-1"},
    "aws/writer_role": {"arn": "arn:aws:iam::1:role/writer"},
    "aws/reader_role": {"arn": "arn:aws:iam::1:role/reader"},
}
SECRETS = {
    "/snowflake_resource/shop": {
        "snowflake_account_identifier": "ORG-ACCOUNT",
        "snowflake_service_user": "SHOP_USER",
        "active_key_number": "1",
        "snowflake_rsa_private_key_1_pem": "the-private-key",
    }
}


class Store:
    def put(self, name: str, values: Mapping[str, str], tags: Mapping[str, str]) -> None:
        raise AssertionError("settings write no secrets")

    def get(self, name: str) -> dict[str, str] | None:
        return SECRETS.get(name)

    def pending(self, name: str) -> dict[str, str] | None:
        raise AssertionError("settings follow what is in use")

    def delete(self, name: str) -> None:
        raise AssertionError("settings delete no secrets")


def spec(**parts: Any) -> DeploymentSpec:
    document = {"name": "shop", "aws": {"bucket": "shop-bucket"}, "confluent": {}, "snowflake": {}, **parts}
    return DeploymentSpec.model_validate(document)


def settings_for(deployment: DeploymentSpec, **who: Any) -> dict[str, Any]:
    return settings_of(deployment, KNOWN, Store(), Settings.load(**who))


def test_each_system_is_told_with_the_identity_made_for_it() -> None:
    settings_told = settings_for(spec())

    assert (settings_told["cluster"], settings_told["catalog"]) == ("shop", "glue")
    assert settings_told["kafka"]["bootstrap_servers"] == "pkc-1:9092"
    assert settings_told["kafka"]["tls"] is True
    assert settings_told["kafka"]["cluster_id"] == KNOWN["confluent/cluster"]["id"]
    assert settings_told["registry"]["url"] == "https://psrc-1"
    assert settings_told["aws"]["role_arn"] == "arn:aws:iam::1:role/writer"
    assert settings_told["glue"]["warehouse"] == "s3://shop-bucket/warehouse"
    assert (settings_told["snowflake"]["user"], settings_told["snowflake"]["account"]) == (
        "SHOP_USER",
        "ORG-ACCOUNT",
    )
    assert settings_told["snowflake"]["login_role"] == "SHOP_SYSTEM_ADMIN_ROLE"


def test_secrets_are_told_by_where_they_are_kept() -> None:
    settings_told = settings_for(spec())

    consumer = "aws-secret:/confluent_cloud_resource/shop/kafka_cluster/app_consumer/python_client"
    assert settings_told["kafka"]["password"] == f"{consumer}#sasl.password"
    key = settings_told["snowflake"]["private_key"]
    assert key == "aws-secret:/snowflake_resource/shop#snowflake_rsa_private_key_{active_key_number}_pem"
    assert "the-private-key" not in str(settings_told)


def test_every_setting_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """D6: the secret and the deployment name one user, who can log in."""
    settings_told = settings_for(spec())
    for system in ("kafka", "registry", "snowflake"):
        settings_told[system] = {
            k: v for k, v in settings_told[system].items() if not str(v).startswith("aws-secret:")
        }
    settings_told["kafka"] |= {"username": "key", "password": "secret"}

    settings = Settings.load(**settings_told)

    assert settings.s3_endpoint is None
    assert settings.snowflake.user == "SHOP_USER"


def test_where_confluent_takes_the_role_too_it_reads_no_secrets() -> None:
    confluent = {"topics": [{"name": "trades"}], "tableflow": ["trades"]}

    assert settings_for(spec(confluent=confluent))["aws"]["secrets_by"] == "identity"
    assert "secrets_by" not in settings_for(spec())["aws"]


def test_the_stand_ins_are_told_where_the_clouds_are_stand_ins() -> None:
    settings_told = settings_for(
        spec(), aws={"endpoint": "http://127.0.0.1:1"}, snowflake={"host": "127.0.0.1", "port": 2}
    )

    assert settings_told["s3"]["endpoint"] == settings_told["glue"]["endpoint"] == "http://127.0.0.1:1"
    assert (settings_told["snowflake"]["host"], settings_told["snowflake"]["port"]) == ("127.0.0.1", 2)


def test_parts_that_a_deployment_lacks_are_not_told() -> None:
    assert set(settings_for(spec(confluent=None, snowflake=None))) == {
        "cluster",
        "catalog",
        "aws",
        "s3",
        "glue",
    }


@pytest.mark.parametrize("address", CROSSING)
def test_what_was_not_made_is_named(address: str) -> None:
    known = {name: facts for name, facts in KNOWN.items() if name != address}

    with pytest.raises(NotYetError, match=f"lacks {address}") as raised:
        settings_of(spec(), known, Store(), Settings.load())
    assert raised.value.todo.startswith("`frazil deploy create` makes it")
    assert settings_of(spec(), {**known, address: KNOWN[address]}, Store(), Settings.load())
