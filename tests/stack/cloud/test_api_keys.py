"""The stack's Kafka behind the Confluent stand-in: its API keys log in, and may what their accounts may."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest
import requests
from confluent_kafka import KafkaError
from confluent_kafka.admin import AdminClient, NewTopic

from frazil.kafka.clients import client_config
from frazil.settings.profile import Settings
from frazil_cloud.confluent.accounts.keys import KeyDuty
from frazil_cloud.confluent.client import Confluent
from frazil_cloud.rotation.api_keys import ApiKeys
from frazil_local.home import Home
from frazil_local.parts import prepared_stack
from kit.clouds.cloud_confluent import KICKSTARTER, Deployed, Store
from kit.deployments.key_clients import kafka_of, pair_of, received, refusal, topics_of, under_load
from kit.deployments.rotations import AT_ONCE, turn_api_keys_as_the_sources_do
from kit.runs.waiting import wait_for
from kit.stack.shared_stack import free_offset

pytestmark = pytest.mark.nightly  # cloud/rotation/ turns these keys each time, and calls with them

PARTS = ("kafka", "registry", "cloud-aws", "cloud-confluent")
TOPIC, GROUP = "stock_trades", "tableflow_kickstarter"
WITHOUT_TABLEFLOW = {**KICKSTARTER, "confluent": {**KICKSTARTER["confluent"], "tableflow": ()}}


@dataclass
class Made:
    """A deployment on the stand-in."""

    deployed: Deployed
    endpoint: str

    def settings(self, use: str) -> Settings:
        """As a client of this use is told of Kafka."""
        values = self.deployed.store.secrets[self.deployed.spec.names.secret(use)]  # type: ignore[arg-type]
        return self.settings_of((values["sasl.username"], values["sasl.password"]))

    def settings_of(self, pair: tuple[str, str]) -> Settings:
        """As a client with this key is told of Kafka."""
        values = self.deployed.store.secrets[self.deployed.spec.names.secret("app_consumer")]
        return kafka_of(values["bootstrap.servers"], pair)


@pytest.fixture(scope="module")
def made(stack_home: Home, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    """A stack with clouds, of which only what Kafka's plane needs is started."""
    home = Home(tmp_path_factory.mktemp("clouds") / "home")
    stack = prepared_stack(home, {}, free_offset(), clouds=True)
    stack.up(lambda *_: None, PARTS)
    settings = Settings.load(**json.loads(home.administrator.read_text()))
    deployed = Deployed(None, WITHOUT_TABLEFLOW, Store(), Confluent(settings.confluent))  # type: ignore[arg-type]
    deployed.apply(patience=120)
    yield Made(deployed, str(settings.confluent.endpoint))
    stack.down(lambda *_: None)


def test_the_connector_really_produces_and_the_consumers_key_reads(made: Made) -> None:
    records, error = received(made.settings("app_consumer"), TOPIC, GROUP, 2000)
    assert (len(records), error) == (2000, None)


def test_keys_may_what_their_accounts_may_and_nothing_else(made: Made) -> None:
    denied = KafkaError.GROUP_AUTHORIZATION_FAILED
    assert received(made.settings("app_consumer"), TOPIC, "another", 1)[1] == denied
    assert received(made.settings("app_producer"), TOPIC, GROUP, 1)[1] == denied
    assert refusal(made.settings("app_consumer"), TOPIC) == KafkaError.TOPIC_AUTHORIZATION_FAILED
    assert refusal(made.settings("app_producer"), TOPIC) is None
    assert refusal(made.settings("app_manager"), TOPIC) is None
    assert refusal(made.settings_of(("NOBODY", "wrong")), TOPIC) == KafkaError._AUTHENTICATION


def test_the_registry_answers_its_own_keys_alone(made: Made) -> None:
    names = made.deployed.spec.names
    values = made.deployed.store.secrets[names.secret("schema_registry")]
    key, _, secret = values["schema.registry.basic.auth.user.info"].partition(":")
    path = f"{values['schema.registry.url']}/subjects/{TOPIC}-value/versions/latest"
    assert requests.get(path, auth=(key, secret), timeout=30).json()["subject"] == f"{TOPIC}-value"
    kafka = made.deployed.store.secrets[names.secret("app_consumer")]
    other = (kafka["sasl.username"], kafka["sasl.password"])
    assert requests.get(path, auth=other, timeout=30).status_code == 401


def test_no_record_is_refused_while_api_keys_turn(made: Made) -> None:
    """Each client logs in with the key that it read, and produces. The sources' way, for contrast."""
    deployed, patient = made.deployed, replace(AT_ONCE, patience=120.0)
    known, duty = deployed.reconciler(120.0).facts(), KeyDuty(deployed.spec, "app_producer")
    producer = ApiKeys(deployed.confluent, deployed.store, duty, known, patient)  # type: ignore[arg-type]

    def produces(pair: tuple[str, str]) -> bool:
        return refusal(made.settings_of(pair), TOPIC) is None

    with under_load(partial(pair_of, producer), produces) as load:
        for _ in range(3):
            producer.turn()
            load.wait()
    with under_load(partial(pair_of, producer), produces) as sources:
        for _ in range(3):
            turn_api_keys_as_the_sources_do(producer)
            sources.wait()
    print(f"refused: {load.refused} of {load.logins}; the sources' way {sources.refused} of {sources.logins}")

    assert load.refused == 0
    assert load.served > 3 * len(load.clients)
    assert sources.refused > 3


def test_a_role_that_is_taken_away_is_taken_away_in_kafka(made: Made) -> None:
    """A topic without the deployment's mark is listed before, and not after, until the role is back."""
    settings, other = made.settings("app_manager"), "elsewhere"
    manager = AdminClient({**client_config(settings), "log_level": "0"})
    manager.create_topics([NewTopic(other, 1)])[other].result(30)
    listed = topics_of(settings)
    wait_for(lambda: other in listed())
    known = made.deployed.reconciler().facts()
    role = known["confluent/binding/app_manager-CloudClusterAdmin"]["id"]
    made.deployed.confluent.cloud.delete(f"/iam/v2/role-bindings/{role}")  # type: ignore[union-attr]
    wait_for(lambda: other not in listed())
    assert TOPIC in listed()
    made.deployed.confluent.cloud.post(  # type: ignore[union-attr]
        "/iam/v2/role-bindings", _binding_of(known["confluent/binding/app_manager-CloudClusterAdmin"])
    )
    assert not any(made.deployed.reconciler().verify().values())


def test_a_revoked_key_may_nothing_any_more(made: Made) -> None:
    listed = topics_of(made.settings("app_consumer"))
    assert TOPIC in listed()
    made.deployed.delete()
    assert listed() == []
    assert made.deployed.store.secrets == {}


def _binding_of(facts: Any) -> dict[str, str]:
    return {"principal": facts["principal"], "role_name": facts["role"], "crn_pattern": facts["pattern"]}
