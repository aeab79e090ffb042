"""A broker of the tests' own, a listener for each way in; each says no to whoever is not known."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from frazil_local.authority import Authority, Identity
from frazil_local.jars import Jars, java_home, read_lock
from frazil_local.parts import cache_folder
from frazil_local.ports import LOOPBACK
from kit.logins.tokens import AUDIENCE, ISSUER, Tokens
from kit.runs.waiting import PATIENCE, wait_for

USER, PASSWORD = "frazil", 'pass "word" \\ with marks'
LISTENERS = ("OPEN", "CONTROLLER", "TLS", "MUTUAL", "PLAIN", "SCRAM", "OAUTH")
_SECURITY = "org.apache.kafka.common.security"
_PROTOCOLS = {"OPEN": "PLAINTEXT", "CONTROLLER": "PLAINTEXT", "TLS": "SSL", "MUTUAL": "SSL"}
_ESCAPED = PASSWORD.replace("\\", "\\\\").replace('"', '\\"')


@dataclass(frozen=True, slots=True)
class LockedKafka:
    """Where each listener is, and what a client needs to know."""

    ports: dict[str, int]
    authority: Authority
    client: Identity

    def at(self, listener: str) -> str:
        return f"{LOOPBACK}:{self.ports[listener]}"


@contextmanager
def locked_kafka(folder: Path, ports: dict[str, int], tokens: Tokens) -> Iterator[LockedKafka]:
    """The broker, as long as the context."""
    authority = Authority(folder / "ca", "the tests' authority")
    kafka = LockedKafka(ports, authority, authority.identity("client"))
    properties = folder / "server.properties"
    properties.write_text(_properties(folder, kafka, tokens))
    java = [str(java_home(folder / "java") / "bin" / "java"), "-XX:+UseSerialGC", "-Xmx512m"]
    java += [f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={tokens.keys_url}"]
    classes = os.pathsep.join(map(str, Jars(cache_folder(), read_lock()).paths("kafka")))
    java += ["-cp", classes]
    store = ["kafka.tools.StorageTool", "format", "--standalone", "-t", "MkU3OEVBNTcwNTJENDM2Qg"]
    subprocess.run([*java, *store, "-c", str(properties)], check=True, capture_output=True)
    with (folder / "kafka.log").open("wb") as log:
        broker = psutil.Popen([*java, "kafka.Kafka", str(properties)], stdout=log, stderr=log)
    try:
        _make_user(kafka)
        yield kafka
    finally:
        broker.kill()
        broker.wait(PATIENCE)


def _make_user(kafka: LockedKafka) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.at("OPEN"), "log_level": 0})

    def answers() -> bool:
        try:
            return bool(admin.list_topics(timeout=5).brokers)
        except KafkaException:
            return False

    wait_for(answers)
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    wanted = UserScramCredentialUpsertion(USER, info, PASSWORD.encode())
    for future in admin.alter_user_scram_credentials([wanted]).values():
        future.result(PATIENCE)


def _properties(folder: Path, kafka: LockedKafka, tokens: Tokens) -> str:
    server = kafka.authority.identity("broker")
    both = folder / "broker-with-key.pem"
    both.write_bytes(server.key.read_bytes() + server.certificate.read_bytes())
    properties = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.bootstrap.servers": kafka.at("CONTROLLER"),
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "OPEN",
        "listeners": ",".join(f"{name}://{kafka.at(name)}" for name in LISTENERS),
        "listener.security.protocol.map": ",".join(f"{n}:{_PROTOCOLS.get(n, 'SASL_SSL')}" for n in LISTENERS),
        "log.dirs": str(folder / "log"),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",  # who comes by OPEN: the tests, and the broker itself
        "allow.everyone.if.no.acl.found": "true",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "transaction.state.log.num.partitions": "4",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(both),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(kafka.authority.file),
        "listener.name.mutual.ssl.client.auth": "required",
        "listener.name.plain.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.plain.plain.sasl.jaas.config": f"{_SECURITY}.plain.PlainLoginModule required "
        f'user_{USER}="{_ESCAPED}";',
        "listener.name.scram.sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "listener.name.scram.scram-sha-512.sasl.jaas.config": f"{_SECURITY}.scram.ScramLoginModule required;",
        "listener.name.oauth.sasl.enabled.mechanisms": "OAUTHBEARER",
        "listener.name.oauth.oauthbearer.sasl.jaas.config": f"{_SECURITY}.oauthbearer.OAuthBearerLoginModule "
        "required;",
        "listener.name.oauth.oauthbearer.sasl.server.callback.handler.class": f"{_SECURITY}.oauthbearer."
        "OAuthBearerValidatorCallbackHandler",
        "listener.name.oauth.oauthbearer.sasl.oauthbearer.jwks.endpoint.url": tokens.keys_url,
        "listener.name.oauth.oauthbearer.sasl.oauthbearer.expected.audience": AUDIENCE,
        "listener.name.oauth.oauthbearer.sasl.oauthbearer.expected.issuer": ISSUER,
    }
    return "".join(f"{name}={value.replace(chr(92), chr(92) * 2)}\n" for name, value in properties.items())
