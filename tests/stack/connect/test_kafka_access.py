"""A Kafka that asks who is there: each way in lands records, and each no says what to fix.

A client lives while its key is replaced.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from frazil.clients import Clients
from frazil.connections import Connections
from frazil.doctor.probe import Patient
from frazil.doctor.run import examine
from frazil.errors import ConfigureError, PartDownError
from frazil.kafka.clients import consumer
from frazil.kafka.facts import describe, topic_fact
from frazil.kafka.probe import open_probe
from frazil.landing.land import land
from frazil.settings import reference
from frazil.spec.derived import DerivedSpec, Feed
from frazil_local.authority import Authority
from kit.logins.kafka_key import KeyOfKafka
from kit.logins.tokens import CLIENT, SECRET, Tokens
from kit.records.topics import topic_maker
from kit.runs.waiting import PATIENCE, wait_for
from kit.stack.locked_kafka import LISTENERS, PASSWORD, USER, LockedKafka, locked_kafka

NAMESPACE = "connect_tests"
WAYS = ("TLS", "MUTUAL", "PLAIN", "SCRAM", "OAUTH")


@pytest.fixture(scope="module")
def kafka(
    connections: Connections, tokens: Tokens, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LockedKafka]:
    ports = dict(zip(LISTENERS, free_ports(len(LISTENERS)), strict=True))
    with locked_kafka(tmp_path_factory.mktemp("kafka"), ports, tokens) as kafka:
        yield kafka


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in sockets]


def access(kafka: LockedKafka, tokens: Tokens, way: str, **other: Any) -> dict[str, Any]:
    """What is right for a listener, but for what is given."""
    login: dict[str, Any] = {"ca": kafka.authority.file}
    if way == "MUTUAL":
        login |= {"certificate": kafka.client.certificate, "key": kafka.client.key}
    if way in ("PLAIN", "SCRAM"):
        mechanism = {"PLAIN": "PLAIN", "SCRAM": "SCRAM-SHA-512"}[way]
        login |= {"mechanism": mechanism, "username": USER, "password": PASSWORD}
    if way == "OAUTH":
        login |= {"mechanism": "OAUTHBEARER", "token_url": tokens.token_url, "scope": "kafka"}
        login |= {"client_id": CLIENT, "client_secret": SECRET}
    return login | other


def through(connections: Connections, kafka: LockedKafka, way: str, access: dict[str, Any]) -> Clients:
    """The stack's connections, but for Kafka."""
    options = {"bootstrap_servers": kafka.at(way), **access}
    return Clients(connections.settings.with_changes(kafka=options))


@pytest.mark.each_time("MUTUAL", "OAUTH")  # a stack that is locked has TLS and a login each day
@pytest.mark.parametrize("way", WAYS)
def test_records_land_through_each_way_in(
    connections: Connections, kafka: LockedKafka, tokens: Tokens, fresh_name: str, way: str
) -> None:
    clients = through(connections, kafka, way, access(kafka, tokens, way))
    topic = topic_maker(clients, fresh_name, NAMESPACE)(partitions=2)
    topic.trades(5)
    topic.trades(5, partition=1)

    assert land(topic.spec, clients).records == 10
    assert sorted(row["quantity"] for row in topic.rows()) == list(range(10))


def test_brokers_that_want_encryption_and_are_not_asked_for_it_are_a_guess_worth_making(
    connections: Connections, kafka: LockedKafka
) -> None:
    clients = through(connections, kafka, "TLS", {})

    with pytest.raises(PartDownError, match="FRAZIL_KAFKA__TLS"):
        topic_fact(clients.admin, "a_topic")


@pytest.mark.parametrize(
    ("way", "wrong", "expected"),
    [
        ("TLS", {"ca": "another"}, "certificate verify failed"),
        ("MUTUAL", {"certificate": None, "key": None}, "alert bad certificate"),
        ("PLAIN", {"password": "wrong"}, "Authentication failed"),
        ("SCRAM", {"password": "wrong"}, "Authentication failed"),
        ("OAUTH", {"client_secret": "wrong"}, "token"),
    ],
    ids=[
        "another authority",
        "no certificate",
        "wrong password",
        "wrong scram password",
        "wrong secret",
    ],
)
@pytest.mark.each_time("wrong scram password")
def test_whoever_is_not_let_in_is_told_why_and_what_to_mend(
    connections: Connections, kafka: LockedKafka, tokens: Tokens, tmp_path: Path,
    way: str, wrong: dict[str, Any], expected: str,
) -> None:  # fmt: skip
    if "ca" in wrong:
        wrong = {"ca": Authority(tmp_path, "somebody else").file}
    clients = through(connections, kafka, way, access(kafka, tokens, way, **wrong))

    with pytest.raises(ConfigureError, match="FRAZIL_KAFKA__") as of_the_admin:
        topic_fact(clients.admin, "a_topic")
    with (
        pytest.raises(ConfigureError, match="FRAZIL_KAFKA__") as of_a_reader,
        open_probe(clients.settings, "a_topic") as probe,
    ):
        probe.first({0: 0})

    for refusal in (of_the_admin, of_a_reader):
        assert expected in str(refusal.value)
        assert PASSWORD not in str(refusal.value)


def test_the_doctor_names_the_acl_that_is_missing(
    connections: Connections, kafka: LockedKafka, tokens: Tokens, fresh_name: str
) -> None:
    superuser = through(connections, kafka, "OPEN", {})
    topic = topic_maker(superuser, fresh_name, NAMESPACE)()
    topic.trades(1)
    allow(superuser, topic.name, "frazil", AclOperation.DESCRIBE)
    clients = through(connections, kafka, "PLAIN", access(kafka, tokens, "PLAIN"))

    findings = examine(Patient([topic.spec], clients), ("kafka",))

    assert [(f.right, f.status) for f in findings] == [
        ("reach every broker", "ok"),
        ("describe the topic", "ok"),
        ("read the topic", "missing"),
    ]
    assert "--allow-principal User:frazil --operation Read" in findings[-1].mend
    assert findings[-1].mend.endswith(f"--topic {topic.name}")

    (of_spark,) = [f for f in examine(Patient([topic.spec], clients), ("spark",)) if not f.fine]

    assert (of_spark.right, of_spark.status) == ("read from Kafka", "missing")
    assert "TopicAuthorizationException" in of_spark.what or "not authorized" in of_spark.what.lower()

    feeding = DerivedSpec(table="copy", sql=Path("copy.sql"), feeds=Feed(topic=topic.name))
    (*_, missing) = examine(Patient([feeding], clients), ("kafka",))

    assert (missing.right, missing.status) == ("write to the topic", "missing")
    assert "--operation Write" in missing.mend

    allow(superuser, topic.name, "frazil", AclOperation.READ)
    allow(superuser, topic.name, "frazil", AclOperation.WRITE)
    wait_for(
        lambda: all(f.status == "ok" for f in examine(Patient([topic.spec, feeding], clients), ("kafka",)))
    )


def allow(superuser: Clients, topic: str, user: str, operation: AclOperation) -> None:
    """From then on whoever has no such right may do nothing with the topic."""
    everywhere, allowed = ResourcePatternType.LITERAL, AclPermissionType.ALLOW
    acl = AclBinding(ResourceType.TOPIC, topic, everywhere, f"User:{user}", "*", operation, allowed)
    for future in superuser.admin.create_acls([acl]).values():
        future.result(PATIENCE)


TOPIC = "of_those_whose_key_is_replaced"


@pytest.fixture(scope="module")
def lasting(kafka: LockedKafka) -> LockedKafka:
    """The same Kafka, with a topic."""
    admin = AdminClient({"bootstrap.servers": kafka.at("OPEN")})
    admin.create_topics([NewTopic(TOPIC, 1)])[TOPIC].result(PATIENCE)
    return kafka


@pytest.fixture
def key(lasting: LockedKafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KeyOfKafka:
    monkeypatch.setattr(reference, "_RESTING_SECONDS", 0.0)
    key = KeyOfKafka(lasting, tmp_path)
    key.replace()
    return key


def test_a_question_is_answered_though_the_key_was_replaced_since_it_was_read(key: KeyOfKafka) -> None:
    clients = Clients(key.settings())
    key.replace()

    # A busy machine may take longer than the default; with the old key all of it passes first.
    assert list(describe(clients.admin, [TOPIC], timeout=12)) == [TOPIC]


def test_a_consumer_goes_on_with_the_new_key(key: KeyOfKafka) -> None:
    settings = key.settings()
    key.replace()
    reader = consumer(settings)

    def reads() -> bool:
        reader.poll(0.2)
        reader.login.mend(reader)
        try:
            return TOPIC in reader.list_topics(timeout=1).topics
        except KafkaException:
            return False

    wait_for(reads)
    reader.close()


@pytest.mark.nightly
def test_who_is_refused_and_finds_no_other_key_is_told_and_goes_on_once_there_is_one(key: KeyOfKafka) -> None:
    clients = Clients(key.settings())
    key.replace(written=False)
    with pytest.raises(ConfigureError, match="gives no access"):
        describe(clients.admin, [TOPIC])

    key.write()

    assert list(describe(clients.admin, [TOPIC])) == [TOPIC]


def test_the_settings_show_the_key_and_not_its_secret(key: KeyOfKafka) -> None:
    shown = json.dumps(key.settings().model_dump(mode="json"))

    assert key.name in shown
    assert f"secret-{key.number}" not in shown
