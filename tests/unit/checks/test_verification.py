"""What the verifier's process is told of Kafka."""

from __future__ import annotations

from pathlib import Path

import pytest

from frazil.checks.verification import kafka_config, registry_access, unknown
from frazil.errors import ConfigureError
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec
from frazil_verify.request import Registry

AWS = {"access_key": "AKIAIOSFODNN7EXAMPLE", "secret_key": "none", "region": "eu-west-1"}


def test_a_login_that_calls_back_is_refused_and_one_by_sasl_is_handed_on() -> None:
    by_iam = Settings.load(kafka={"mechanism": "AWS_MSK_IAM"}, aws=AWS)
    with pytest.raises(ConfigureError, match="oauth_cb"):
        kafka_config(by_iam)

    by_user = Settings.load(kafka={"mechanism": "PLAIN", "username": "u", "password": "p"})

    assert kafka_config(by_user)["sasl.username"] == "u"


def test_a_registry_that_the_verifier_does_not_read_is_named() -> None:
    settings = Settings.load(registry={"kind": "glue"})

    assert unknown(TableSpec(topic="orders"), settings) == "its schemas are in AWS Glue's registry"


def test_a_registry_is_trusted_by_the_authority_that_the_profile_names(tmp_path: Path) -> None:
    ca = tmp_path / "ca.pem"
    ca.touch()
    settings = Settings.load(registry={"url": "https://registry", "user_info": "u:p", "ca": ca})

    asked = Registry.model_validate(registry_access(settings))

    assert (asked.user, asked.ca) == ("u", str(ca))
