"""What PyIceberg and Spark are told of the identity and the catalog: both the same, each in its own words."""

from __future__ import annotations

from typing import Any

import pytest

from frazil.settings.profile import Settings
from frazil.tables.catalogs.client_properties import pyiceberg_properties, spark_properties

KEYS = {"access_key": "AKIA", "secret_key": "secret", "session_token": "token"}
ROLE = {"role_arn": "arn:aws:iam::123456789012:role/x", "external_id": "id", "region": "eu-west-1"}
OF_IDENTITY = ("client.factory", "client.assume-role.", "s3.access", "s3.secret", "s3.session", "rest.access",
               "rest.secret", "rest.session")  # fmt: skip


def of_identity(properties: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in properties.items() if name.startswith(OF_IDENTITY)}


@pytest.mark.parametrize("catalog", ["rest", "glue"])
def test_spark_takes_on_the_role_itself_and_renews_its_keys(catalog: str) -> None:
    properties = spark_properties(Settings.load(catalog=catalog, aws=ROLE | {"session_name": "nightly"}))

    assert of_identity(properties) == {
        "client.factory": "org.apache.iceberg.aws.AssumeRoleAwsClientFactory",
        "client.assume-role.arn": "arn:aws:iam::123456789012:role/x",
        "client.assume-role.region": "eu-west-1",
        "client.assume-role.external-id": "id",
        "client.assume-role.session-name": "nightly",
    }


def test_keys_are_told_to_spark_for_storage_and_for_signatures() -> None:
    names = ("access-key-id", "secret-access-key", "session-token")

    properties = of_identity(spark_properties(Settings.load(aws=KEYS)))

    assert properties == {
        f"{client}.{name}": value
        for client in ("s3", "rest")
        for name, value in zip(names, KEYS.values(), strict=True)
    }


@pytest.mark.parametrize(
    "identity", [{}, {"profile": "team"}, {"role_arn": "arn", "web_identity_token_file": "/var/token"}]
)
def test_what_lies_in_files_is_left_to_the_own_chain_of_sparks_machines(identity: dict[str, Any]) -> None:
    assert of_identity(spark_properties(Settings.load(aws=identity))) == {}


def test_the_keys_of_the_session_stand_in_no_property_of_pyiceberg() -> None:
    properties = pyiceberg_properties(Settings.load(aws=KEYS))

    assert not {"AKIA", "secret", "token"} & set(properties.values())


def test_files_of_spark_are_encrypted_by_the_key_that_is_set() -> None:
    properties = spark_properties(Settings.load(s3={"kms_key": "arn:aws:kms:eu-west-1:123456789012:key/k"}))

    assert (properties["s3.sse.type"], properties["s3.sse.key"]) == (
        "kms",
        "arn:aws:kms:eu-west-1:123456789012:key/k",
    )


def test_both_ask_the_same_region_and_account_of_glue() -> None:
    settings = Settings.load(catalog="glue", glue={"catalog_id": "210987654321"}, aws={"region": "eu-west-1"})

    for properties in (pyiceberg_properties(settings), spark_properties(settings)):
        assert (properties["client.region"], properties["glue.id"]) == ("eu-west-1", "210987654321")


def test_with_keys_that_the_catalog_vends_both_ask_for_them_and_storage_is_told_no_other() -> None:
    settings = Settings.load(rest={"vended_credentials": True, "token": "t"}, aws=KEYS)

    for properties in (pyiceberg_properties(settings), spark_properties(settings)):
        assert properties["header.X-Iceberg-Access-Delegation"] == "vended-credentials"
        assert of_identity(properties) == {}


def test_both_are_told_the_same_prefix() -> None:
    settings = Settings.load(rest={"prefix": "my/catalog"})

    assert pyiceberg_properties(settings)["prefix"] == spark_properties(settings)["prefix"] == "my/catalog"
