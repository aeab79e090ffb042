"""Secrets Manager keeps a deployment's secrets."""

from __future__ import annotations

import pytest

from frazil.errors import ConfigureError
from frazil_cloud.aws.client import Aws
from frazil_cloud.aws.secrets import SecretsManager
from frazil_cloud.resource import AnswerLost, NotYet
from kit.clouds.cloud_aws import CloudAws

NAME, TAGS = "/confluent_cloud_resource/lab/flink", {"frazil": "frazil:lab"}


@pytest.fixture
def store(aws: CloudAws) -> SecretsManager:
    return SecretsManager(Aws(aws.settings))


def test_a_secret_is_made_read_and_changed(store: SecretsManager) -> None:
    assert store.get(NAME) is None

    store.put(NAME, {"api.key": "1"}, TAGS)
    assert store.get(NAME) == {"api.key": "1"}

    store.put(NAME, {"api.key": "2"}, TAGS)
    assert store.get(NAME) == {"api.key": "2"}


def test_a_secret_bears_the_tags_of_its_deployment(aws: CloudAws, store: SecretsManager) -> None:
    store.put(NAME, {"api.key": "1"}, TAGS)

    described = aws.client("secretsmanager").describe_secret(SecretId=NAME)

    assert described["Tags"] == [{"Key": "frazil", "Value": "frazil:lab"}]


def test_an_equal_secret_gets_no_new_version(aws: CloudAws, store: SecretsManager) -> None:
    store.put(NAME, {"api.key": "1"}, TAGS)
    store.put(NAME, {"api.key": "1"}, TAGS)

    assert len(aws.client("secretsmanager").describe_secret(SecretId=NAME)["VersionIdsToStages"]) == 1


def test_a_secret_that_awaits_its_deletion_is_restored(aws: CloudAws, store: SecretsManager) -> None:
    store.put(NAME, {"api.key": "1"}, TAGS)
    aws.client("secretsmanager").delete_secret(SecretId=NAME)
    assert store.get(NAME) is None

    store.put(NAME, {"api.key": "2"}, TAGS)

    assert store.get(NAME) == {"api.key": "2"}


def test_a_deleted_secret_leaves_its_name_free(aws: CloudAws, store: SecretsManager) -> None:
    store.put(NAME, {"api.key": "1"}, TAGS)
    store.delete(NAME)
    store.delete(NAME)

    assert aws.client("secretsmanager").list_secrets()["SecretList"] == []
    store.put(NAME, {"api.key": "2"}, TAGS)
    assert store.get(NAME) == {"api.key": "2"}


def test_one_that_awaits_its_deletion_can_be_deleted_at_once(aws: CloudAws, store: SecretsManager) -> None:
    store.put(NAME, {"api.key": "1"}, TAGS)
    aws.client("secretsmanager").delete_secret(SecretId=NAME)

    store.delete(NAME)

    assert aws.client("secretsmanager").list_secrets(IncludePlannedDeletion=True)["SecretList"] == []


def test_a_lost_answer_is_put_right_by_the_next_try(aws: CloudAws, store: SecretsManager) -> None:
    aws.turn(once={"CreateSecret": "lose"})
    with pytest.raises(NotYet, match="was not seen") as raised:
        store.put(NAME, {"api.key": "1"}, TAGS)
    assert not isinstance(raised.value, AnswerLost)  # its name is unique: nobody need look for it first

    store.put(NAME, {"api.key": "1"}, TAGS)

    assert store.get(NAME) == {"api.key": "1"}


def test_a_secret_of_another_form_is_told_without_its_text(aws: CloudAws, store: SecretsManager) -> None:
    aws.client("secretsmanager").create_secret(Name=NAME, SecretString="the-text-of-it")

    with pytest.raises(ConfigureError, match="no JSON object") as refused:
        store.get(NAME)

    assert "the-text-of-it" not in str(refused.value)
