"""A setting that is wrong is named, with what to write; none is called a fault of Frazil."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.shell import Command


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("FRAZIL_REST__URI", "nonsense", "this is no address; write http://HOST:PORT"),
        ("FRAZIL_REST__URI", "http://[::1", "this is no address"),
        ("FRAZIL_REST__URI", "http://host:port", "this is no address"),
        ("FRAZIL_REGISTRY__URL", "ftp://host", "this is no address"),
        ("FRAZIL_GLUE__ENDPOINT", "localhost:5557", "this is no address"),
        ("FRAZIL_S3__ENDPOINT", "http:// host", "this is no address"),
        ("FRAZIL_KAFKA__BOOTSTRAP_SERVERS", "http://host:9092", "write each broker as HOST:PORT"),
        ("FRAZIL_KAFKA__BOOTSTRAP_SERVERS", "host", "write each broker as HOST:PORT"),
        ("FRAZIL_KAFKA__CLIENT", "{bad", "is no JSON: Expecting property name"),
        ("FRAZIL_CONNECTIONS", "[1]", "Input should be a valid dictionary"),
        ("FRAZIL_KAFKA__TLS", "yess", "Input should be a valid boolean"),
        ("FRAZIL_CATALOG", "gleu", "Input should be 'rest' or 'glue'"),
        ("FRAZIL_SPARK__REMOTE", "localhost:15002", "write sc://HOST:PORT"),
        ("FRAZIL_REGISTRY__USER_INFO", "me", "write user:password"),
        ("FRAZIL_KAFKA__PASWORD", "x", "is it FRAZIL_KAFKA__PASSWORD?"),
        ("FRAZIL_PIPELINES", "/nowhere", "there is no such folder of pipelines"),
        ("FRAZIL_PROFILE", "/nowhere.json", "There is no such profile."),
    ],
)
def test_a_variable_that_is_wrong_is_named_with_what_to_write(
    frazil: Command, name: str, value: str, told: str
) -> None:
    said = frazil("tables", **{name: value})

    assert said.code == 2
    assert said.is_clear
    assert name in said.err
    assert told in said.err


@pytest.mark.parametrize(
    "broker", ["a:9092", "a:1, b:2", "SASL_SSL://pkc-1.aws.confluent.cloud:9092", "[::1]:9092"]
)
def test_brokers_are_taken_as_clients_take_them(frazil: Command, broker: str) -> None:
    said = frazil("describe", "nothing", FRAZIL_KAFKA__BOOTSTRAP_SERVERS=broker)

    assert "No pipeline has a table local.nothing." in said.err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[]", "it holds a JSON list"),
        ("null", "it holds a JSON NoneType"),
        ('"kafka"', "it holds a JSON str"),
        ("{", "Expecting property name"),
        ('{"kafka": {"bootstrap_server": "x:1"}}', "is it kafka.bootstrap_servers?"),
        ('{"kafka": []}', "kafka: Input should be"),
    ],
)
def test_a_profile_that_is_wrong_is_named(frazil: Command, tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "profile.json"
    file.write_text(text)

    said = frazil("tables", FRAZIL_PROFILE=str(file))

    assert said.code == 2
    assert said.is_clear
    assert str(file) in said.err
    assert told in said.err


def test_without_credentials_of_aws_it_says_so(frazil: Command) -> None:
    said = frazil("describe", "orders", AWS_ACCESS_KEY_ID="", AWS_EC2_METADATA_DISABLED="true")

    assert (said.code, said.out) == (1, "")
    assert "AWS does not know who asks." in said.err
    assert "Set FRAZIL_AWS__PROFILE or FRAZIL_AWS__ACCESS_KEY" in said.err
