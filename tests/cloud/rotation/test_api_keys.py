"""API keys of one use: made, proved, written, and only then is the oldest revoked."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

import pytest

from frazil.errors import CloudSlowError, MissingError
from frazil_cloud.confluent.accounts import keys
from frazil_cloud.confluent.accounts.keys import ApiKey, KeyDuty
from frazil_cloud.patience import Waiting
from frazil_cloud.resource import AnswerLost, RefusedYet
from frazil_cloud.rotation.api_keys import ApiKeys
from frazil_cloud.rotation.deployment import Rotation
from frazil_cloud.spec.confluent import KeyUse
from kit.clouds.cloud_confluent import CloudConfluent, Deployed, Store
from kit.deployments.rotations import AT_ONCE, later

SMALL: dict[str, Any] = {
    "name": "lab", "confluent": {"topics": [{"name": "trades"}], "max_cfu": 5}, "aws": {"bucket": "lab-lake"}
}  # fmt: skip
USES: tuple[KeyUse, ...] = ("app_manager", "app_producer", "app_consumer", "schema_registry", "flink")
PATIENT = replace(AT_ONCE, patience=20.0)


@pytest.fixture
def made(confluent: CloudConfluent) -> Deployed:
    """A small deployment, with a key for each use."""
    deployed = Deployed(confluent, dict(SMALL))
    deployed.create()
    return deployed


def of(made: Deployed, use: KeyUse = "app_consumer", **changed: Any) -> ApiKeys:
    known = made.reconciler().facts()
    duty_keys = ApiKeys(made.cloud.client, made.store, KeyDuty(made.spec, use), known, PATIENT)
    return replace(duty_keys, **changed)


def working(of_use: ApiKeys) -> list[str]:
    return [each.id for each in keys.listed(of_use.confluent, of_use.duty, of_use.known)]


def stored_pair(of_use: ApiKeys) -> tuple[str, str]:
    pair = keys.pair_or_none(of_use.secrets.get(of_use.duty.secret))
    assert pair
    return pair


@pytest.mark.each_time("app_manager", "schema_registry")
@pytest.mark.parametrize("use", USES)
def test_a_new_key_takes_over_and_the_one_before_works_on(made: Deployed, use: KeyUse) -> None:
    keys_of = of(made, use)
    first = stored_pair(keys_of)

    turned = keys_of.turn()

    second = stored_pair(keys_of)
    assert (turned.what, turned.key, turned.instead_of, turned.revoked) == (use, second[0], first[0], ())
    assert working(keys_of) == [first[0], second[0]]
    twin = made.store.secrets[keys_of.duty.twin]
    assert twin == keys_of.duty.twin_values(ApiKey(*second), keys_of.known)
    for pair in (first, second):
        keys.prove(keys_of.confluent, keys_of.duty, keys_of.known, pair)

    assert keys_of.turn().revoked == (first[0],)
    assert working(keys_of) == [second[0], stored_pair(keys_of)[0]]


def test_who_rotates_hears_what_is_waited_for_before_a_key_is_looked_at(
    made: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("frazil_cloud.patience.SAID_EVERY", 0.1)
    (cluster,) = made.cloud.organization.of("/cmk/v2/clusters").values()
    cluster.body["status"]["phase"], cluster.born = "PROVISIONING", time.time()
    made.cloud.delay(provision=1.0)
    heard: list[Waiting] = []

    assert Rotation(made.spec, made.clouds, 60.0, heard.append).age("app_consumer").key

    assert ("confluent/cluster", "it is PROVISIONING") in {(each.address, each.reason) for each in heard}


def test_as_many_keys_work_as_the_deployment_says(made: Deployed) -> None:
    keys_of = of(made, pace=replace(PATIENT, keep=3))

    made_keys = [stored_pair(keys_of)[0], *(keys_of.turn().key for _ in range(4))]

    assert working(keys_of) == made_keys[-3:]


def test_an_older_key_stays_while_clients_may_still_have_it(made: Deployed) -> None:
    keys_of = of(made, pace=replace(PATIENT, rest=timedelta(hours=1)))

    for _ in range(3):
        assert keys_of.turn().revoked == ()
    assert len(working(keys_of)) == 4

    assert len(replace(keys_of, clock=later(hours=1, seconds=5)).turn().revoked) == 3
    assert len(working(keys_of)) == 2


def test_a_new_key_has_twenty_minutes_to_work(made: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two minutes are usual, and twenty were met: a rotation that gave up after three was in vain."""
    monkeypatch.setattr("frazil_cloud.patience.SAID_EVERY", 0.1)
    heard: list[Waiting] = []
    rotation = Rotation(made.spec, made.clouds, 180.0, heard.append)
    made.cloud.delay(key_sync=1.0)

    rotation.turn("app_consumer")

    assert max(each.left for each in heard if "401" in each.reason) > 1100


def test_a_key_that_never_works_is_revoked_and_the_old_one_stays(made: Deployed) -> None:
    keys_of = of(made, pace=AT_ONCE)
    before, there = stored_pair(keys_of), working(keys_of)
    made.cloud.delay(key_sync=60.0)

    with pytest.raises(CloudSlowError, match="401"):
        keys_of.turn()

    assert (stored_pair(keys_of), working(keys_of)) == (before, there)


class Full(Store):
    """Takes nothing, or takes it and says nothing."""

    takes = False

    def put(self, name: str, values: Mapping[str, str], tags: Mapping[str, str]) -> None:
        if self.takes:
            super().put(name, values, tags)
        raise AnswerLost("no answer") if self.takes else RefusedYet("it is full")


def test_a_key_that_can_not_be_written_is_revoked(made: Deployed) -> None:
    keys_of = of(made, pace=AT_ONCE)
    store = Full()
    store.secrets = made.store.secrets
    before, there = stored_pair(keys_of), working(keys_of)

    with pytest.raises(CloudSlowError, match="it is full"):
        replace(keys_of, secrets=store).turn()

    assert (stored_pair(keys_of), working(keys_of)) == (before, there)


def test_a_key_that_was_written_though_nobody_said_so_is_not_revoked(made: Deployed) -> None:
    keys_of = of(made, pace=AT_ONCE)
    store = Full()
    store.secrets, store.takes = made.store.secrets, True
    before = stored_pair(keys_of)

    with pytest.raises(CloudSlowError, match="no answer"):
        replace(keys_of, secrets=store).turn()

    assert stored_pair(keys_of) != before
    assert stored_pair(keys_of)[0] in working(keys_of)


def test_a_key_whose_secret_was_lost_with_the_answer_is_made_anew(made: Deployed) -> None:
    keys_of = of(made)
    before = working(keys_of)
    made.cloud.turn(once={"POST /iam/v2/api-keys": "lose"})

    turned = keys_of.turn()

    assert working(keys_of) == [*before, turned.key]
    assert stored_pair(keys_of)[0] == turned.key


def test_age_counts_from_the_date_of_confluent(made: Deployed) -> None:
    keys_of = of(made, pace=replace(PATIENT, every=timedelta(0)))
    keys_of.turn()

    age = keys_of.age()

    there = {each.id: each.created for each in keys.listed(keys_of.confluent, keys_of.duty, keys_of.known)}
    assert (age.key, age.created) == (stored_pair(keys_of)[0], there[stored_pair(keys_of)[0]])
    assert age.is_due
    assert not of(made).age().is_due


def test_a_key_that_somebody_revoked_is_missed_and_the_next_turn_mends_it(made: Deployed) -> None:
    keys_of = of(made)
    keys.revoke(keys_of.confluent, stored_pair(keys_of)[0])

    with pytest.raises(MissingError, match="no key that Confluent knows"):
        keys_of.age()
    keys_of.turn()

    keys.prove(keys_of.confluent, keys_of.duty, keys_of.known, stored_pair(keys_of))


def test_no_secret_is_in_what_a_turn_tells(made: Deployed) -> None:
    keys_of = of(made)
    secret = stored_pair(keys_of)[1]

    shown = f"{keys_of.turn()!r} {keys_of.age()!r} {keys_of!r}"

    held_now = cast("Store", keys_of.secrets).secrets
    assert secret not in shown
    assert all(
        text not in shown for each in held_now.values() for key, text in each.items() if "secret" in key
    )
