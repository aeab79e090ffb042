"""The secrets of API keys have the names and the fields that the source systems' clients read."""

from __future__ import annotations

import pytest

from frazil_cloud.confluent.accounts.keys import ApiKey, KeyDuty
from frazil_cloud.confluent.client import pair_of
from frazil_cloud.spec.confluent import KeyUse
from frazil_cloud.spec.deployment import DeploymentSpec

SPEC = DeploymentSpec.model_validate({"name": "lab", "confluent": {}, "aws": {"bucket": "lab-lake"}})
KNOWN = {
    "confluent/environment": {"id": "env-1", "organization": "org"},
    "confluent/cluster": {"id": "lkc-1", "bootstrap": "pkc-1.aws:9092"},
    "confluent/registry": {"id": "lsrc-1", "http_endpoint": "https://psrc-1.aws"},
    "confluent/account/flink": {"id": "sa-1"},
    "confluent/pool": {"id": "lfcp-1"},
}
KAFKA = {"sasl.username": "KEY", "sasl.password": "secret", "bootstrap.servers": "pkc-1.aws:9092"}
FORMS: dict[KeyUse, tuple[str, dict[str, str]]] = {
    "app_manager": ("kafka_cluster/app_manager/python_client", KAFKA),
    "app_producer": ("kafka_cluster/app_producer/python_client", KAFKA),
    "app_consumer": ("kafka_cluster/app_consumer/python_client", KAFKA),
    "schema_registry": (
        "schema_registry_cluster/python_client",
        {
            "schema.registry.basic.auth.credentials.source": "USER_INFO",
            "schema.registry.basic.auth.user.info": "KEY:secret",
            "schema.registry.url": "https://psrc-1.aws",
        },
    ),
    "flink": (
        "flink",
        {"api.key": "KEY", "api.key.secret": "secret", "compute.pool.id": "lfcp-1", "principal.id": "sa-1"},
    ),
    "tableflow": (
        "tableflow",
        {
            "api.key": "KEY",
            "api.key.secret": "secret",
            "environment.id": "env-1",
            "kafka.cluster.id": "lkc-1",
        },
    ),
}
TWINS: dict[KeyUse, tuple[str, dict[str, str]]] = {
    "app_consumer": (
        "kafka_cluster/app_consumer/java_client",
        {
            "sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required "
            "username='KEY' password='secret';",
            "bootstrap.servers": "pkc-1.aws:9092",
        },
    ),
    "schema_registry": ("schema_registry_cluster/java_client", FORMS["schema_registry"][1]),
    "flink": (
        "flink_compute_pool",
        {
            "flink.cloud": "AWS",
            "flink.region": "us-east-1",
            "flink.api.key": "KEY",
            "flink.api.secret": "secret",
            "organization.id": "org",
            "environment.id": "env-1",
            "flink.compute.pool.id": "lfcp-1",
            "flink.principal.id": "sa-1",
        },
    ),
}


@pytest.mark.parametrize("use", TWINS)
def test_its_twin_is_what_java_clients_and_the_flink_application_read(use: KeyUse) -> None:
    duty, (name, values) = KeyDuty(SPEC, use), TWINS[use]
    assert duty.twin == f"/confluent_cloud_resource/lab/{name}"
    assert duty.twin_values(ApiKey("KEY", "secret"), KNOWN) == values


def test_nobody_but_frazil_reads_the_secret_of_tableflow() -> None:
    assert KeyDuty(SPEC, "tableflow").twin == ""


@pytest.mark.parametrize("use", FORMS)
def test_a_secret_has_its_name_and_its_fields(use: KeyUse) -> None:
    duty, (name, values) = KeyDuty(SPEC, use), FORMS[use]
    key = ApiKey("KEY", "secret")
    assert duty.secret == f"/confluent_cloud_resource/lab/{name}"
    assert duty.values(key, KNOWN) == values
    assert pair_of(values) == key.pair
    assert "secret" not in repr(key)
