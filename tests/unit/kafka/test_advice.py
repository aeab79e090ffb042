"""What errors of Kafka tell people to do again is done again, and is answered."""

from __future__ import annotations

import socket
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from frazil.doctor.kafka import _reach
from frazil.errors import ConfigureError, PartDownError
from frazil.kafka import provisioning
from frazil.kafka.clients import admin_client, kafka_errors
from frazil.kafka.provisioning import _create
from frazil.settings import reference
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec


def test_a_call_that_the_login_before_was_refused_is_made_again_by_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reference, "_RESTING_SECONDS", 0.0)
    password = tmp_path / "password"
    password.write_text("first")
    login = {"tls": True, "mechanism": "PLAIN", "username": "us", "password": f"file:{password}"}
    admin = admin_client(Settings.load(kafka={"bootstrap_servers": "127.0.0.1:1", **login}))

    def call() -> str:
        with kafka_errors("here", admin):
            if admin.login.is_refused(admin) or password.read_text() == "first":
                refused = KafkaError(KafkaError._AUTHENTICATION, "invalid credentials")
                admin.login(refused)
                password.write_text("second")
                raise KafkaException(refused)
            return "answered"

    with pytest.raises(PartDownError, match="replaced meanwhile") as raised:
        call()

    assert raised.value.todo == "Try again: the new login is read."
    assert call() == "answered"


def test_a_topic_that_is_being_deleted_is_made_once_kafka_is_done_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = [Future[None](), Future[None]()]
    answers[0].set_exception(KafkaException(KafkaError(KafkaError.TOPIC_ALREADY_EXISTS)))
    answers[1].set_result(None)
    left = iter(answers)
    admin: Any = SimpleNamespace(create_topics=lambda *_, **__: {"orders": next(left)})
    monkeypatch.setattr(provisioning, "describe", lambda *_: {})

    with pytest.raises(ConfigureError, match="is being deleted") as raised:
        _create(admin, TableSpec(topic="orders"))

    assert raised.value.todo == "Try again when Kafka is done with it."
    assert _create(admin, TableSpec(topic="orders"))


def test_brokers_are_reached_by_the_addresses_that_they_tell_once_these_are_mended() -> None:
    with socket.create_server(("127.0.0.1", 0)) as open_way:
        broker = SimpleNamespace(id=1, host="127.0.0.1", port=1)
        admin: Any = SimpleNamespace(list_topics=lambda **_: SimpleNamespace(brokers={1: broker}))
        with pytest.raises(PartDownError, match="1 of 1 brokers") as refused:
            _reach(admin, Settings())

        broker.port = open_way.getsockname()[1]  # as mended advertised.listeners say it
        _reach(admin, Settings())

    assert "fix advertised.listeners" in refused.value.todo
    assert "127.0.0.1:1 " in refused.value.where
