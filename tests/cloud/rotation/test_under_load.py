"""Keys are replaced while clients use them: nobody is refused. The sources' way, for contrast: many are."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from frazil.clients import Clients
from frazil.settings import reference
from frazil.settings.profile import Settings
from frazil_cloud.confluent.accounts import keys
from frazil_cloud.confluent.accounts.keys import KeyDuty
from frazil_cloud.key_pair import KeyPair, secret_values
from frazil_cloud.rotation.api_keys import ApiKeys
from kit.clouds.cloud_confluent import CloudConfluent, Deployed
from kit.deployments.key_clients import calls, pair_of, under_load
from kit.deployments.rotations import AT_ONCE, RsaLab, turn_api_keys_as_the_sources_do
from kit.runs.waiting import wait_for

TURNS = 2
SMALL: dict[str, Any] = {
    "name": "lab", "confluent": {"topics": [{"name": "trades"}]}, "aws": {"bucket": "lab-lake"}
}  # fmt: skip
PATIENT = replace(AT_ONCE, patience=20.0)


def turn_rsa_as_the_sources_do(lab: RsaLab) -> None:
    """Both pairs anew at once, one public key set, the secret written when the user is changed already."""
    one, two = KeyPair.new(), KeyPair.new()
    lab.service_user.set(1, one.public_line)
    lab.service_user.unset(2)
    values = {
        **lab.stored_values(),
        **secret_values(1, one),
        **secret_values(2, two),
        "active_key_number": "1",
    }
    lab.store.put_secret_value(SecretId=lab.secret, SecretString=json.dumps(values))


@pytest.mark.nightly
def test_no_login_is_refused_while_rsa_keys_turn(lab: RsaLab) -> None:
    with under_load(lab.pair_in_use, lab.logs_in) as load:
        for _ in range(TURNS):
            lab.keys().turn()
            load.wait()

    assert load.refused == 0
    assert load.served > TURNS

    with under_load(lab.pair_in_use, lab.logs_in) as sources:
        for _ in range(TURNS):
            turn_rsa_as_the_sources_do(lab)
            sources.wait()

    assert sources.refused > TURNS


@pytest.fixture
def producer(confluent: CloudConfluent) -> ApiKeys:
    """The keys of a producer in a small deployment, where a new key works only after a while."""
    deployed = Deployed(confluent, dict(SMALL))
    known = deployed.create()
    confluent.delay(key_sync=0.5)
    producer = ApiKeys(
        confluent.client, deployed.store, KeyDuty(deployed.spec, "app_producer"), known, PATIENT
    )
    wait_for(lambda: calls(producer, pair_of(producer)))
    return producer


def test_no_call_is_refused_while_api_keys_turn(producer: ApiKeys) -> None:
    read, call = partial(pair_of, producer), partial(calls, producer)

    with under_load(read, call) as load:
        for _ in range(TURNS):
            producer.turn()
            load.wait()

    assert load.refused == 0
    assert load.served > TURNS
    assert len(keys.listed(producer.confluent, producer.duty, producer.known)) == 2

    with under_load(read, call) as sources:
        for _ in range(TURNS):
            turn_api_keys_as_the_sources_do(producer)
            sources.wait()

    assert sources.refused > TURNS


@pytest.mark.nightly
def test_a_process_that_lives_over_rotations_goes_on_logging_in(
    lab: RsaLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reference, "_RESTING_SECONDS", 0.0)
    key = f"aws-secret:{lab.secret}#snowflake_rsa_private_key_{{active_key_number}}_pem"
    administrator = dict(lab.administrator.login.settings.snowflake) | {"user": lab.user, "private_key": key}
    settings = Settings.load(aws=dict(lab.aws.settings), snowflake=administrator)
    clients = Clients(settings)
    with clients.snowflake() as opened:
        for _ in range(2):
            lab.keys().turn()
        assert not lab.logs_in(lab.first)
        assert opened.cursor().execute("SELECT 1").fetchall()

    with clients.snowflake() as anew:
        assert anew.cursor().execute("SELECT 2").fetchall()


def test_no_secret_is_in_a_log_or_in_what_a_turn_tells(
    lab: RsaLab, producer: ApiKeys, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    for name in ("frazil", "urllib3"):
        caplog.set_level(logging.DEBUG, name)

    shown = f"{lab.keys().turn()!r} {lab.keys()!r} {lab.keys().age()!r} {producer.turn()!r} {caplog.text}"

    private = lab.pair_in_use()
    assert private.fingerprint in shown
    for text in (private.private_base64, private.private_pem.split("\n")[3], pair_of(producer)[1]):
        assert text not in shown
