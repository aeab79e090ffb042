"""Throttled, lost and late answers of Confluent Cloud: nothing is made twice, and nothing is given up."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from frazil.errors import CloudSlowError
from frazil_cloud.confluent.client import stored_pair
from frazil_cloud.confluent.plane import Plane
from frazil_cloud.resource import AnswerLost, RefusedYet
from frazil_local.cloud.confluent.management import Keys
from frazil_local.cloud.confluent.organization import Json, Organization
from kit.clouds.cloud_confluent import CloudConfluent, Deployed

KEYS, CLUSTERS = "/iam/v2/api-keys", "/cmk/v2/clusters"


def counts(cloud: CloudConfluent) -> dict[str, int]:
    """How many there are of each kind; names of clusters and keys are not unique, so doubles would stay."""
    return dict(Counter({path.rpartition("/")[2]: len(ids) for path, ids in cloud.inventory().items()}))


@pytest.fixture(scope="module")
def as_it_should_be(confluent_server: CloudConfluent) -> dict[str, int]:
    confluent_server.reset()
    Deployed(confluent_server).create()
    return counts(confluent_server)


@pytest.mark.parametrize(
    "faults",
    [{"throttle_every": 17, "lose_every": 3}, {"drop_every": 4}, {"fail_every": 5, "throttle_every": 7}],
)
@pytest.mark.each_time("faults0")
def test_nothing_is_made_twice(
    as_it_should_be: dict[str, int], deployed: Deployed, faults: dict[str, int]
) -> None:
    deployed.cloud.turn(**faults)
    deployed.create()
    assert counts(deployed.cloud) == as_it_should_be
    assert len(deployed.store.secrets) == 11  # six keys, and five twins of their secrets
    deployed.delete()
    assert deployed.cloud.inventory() == {}


def test_keys_roles_and_topics_may_come_late(deployed: Deployed) -> None:
    late = {"key_sync": 0.6, "rbac_sync": 0.6, "topic_sync": 0.6, "role_sync": 3.0, "flink_sync": 3.0}
    deployed.cloud.delay(provision=0.2, **late)
    deployed.create()
    assert not any(deployed.reconciler().verify().values())


@pytest.mark.nightly
def test_what_is_never_seen_is_not_made_again_and_again(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key that no list shows was made and revoked 17 times in a minute."""
    monkeypatch.setattr(Keys, "is_seen", lambda *_: False)
    spent: list[str] = []
    complete = Keys.complete

    def counted(self: Keys, organization: Organization, body: Json, owner: str) -> None:
        complete(self, organization, body, owner)
        spent.append(body["spec"]["display_name"])

    monkeypatch.setattr(Keys, "complete", counted)
    with pytest.raises(CloudSlowError, match="never was seen as it should be"):
        deployed.apply(patience=12.0)
    assert max(Counter(spent).values()) <= 5


@pytest.mark.nightly
def test_what_loses_each_answer_is_not_made_without_end(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """About 630 keys were made and revoked in 20 seconds: a deed whose answer was lost did not count."""
    made: list[str] = []
    post = Plane.post

    def lost(self: Plane, path: str, body: Json, **options: Any) -> Json:
        answer = post(self, path, body, **options)
        if path == KEYS:
            made.append(body["spec"]["display_name"])
            raise AnswerLost("502")
        return answer

    monkeypatch.setattr(Plane, "post", lost)
    with pytest.raises(CloudSlowError, match="the answer was lost each time"):
        deployed.apply(patience=10.0)
    assert max(Counter(made).values()) == 10


@pytest.mark.parametrize(
    ("kind", "method", "path"),
    [("Connector", "PUT", "/config"), ("TableflowTopic", "PATCH", "/stock_trades")],
)
@pytest.mark.nightly
def test_what_fails_again_and_again_is_not_started_without_end(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch, kind: str, method: str, path: str
) -> None:
    """A connector's settings were written 134 times in 13 seconds."""
    deployed.cloud.delay(fail_next=[kind] * 1000)
    asked: list[str] = []
    ask = Plane.ask

    def counted(self: Plane, how: str, where: str, *rest: Any, **options: Any) -> Json:
        asked.extend([where] if how == method and where.endswith(path) else [])
        return ask(self, how, where, *rest, **options)

    monkeypatch.setattr(Plane, "ask", counted)
    with pytest.raises(CloudSlowError, match="fail_next asked for it"):
        deployed.apply(patience=8.0)
    assert 0 < max(Counter(asked).values()) <= 5


def test_what_may_not_be_removed_is_not_said_to_be_gone(deployed: Deployed) -> None:
    """Confluent says 403 of what is gone, and of what the key may not remove."""
    known = deployed.create()
    cloud, cluster = deployed.cloud, known["confluent/cluster"]
    path = f"/kafka/v3/clusters/{cluster['id']}/topics/stock_trades"
    consumer = stored_pair(deployed.store, known, "confluent/key/app_consumer")
    with pytest.raises(RefusedYet, match="403"):
        cloud.client.plane("cluster", cluster["http_endpoint"], consumer).delete(path)
    assert "stock_trades" in cloud.inventory()[path.rpartition("/")[0]]
    cloud.client.cloud.delete("/iam/v2/api-keys/GONE")


@pytest.mark.parametrize(
    "kind", ["Cluster", "ComputePool", "Connector", "Statement", "TableflowTopic", "CatalogIntegration"]
)
@pytest.mark.each_time("Cluster", "Statement")
def test_what_failed_once_is_made_anew_or_resumed(deployed: Deployed, kind: str) -> None:
    deployed.cloud.delay(fail_next=[kind])
    deployed.create()
    assert deployed.cloud.organization.delays.fail_next == []
    assert deployed.reconciler().plan().news == ()


def test_the_reason_of_what_fails_again_and_again_is_told(deployed: Deployed) -> None:
    deployed.cloud.delay(fail_next=["TableflowTopic"] * 1000)
    deployed.cloud.turn(throttle_every=7)
    with pytest.raises(CloudSlowError, match="fail_next asked for it"):
        deployed.apply(patience=5.0)


def test_a_key_whose_secret_was_lost_is_made_anew(deployed: Deployed) -> None:
    before = deployed.create()["confluent/key/app_producer"]["id"]
    deployed.store.delete(deployed.spec.names.secret("app_producer"))
    assert [step.address for step in deployed.reconciler().plan().news] == ["confluent/key/app_producer"]
    after = deployed.create()["confluent/key/app_producer"]["id"]
    assert after != before
    assert before not in deployed.cloud.inventory()[KEYS]


def test_a_key_whose_secret_cannot_be_stored_is_revoked(deployed: Deployed, monkeypatch: Any) -> None:
    def refuse(*_: Any) -> None:
        raise OSError("the store is full")

    monkeypatch.setattr(deployed.store, "put", refuse)
    with pytest.raises(OSError, match="the store is full"):
        deployed.apply()
    assert KEYS not in deployed.cloud.inventory()


def test_a_key_that_somebody_revoked_is_made_anew_and_what_needs_it_goes_on(deployed: Deployed) -> None:
    key = deployed.create()["confluent/key/app_manager"]["id"]
    deployed.cloud.ask("DELETE", f"{KEYS}/{key}")
    assert "confluent/key/app_manager" in [step.address for step in deployed.reconciler().plan().news]
    deployed.create()
    assert not any(deployed.reconciler().verify().values())
