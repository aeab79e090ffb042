"""A setting that is wrong is named, with what to write; none is called a fault of Frazil."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.graph.mistakes import SETTINGS
from kit.runs.shell import Command


@pytest.mark.parametrize(("name", "value", "expected"), SETTINGS)
def test_a_variable_that_is_wrong_is_named_with_what_to_write(
    frazil: Command, name: str, value: str, expected: str
) -> None:
    result = frazil("tables", **{name: value})

    assert result.code == 2
    assert result.is_clear
    assert name in result.err
    assert expected in result.err


@pytest.mark.parametrize(
    "broker", ["a:9092", "a:1, b:2", "SASL_SSL://pkc-1.aws.confluent.cloud:9092", "[::1]:9092"]
)
def test_brokers_are_taken_as_clients_take_them(frazil: Command, broker: str) -> None:
    result = frazil("describe", "nothing", FRAZIL_KAFKA__BOOTSTRAP_SERVERS=broker)

    assert "No pipeline has a table local.nothing." in result.err


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[]", "it holds a JSON list"),
        ("null", "it holds a JSON NoneType"),
        ('"kafka"', "it holds a JSON str"),
        ("{", "Expecting property name"),
        ('{"kafka": {"bootstrap_server": "x:1"}}', "is it kafka.bootstrap_servers?"),
        ('{"kafka": []}', "kafka: Input should be"),
    ],
)
def test_a_profile_that_is_wrong_is_named(frazil: Command, tmp_path: Path, text: str, expected: str) -> None:
    file = tmp_path / "profile.json"
    file.write_text(text)

    result = frazil("tables", FRAZIL_PROFILE=str(file))

    assert result.code == 2
    assert result.is_clear
    assert str(file) in result.err
    assert expected in result.err


def test_without_credentials_of_aws_it_says_so(frazil: Command) -> None:
    result = frazil("describe", "orders", AWS_ACCESS_KEY_ID="", AWS_EC2_METADATA_DISABLED="true")

    assert (result.code, result.out) == (1, "")
    assert "AWS does not know who asks." in result.err
    assert "`frazil up`" in result.err
    assert "Set FRAZIL_AWS__PROFILE or FRAZIL_AWS__ACCESS_KEY" in result.err
