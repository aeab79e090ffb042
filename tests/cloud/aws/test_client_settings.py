"""Kafka clients of a deployment find their settings at AWS, in the order of the source systems."""

from __future__ import annotations

import json
from typing import Any

import pytest

from frazil.errors import ClientSettingsError
from frazil.settings.systems.aws import AwsSettings
from frazil_cloud.aws.client import Aws
from frazil_cloud.aws.client_settings import client_settings
from frazil_cloud.spec.aws import AwsPart
from frazil_cloud.spec.confluent import KeyUse
from frazil_cloud.spec.deployment import DeploymentSpec
from frazil_cloud.spec.names import Names
from kit.clouds.cloud_aws import CloudAws

NAMES = DeploymentSpec.model_validate({"name": "lab", "aws": {"bucket": "lab-lake"}}).names
KAFKA = NAMES.secret("app_consumer")
REGISTRY = NAMES.secret("schema_registry")
PATH = f"{NAMES.parameters}/consumer_kafka_client"
KEY = {"sasl.username": "K", "sasl.password": "S", "bootstrap.servers": "pkc-1:9092"}
REGISTRY_KEY = {"schema.registry.url": "https://psrc-1", "schema.registry.basic.auth.user.info": "K:S"}


@pytest.fixture
def stored(aws: CloudAws) -> CloudAws:
    """A deployment's secrets, and eleven parameters: one more than a page has."""
    secrets, ssm = aws.client("secretsmanager"), aws.client("ssm")
    secrets.create_secret(Name=KAFKA, SecretString=json.dumps(KEY))
    secrets.create_secret(Name=REGISTRY, SecretString=json.dumps(REGISTRY_KEY))
    for number in range(10):
        ssm.put_parameter(Name=f"{PATH}/p{number}", Value="x", Type="String")
    ssm.put_parameter(Name=f"{PATH}/session.timeout.ms", Value="090000", Type="SecureString")
    return aws


def asked(aws: CloudAws) -> dict[str, str]:
    return client_settings(Aws(aws.settings), NAMES, "consumer")


def test_secrets_and_all_pages_of_parameters_are_put_together(stored: CloudAws) -> None:
    values = asked(stored)

    assert values == {
        **KEY,
        **REGISTRY_KEY,
        **{f"p{n}": "x" for n in range(10)},
        "session.timeout.ms": "90000",
    }


def test_what_comes_later_wins(stored: CloudAws) -> None:
    later = {**REGISTRY_KEY, "sasl.username": "of the registry", "bootstrap.servers": "of the registry"}
    stored.client("secretsmanager").put_secret_value(SecretId=REGISTRY, SecretString=json.dumps(later))
    stored.client("ssm").put_parameter(Name=f"{PATH}/bootstrap.servers", Value="of ssm", Type="String")

    values = asked(stored)

    assert (values["sasl.username"], values["bootstrap.servers"]) == ("of the registry", "of ssm")


def test_a_region_that_nobody_says_is_us_east_1() -> None:
    assert Aws(AwsSettings()).region == "us-east-1"


def _without_a_field(aws: CloudAws) -> None:
    text = json.dumps({"sasl.username": "K", "bootstrap.servers": "pkc-1:9092"})
    aws.client("secretsmanager").put_secret_value(SecretId=KAFKA, SecretString=text)


def _bytes(aws: CloudAws) -> None:
    aws.client("secretsmanager").delete_secret(SecretId=KAFKA, ForceDeleteWithoutRecovery=True)
    aws.client("secretsmanager").create_secret(Name=KAFKA, SecretBinary=b"\x00")


def _empty(aws: CloudAws) -> None:
    aws.client("secretsmanager").delete_secret(SecretId=KAFKA, ForceDeleteWithoutRecovery=True)
    aws.client("secretsmanager").create_secret(Name=KAFKA)


def _no_secret(aws: CloudAws) -> None:
    aws.client("secretsmanager").delete_secret(SecretId=REGISTRY, ForceDeleteWithoutRecovery=True)


def _doomed(aws: CloudAws) -> None:
    aws.client("secretsmanager").delete_secret(SecretId=REGISTRY)


def _no_parameters(aws: CloudAws) -> None:
    names = [*(f"{PATH}/p{number}" for number in range(9))]
    aws.client("ssm").delete_parameters(Names=names)
    aws.client("ssm").delete_parameters(Names=[f"{PATH}/p9", f"{PATH}/session.timeout.ms"])


def _silent(aws: CloudAws) -> None:
    aws.turn(drop_every=1)


PROBLEMS: dict[str, Any] = {
    "missing_field": _without_a_field,
    "no_secret_string": _bytes,
    "no_secret_value": _empty,
    "secret_not_found": _no_secret,
    "invalid_request": _doomed,
    "prefix_not_found": _no_parameters,
    "io": _silent,
}


@pytest.mark.parametrize("kind", PROBLEMS)
def test_what_is_wrong_is_said_in_one_word(stored: CloudAws, kind: str) -> None:
    PROBLEMS[kind](stored)

    with pytest.raises(ClientSettingsError) as refused:
        asked(stored)

    assert refused.value.kind == kind


def test_a_name_that_can_be_no_secret_is_an_invalid_parameter(stored: CloudAws) -> None:
    class Nameless(Names):
        def secret(self, use: KeyUse) -> str:
            return ""

    names = Nameless("", "x", AwsPart(bucket="shop-bucket"))

    with pytest.raises(ClientSettingsError) as refused:
        client_settings(Aws(stored.settings), names, "consumer")

    assert refused.value.kind == "invalid_parameters"


def test_no_value_of_a_secret_stands_in_an_error(stored: CloudAws) -> None:
    text = json.dumps({"sasl.password": "the-password-of-it"})
    stored.client("secretsmanager").put_secret_value(SecretId=KAFKA, SecretString=text)

    with pytest.raises(ClientSettingsError) as refused:
        asked(stored)

    assert "the-password-of-it" not in str(refused.value)
