"""Throttled, lost and late answers of Confluent Cloud: nothing is made twice, and nothing is given up."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from frazil.errors import CloudSlowError
from kit.cloud_confluent import CloudConfluent, Deployed

KEYS, CLUSTERS = "/iam/v2/api-keys", "/cmk/v2/clusters"


def counts(cloud: CloudConfluent) -> dict[str, int]:
    """How many there are of each kind; names of clusters and keys are not unique, so doubles would stay."""
    return dict(Counter({path.rpartition("/")[2]: len(ids) for path, ids in cloud.held().items()}))


@pytest.fixture(scope="module")
def as_it_should_be(confluent_server: CloudConfluent) -> dict[str, int]:
    confluent_server.reset()
    Deployed(confluent_server).create()
    return counts(confluent_server)


@pytest.mark.parametrize(
    "faults",
    [{"throttle_every": 17, "lose_every": 3}, {"drop_every": 4}, {"fail_every": 5, "throttle_every": 7}],
)
def test_nothing_is_made_twice(
    as_it_should_be: dict[str, int], deployed: Deployed, faults: dict[str, int]
) -> None:
    deployed.cloud.turn(**faults)
    deployed.create()
    assert counts(deployed.cloud) == as_it_should_be
    assert len(deployed.store.held) == 11  # six keys, and five twins of their secrets
    deployed.delete()
    assert deployed.cloud.held() == {}


def test_keys_roles_and_topics_may_come_late(deployed: Deployed) -> None:
    deployed.cloud.delay(provision=0.2, key_sync=0.6, rbac_sync=0.6, topic_sync=0.6)
    deployed.create()
    assert not any(deployed.reconciler().verify().values())


@pytest.mark.parametrize(
    "kind", ["Cluster", "ComputePool", "Connector", "Statement", "TableflowTopic", "CatalogIntegration"]
)
def test_what_failed_once_is_made_anew_or_resumed(deployed: Deployed, kind: str) -> None:
    deployed.cloud.delay(fail_next=[kind])
    deployed.create()
    assert deployed.cloud.organization.delays.fail_next == []
    assert deployed.reconciler().plan().news == ()


def test_the_reason_of_what_fails_again_and_again_is_told(deployed: Deployed) -> None:
    deployed.cloud.delay(fail_next=["TableflowTopic"] * 1000)
    deployed.cloud.turn(throttle_every=7)
    with pytest.raises(CloudSlowError, match="fail_next asked for it"):
        deployed.create(patience=5.0)


def test_a_key_whose_secret_was_lost_is_made_anew(deployed: Deployed) -> None:
    before = deployed.create()["confluent/key/app_producer"]["id"]
    deployed.store.delete(deployed.spec.names.secret("app_producer"))
    assert [step.address for step in deployed.reconciler().plan().news] == ["confluent/key/app_producer"]
    after = deployed.create()["confluent/key/app_producer"]["id"]
    assert after != before
    assert before not in deployed.cloud.held()[KEYS]


def test_a_key_whose_secret_cannot_be_stored_is_revoked(deployed: Deployed, monkeypatch: Any) -> None:
    def refuse(*_: Any) -> None:
        raise OSError("the store is full")

    monkeypatch.setattr(deployed.store, "put", refuse)
    with pytest.raises(OSError, match="the store is full"):
        deployed.create()
    assert KEYS not in deployed.cloud.held()


def test_a_key_that_somebody_revoked_is_made_anew_and_what_needs_it_goes_on(deployed: Deployed) -> None:
    key = deployed.create()["confluent/key/app_manager"]["id"]
    deployed.cloud.ask("DELETE", f"{KEYS}/{key}")
    assert "confluent/key/app_manager" in [step.address for step in deployed.reconciler().plan().news]
    deployed.create()
    assert not any(deployed.reconciler().verify().values())
