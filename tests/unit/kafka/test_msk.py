"""Amazon's MSK knows Frazil by its identity at AWS: its keys sign each token, and others are refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from frazil.errors import ConfigureError, PartDownError
from frazil.kafka.access import java_access
from frazil.kafka.clients import admin_client, consumer, kafka_errors
from frazil.settings.profile import Settings
from frazil.settings.systems.aws import AwsSettings
from frazil.settings.systems.kafka import KafkaSettings
from frazil_local.authority import Authority
from kit.logins.msk import Broker, msk
from kit.runs.waiting import wait_for

KEY, SECRET = "AKIDEXAMPLE", "the secret of the key"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"), "the tests' authority")


@pytest.fixture
def broker(authority: Authority) -> Iterator[Broker]:
    with msk(authority.identity("broker"), KEY, SECRET) as broker:
        yield broker


def settings_of(broker: Broker, authority: Authority, **aws: str) -> Settings:
    kafka = {
        "bootstrap_servers": broker.address,
        "mechanism": "AWS_MSK_IAM",
        "ca": authority.file,
    }
    return Settings.load(kafka=kafka, aws={"access_key": KEY, "secret_key": SECRET, **aws})


def test_the_keys_of_the_identity_sign_each_clients_token(broker: Broker, authority: Authority) -> None:
    settings = settings_of(broker, authority)

    with kafka_errors(broker.address, reader := consumer(settings)):
        listings = [admin_client(settings).list_topics(timeout=30), reader.list_topics(timeout=30)]

    assert [len(each.brokers) for each in listings] == [1, 1]
    assert {*broker.seen} == {KEY}


@pytest.mark.parametrize(
    "wrong", [{"secret_key": "another"}, {"access_key": "AKIDOTHER"}, {"region": "eu-west-1"}]
)
def test_a_token_that_another_key_signed_is_refused_and_the_settings_are_named(
    broker: Broker, authority: Authority, wrong: dict[str, str]
) -> None:
    admin, messages = admin_client(settings_of(broker, authority, **wrong)), [""]

    def is_refused() -> bool:
        try:
            with kafka_errors(broker.address, admin):
                admin.list_topics(timeout=1)
        except PartDownError:  # librdkafka says late why it does not get in
            return False
        except ConfigureError as e:
            messages[0] = str(e)
        return True

    wait_for(is_refused)
    assert "Access denied" in messages[0]
    assert "FRAZIL_KAFKA__" in messages[0]
    assert SECRET not in messages[0]


def test_without_any_keys_the_settings_are_named_and_no_broker_is_asked(
    broker: Broker, authority: Authority, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    settings = settings_of(broker, authority).with_changes(aws={"access_key": None, "secret_key": None})

    with pytest.raises(ConfigureError, match="FRAZIL_AWS__"):
        admin_client(settings)

    assert broker.seen == []


def test_java_signs_by_amazons_own_module_as_the_role_that_is_taken_on() -> None:
    aws = AwsSettings(role_arn="arn:aws:iam::1:role/frazil", external_id="x1", region="eu-west-1")  # type: ignore[arg-type]

    assert java_access(KafkaSettings(mechanism="AWS_MSK_IAM"), aws) == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "AWS_MSK_IAM",
        "sasl.jaas.config": "software.amazon.msk.auth.iam.IAMLoginModule required "
        'awsRoleArn="arn:aws:iam::1:role/frazil" awsRoleSessionName="frazil" awsRoleExternalId="x1" '
        'awsStsRegion="eu-west-1";',
        "sasl.client.callback.handler.class": "software.amazon.msk.auth.iam.IAMClientCallbackHandler",
    }
