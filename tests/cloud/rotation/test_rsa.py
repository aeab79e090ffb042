"""RSA keys of a Snowflake user, turned in two slots: the key in use works, whatever happens."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest

from frazil.errors import (
    CloudSlowError,
    ConfigureError,
    DifferentError,
    FrazilError,
    MissingError,
    RetryError,
)
from frazil_cloud.key_pair import KeyPair
from frazil_cloud.resource import RefusedYet
from frazil_cloud.rotation.candidate import StagedSecret
from frazil_cloud.rotation.rsa import KeySlots
from kit.deployments.rotations import AT_ONCE, RsaLab, later


class Died(BaseException):
    """The process is gone."""


def dies(*_: Any) -> None:
    raise Died


class Unmoved(StagedSecret):
    """Its process dies before everybody is sent to the new version."""

    make_current = dies


@dataclass(frozen=True)
class Slots:
    """A user's slots, until the process dies."""

    of: KeySlots
    set: Callable[[int, str], None] = dies
    unset: Callable[[int], None] = dies

    def fingerprints(self) -> Mapping[int, str | None]:
        return self.of.fingerprints()


def test_a_new_key_goes_into_the_idle_slot_and_both_work_until_the_next_turn(lab: RsaLab) -> None:
    turned = lab.keys().turn()

    second = lab.pair_in_use()
    assert lab.stored_values()["active_key_number"] == "2"
    assert turned == replace(turned, key=second.fingerprint, instead_of=lab.first.fingerprint)
    assert lab.service_user.fingerprints() == {1: lab.first.fingerprint, 2: second.fingerprint}
    assert lab.logs_in(lab.first)
    assert lab.logs_in(second)

    lab.keys().turn()

    assert lab.stored_values()["active_key_number"] == "1"
    assert not lab.logs_in(lab.first)
    assert lab.logs_in(second)
    assert lab.logs_in(lab.pair_in_use())


def test_the_secret_holds_every_form_of_the_new_key_and_what_it_held_besides(lab: RsaLab) -> None:
    lab.keys().turn()

    values, pair = lab.stored_values(), lab.pair_in_use()
    assert values["rsa_public_key_2_pem"] == pair.public_pem
    assert values["snowflake_rsa_public_key_2_pem"] == pair.public_line
    assert values["snowflake_service_user"] == lab.user
    assert values["snowflake_rsa_private_key_1_pem"] == lab.first.private_base64


def test_a_key_that_is_refused_is_taken_away_and_the_old_one_goes_on(lab: RsaLab) -> None:
    def refuse(_: KeyPair) -> None:
        raise RefusedYet("JWT token is invalid")

    with pytest.raises(CloudSlowError, match="JWT token is invalid"):
        lab.keys(prove=refuse).turn()

    assert lab.service_user.fingerprints() == {1: lab.first.fingerprint, 2: None}
    assert lab.pair_in_use() == lab.first


def test_a_key_that_can_not_be_set_leaves_everything_as_it_was(lab: RsaLab) -> None:
    lab.administrator.refuses = "SET RSA_PUBLIC_KEY_2"
    with pytest.raises(CloudSlowError, match="not now"):
        lab.keys().turn()
    lab.administrator.refuses = ""

    assert lab.service_user.fingerprints() == {1: lab.first.fingerprint, 2: None}
    assert lab.pair_in_use() == lab.first


@pytest.mark.each_time("proof")
@pytest.mark.parametrize("step", ["pending", "public", "proof"])
def test_whoever_dies_leaves_the_key_in_use_and_the_next_turn_goes_through(lab: RsaLab, step: str) -> None:
    keys = lab.keys()
    died = {
        "pending": replace(keys, slots=Slots(keys.slots)),
        "public": replace(keys, prove=dies, slots=Slots(keys.slots, keys.slots.set)),
        "proof": replace(keys, secret=Unmoved(keys.secret.aws, keys.secret.name)),
    }[step]
    with pytest.raises(Died):
        died.turn()
    assert lab.logs_in(lab.pair_in_use())
    assert lab.pair_in_use() == lab.first

    lab.keys().turn()

    assert lab.pair_in_use() != lab.first
    assert lab.logs_in(lab.pair_in_use())


def test_no_turn_while_clients_may_still_use_the_other_slot(lab: RsaLab) -> None:
    pace = replace(AT_ONCE, rest=timedelta(hours=1))
    lab.keys(pace).turn()  # nobody ever used the empty slot
    in_use = lab.pair_in_use()

    with pytest.raises(RetryError, match="may still be in use"):
        lab.keys(pace).turn()
    assert lab.pair_in_use() == in_use
    assert lab.logs_in(lab.first)

    lab.keys(pace, clock=later(hours=1, seconds=5)).turn()
    assert lab.pair_in_use() != in_use


def test_of_two_turns_at_once_one_stands_and_the_key_in_use_works(lab: RsaLab) -> None:
    slow = lab.keys()

    def overtaken(pair: KeyPair) -> None:
        lab.keys().turn()
        slow.slots.set(2, pair.public_line)

    with pytest.raises(DifferentError, match="Somebody else"):
        replace(slow, prove=overtaken).turn()

    assert lab.stored_values()["active_key_number"] == "2"
    assert lab.logs_in(lab.pair_in_use())


def test_what_snowflake_shows_counts_more_than_the_number_in_the_secret(lab: RsaLab) -> None:
    lab.service_user.set(2, lab.first.public_line)
    lab.service_user.unset(1)

    lab.keys().turn()

    assert lab.stored_values()["active_key_number"] == "1"
    assert lab.service_user.fingerprints() == {1: lab.pair_in_use().fingerprint, 2: lab.first.fingerprint}


def test_age_counts_from_the_date_of_the_store(lab: RsaLab) -> None:
    pace = replace(AT_ONCE, every=timedelta(0))

    age = lab.keys(pace).age()

    written = lab.store.list_secret_version_ids(SecretId=lab.secret)["Versions"][0]["CreatedDate"]
    assert (age.key, age.created) == (lab.first.fingerprint, written)
    assert age.is_due
    assert not lab.keys().age().is_due


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        (lambda values: {**values, "active_key_number": "0"}, "which key is in use"),
        (lambda values: {**values, "snowflake_rsa_private_key_1_pem": "planted!"}, "no private RSA key"),
    ],
)
def test_a_secret_that_makes_no_sense_is_told_and_not_shown(
    lab: RsaLab, spoil: Callable[[dict[str, str]], dict[str, str]], expected: str
) -> None:
    lab.store.put_secret_value(SecretId=lab.secret, SecretString=json.dumps(spoil(lab.stored_values())))

    with pytest.raises(ConfigureError, match=expected) as met:
        lab.keys().turn()

    assert "planted" not in str(met.value)


def test_a_user_that_has_no_secret_is_told(lab: RsaLab) -> None:
    lab.store.delete_secret(SecretId=lab.secret, ForceDeleteWithoutRecovery=True)

    with pytest.raises(MissingError, match="no secret to rotate"):
        lab.keys().turn()


@pytest.mark.each_time("knobs0")
@pytest.mark.parametrize("knobs", [{"lose_every": 2}, {"throttle_every": 3}])
def test_lost_answers_and_throttling_make_no_half_turn(lab: RsaLab, knobs: dict[str, int]) -> None:
    lab.aws.turn(**knobs)
    try:
        lab.keys(replace(AT_ONCE, patience=20.0)).turn()
    except FrazilError:
        pytest.fail("it was only a matter of trying again")
    finally:
        lab.aws.turn()

    assert lab.stored_values()["active_key_number"] == "2"
    assert lab.logs_in(lab.pair_in_use())
