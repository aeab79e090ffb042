"""What Kafka's two kinds of client are told of a way in, and what is asked for where it is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from frazil.errors import ConfigureError
from frazil.kafka.access import java_access, librdkafka_access
from frazil.settings.profile import Settings
from frazil.settings.systems.aws import AwsSettings
from frazil.settings.systems.kafka import KafkaSettings

CLOUD = {"tls": True, "mechanism": "PLAIN", "username": "KEY", "password": 'se"cret\\'}
AWS = AwsSettings()
TOKEN = {"token_url": "https://login/token", "client_id": "us", "client_secret": "x"}


def test_an_open_kafka_is_told_nothing() -> None:
    assert (java_access(KafkaSettings(), AWS), librdkafka_access(KafkaSettings(), AWS)) == ({}, {})


def test_an_api_key_is_told_to_both_in_their_own_words() -> None:
    access = KafkaSettings(**CLOUD)

    assert librdkafka_access(access, AWS) == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "KEY",
        "sasl.password": 'se"cret\\',
    }
    assert java_access(access, AWS) == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required "
        'username="KEY" password="se\\"cret\\\\";',
    }


def test_certificates_are_handed_over_as_text(tmp_path: Path) -> None:
    files = {name: tmp_path / f"{name}.pem" for name in ("ca", "certificate", "key")}
    for name, file in files.items():
        file.write_text(f"the {name}")
    access = KafkaSettings(**files)

    assert librdkafka_access(access, AWS) == {
        "security.protocol": "SSL",
        "ssl.ca.pem": "the ca",
        "ssl.certificate.pem": "the certificate",
        "ssl.key.pem": "the key",
    }
    assert java_access(access, AWS) == {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": "the ca",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": "the certificate",
        "ssl.keystore.key": "the key",
    }


def test_a_certificate_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigureError, match=r"nowhere\.pem"):
        librdkafka_access(KafkaSettings(ca=tmp_path / "nowhere.pem"), AWS)


@pytest.mark.parametrize(
    ("settings", "missing"),
    [
        ({"mechanism": "PLAIN", "username": "KEY"}, "PLAIN needs password"),
        ({"mechanism": "SCRAM-SHA-512"}, "SCRAM-SHA-512 needs username and password"),
        ({"mechanism": "OAUTHBEARER"}, "OAUTHBEARER needs token_url"),
        ({"mechanism": "OAUTHBEARER", "token_url": "https://x"}, "OAuth needs client_id and client_secret"),
        ({"username": "KEY", "password": "x"}, "needs mechanism"),
        (TOKEN, "needs mechanism"),
        ({"certificate": "c.pem"}, "mutual TLS needs key"),
        ({"mechanism": "GSSAPI"}, "PLAIN"),
        ({"user": "KEY"}, "Extra inputs"),
    ],
)
def test_what_is_missing_is_asked_for(settings: dict[str, Any], missing: str) -> None:
    with pytest.raises(ValidationError, match=missing):
        KafkaSettings(**settings)


def test_the_environment_says_it_by_names_with_two_underscores(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in CLOUD.items():
        monkeypatch.setenv(f"FRAZIL_KAFKA__{name.upper()}", str(value))

    assert Settings.load().kafka == KafkaSettings(**CLOUD)


def test_a_secret_among_the_further_settings_is_refused_and_not_shown() -> None:
    with pytest.raises(ConfigureError, match=r"sasl\.password") as refusal:
        Settings.load(kafka={"client": {"sasl.password": "planted-secret"}})

    assert "planted-secret" not in str(refusal.value)
