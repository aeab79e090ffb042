"""A client of Kafka that lives while its key is replaced: the broker is real, and knows one key at a time."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AdminClient,
    NewTopic,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

from frazil.clients import Clients
from frazil.errors import ConfigureError
from frazil.kafka.clients import consumer
from frazil.kafka.facts import describe
from frazil.settings import reference
from frazil.settings.profile import Settings
from kit.logins.tokens import token_server
from kit.runs.waiting import PATIENCE, wait_for
from kit.stack.locked_kafka import LISTENERS, LockedKafka, locked_kafka

TOPIC = "trades"


@dataclass
class KeyOfKafka:
    """The one user that the broker knows, and the files in which a client finds it."""

    kafka: LockedKafka
    folder: Path
    number: int = 0

    def settings(self) -> Settings:
        login = {"username": f"file:{self.folder / 'key'}", "password": f"file:{self.folder / 'secret'}"}
        where = {"bootstrap_servers": self.kafka.at("SCRAM"), "ca": self.kafka.authority.file}
        return Settings.load(kafka={**where, "mechanism": "SCRAM-SHA-512", **login})

    def replace(self, *, written: bool = True) -> None:
        """Another key works from now on, and the one before does not."""
        admin, info = self.admin, ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
        gone = [UserScramCredentialDeletion(self.name, ScramMechanism.SCRAM_SHA_512)] if self.number else []
        self.number += 1
        made = UserScramCredentialUpsertion(self.name, info, f"secret-{self.number}".encode())
        for future in admin.alter_user_scram_credentials([made, *gone]).values():
            future.result(PATIENCE)
        if written:
            self.write()

    def write(self) -> None:
        (self.folder / "key").write_text(self.name)
        (self.folder / "secret").write_text(f"secret-{self.number}")

    @property
    def name(self) -> str:
        return f"key-{self.number}"

    @property
    def admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.kafka.at("OPEN")})


@pytest.fixture(scope="module")
def kafka(nobody_at_home: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LockedKafka]:
    with ExitStack() as opened:
        sockets = [opened.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in LISTENERS]
        ports = [each.getsockname()[1] for each in sockets]
    ports_by_listener = dict(zip(LISTENERS, ports, strict=True))
    folder = tmp_path_factory.mktemp("kafka")
    with token_server() as tokens, locked_kafka(folder, ports_by_listener, tokens) as kafka:
        admin = AdminClient({"bootstrap.servers": kafka.at("OPEN")})
        admin.create_topics([NewTopic(TOPIC, 1)])[TOPIC].result(PATIENCE)
        yield kafka


@pytest.fixture
def key(kafka: LockedKafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KeyOfKafka:
    monkeypatch.setattr(reference, "_RESTING_SECONDS", 0.0)
    key = KeyOfKafka(kafka, tmp_path)
    key.replace()
    return key


def test_a_question_is_answered_though_the_key_was_replaced_since_it_was_read(key: KeyOfKafka) -> None:
    clients = Clients(key.settings())
    key.replace()

    # A busy machine may take longer than the default; with the old key all of it passes first.
    assert list(describe(clients.admin, [TOPIC], timeout=30)) == [TOPIC]


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
