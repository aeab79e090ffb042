"""Key pairs of Snowflake's users, held to vectors that openssl alone has made."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from frazil.errors import ConfigureError
from frazil_cloud.key_pair import KeyPair, account_of_token


@pytest.fixture(scope="module")
def vector() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(Path(__file__).with_name("key_pair.json").read_text())
    return document


@pytest.fixture(scope="module")
def pair() -> KeyPair:
    return KeyPair.new()


def test_all_forms_of_a_key_are_those_of_openssl(vector: dict[str, Any]) -> None:
    pair = KeyPair.from_base64(vector["private_base64"])

    assert pair.private_base64 == vector["private_base64"]
    assert pair.public_pem == vector["public_pem"]
    assert pair.public_line == vector["public_line"]
    assert pair.fingerprint == vector["fingerprint"]


def test_a_token_is_the_one_that_openssl_signs(vector: dict[str, Any]) -> None:
    pair = KeyPair.from_base64(vector["private_base64"])
    issued = datetime.fromtimestamp(vector["issued"], UTC)

    assert pair.token(vector["account"], vector["user"], issued) == vector["token"]


def test_a_new_pair_is_rsa_of_2048_bits_in_pkcs8_and_nobody_elses(pair: KeyPair) -> None:
    key: Any = load_pem_private_key(pair.private_pem.encode(), None)

    assert pair.private_pem.startswith("-----BEGIN PRIVATE KEY-----\n")
    assert (key.key_size, key.public_key().public_numbers().e) == (2048, 65537)
    assert KeyPair.new() != pair


def test_a_token_lives_for_59_minutes_and_is_signed_by_the_pair(pair: KeyPair) -> None:
    now = datetime.now(UTC)
    token = pair.token("org-account", "frazil", now)

    public: Any = load_pem_public_key(pair.public_pem.encode())
    audience = "https://ORG-ACCOUNT.snowflakecomputing.com"
    claims = jwt.decode(token, public, algorithms=["RS256"], audience=audience)
    assert claims["iss"] == f"ORG-ACCOUNT.FRAZIL.{pair.fingerprint}"
    assert claims["sub"] == "ORG-ACCOUNT.FRAZIL"
    assert claims["exp"] - claims["iat"] == 59 * 60


@pytest.mark.parametrize(
    ("account", "named"),
    [
        ("org-account", "ORG-ACCOUNT"),
        ("xy12345", "XY12345"),
        ("xy12345.us-east-1", "XY12345"),
        ("xy12345.us-east-2.aws", "XY12345"),
        ("account-abc123.global", "ACCOUNT"),
    ],
)
def test_an_account_is_named_in_tokens_without_its_region(account: str, named: str) -> None:
    assert account_of_token(account) == named


def test_the_private_half_is_in_no_text_that_shows_a_pair(pair: KeyPair) -> None:
    assert pair.private_pem not in repr(pair)
    assert f"{pair}" == "KeyPair()"


@pytest.mark.parametrize("text", ["no base64!", "bm8ga2V5", ""])
def test_what_is_no_key_is_refused_without_being_shown(text: str) -> None:
    with pytest.raises(ConfigureError, match="no private RSA key") as met:
        _ = KeyPair.from_base64(text).fingerprint

    assert not text or text not in str(met.value)
