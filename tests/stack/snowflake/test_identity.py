"""Frazil at Snowflake's door: an encrypted key, a token of OAuth, a role; each refusal names the setting."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import jwt
import pytest
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat

from frazil.errors import ConfigureError
from frazil.publishing.snowflake.connection import open_snowflake, rows
from frazil.settings.profile import Settings
from kit.stack.standin import KeyPair, StandIn, new_key
from resources.snowflake import snowflake_resources

ISSUER = "https://login.example"
As = Callable[..., Settings]


@pytest.fixture(scope="module")
def issuer(standin: StandIn) -> KeyPair:
    """The key of an OAuth server that the account trusts."""
    key = new_key()
    standin.rows(
        "create security integration idp type = external_oauth enabled = true "
        f"external_oauth_issuer = '{ISSUER}' external_oauth_rsa_public_key = '{key.public}' "
        "external_oauth_token_user_mapping_claim = 'sub' "
        "external_oauth_snowflake_user_mapping_attribute = 'LOGIN_NAME'"
    )
    return key


@pytest.fixture
def who(standin: StandIn, stack: Settings, tmp_path: Path) -> As:
    """Settings of the stand-in's first user, whose key is encrypted; but for what is given."""
    encryption = BestAvailableEncryption(b"the-passphrase")
    pem = standin.key.private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)
    (tmp_path / "key.p8").write_bytes(pem)
    first = {
        "user": "boss",
        "port": standin.port,
        "private_key_path": tmp_path / "key.p8",
        "private_key_passphrase": "the-passphrase",
    }
    return lambda **changes: stack.with_changes(snowflake=first | changes)


def token(key: KeyPair, minutes: int = 5, issuer: str = ISSUER) -> str:
    """What the OAuth server says of the first user."""
    now = datetime.now(UTC)
    claims = {"iss": issuer, "sub": "boss", "iat": now, "exp": now + timedelta(minutes=minutes)}
    return jwt.encode(claims, key.private, algorithm="RS256")


def role_of(settings: Settings) -> str | None:
    """The role that Frazil works in, after a query."""
    with open_snowflake(settings) as connection:
        assert rows(connection, "select 1") == [(1,)]
        role: str | None = connection.role
    return role


def test_an_encrypted_key_opens_with_its_passphrase_and_a_role_may_be_named(
    standin: StandIn, who: As
) -> None:
    standin.rows("create role if not exists loader", "grant role loader to user boss")

    assert role_of(who()) == "ACCOUNTADMIN"
    assert role_of(who(login_role="loader")) == "LOADER"


def test_a_token_of_oauth_lets_in_without_any_key(who: As, issuer: KeyPair) -> None:
    assert role_of(who(token=token(issuer), private_key_path=None)) == "ACCOUNTADMIN"


@pytest.mark.parametrize(
    ("wrong", "setting"),
    [
        ({"private_key_passphrase": "wrong-one"}, "FRAZIL_SNOWFLAKE__PRIVATE_KEY_PASSPHRASE"),
        ({"private_key_passphrase": None}, "FRAZIL_SNOWFLAKE__PRIVATE_KEY_PASSPHRASE"),
        ({"user": "nobody"}, "FRAZIL_SNOWFLAKE__USER"),
        ({"login_role": "nobody_made_it"}, "FRAZIL_SNOWFLAKE__LOGIN_ROLE"),
    ],
    ids=["wrong passphrase", "no passphrase", "unknown user", "role not granted"],
)
def test_a_refusal_names_the_setting(who: As, wrong: dict[str, Any], setting: str) -> None:
    with pytest.raises(ConfigureError, match=setting) as refusal:
        role_of(who(**wrong))

    assert "wrong-one" not in str(refusal.value)


def test_a_token_that_is_not_taken_is_told_and_not_shown(who: As, issuer: KeyPair) -> None:
    for wrong, todo in (
        (token(issuer, minutes=-5), r"Renew FRAZIL_SNOWFLAKE__TOKEN"),
        (token(new_key()), r"Check FRAZIL_SNOWFLAKE__TOKEN"),
        (token(issuer, issuer="https://another.example"), r"Check FRAZIL_SNOWFLAKE__TOKEN"),
    ):
        settings = who(token=wrong)

        with pytest.raises(ConfigureError, match=todo) as refusal:
            role_of(settings)

        assert wrong not in f"{refusal.value} {settings!r}"


def test_an_asset_of_a_team_logs_in_as_frazil_does(who: As, issuer: KeyPair) -> None:
    # Snowpark, which comes with it, takes 7 s of CPU: here once, at the top in each worker.
    from dagster_snowflake import SnowflakeResource

    seen = []

    @dg.asset
    def own(frazil_snowflake: dg.ResourceParam[Any]) -> None:
        assert isinstance(frazil_snowflake, SnowflakeResource)
        with frazil_snowflake.get_connection() as connection:
            seen.extend(rows(connection, "select 1"))

    for settings in (who(), who(token=token(issuer))):
        assert dg.materialize([own], resources=snowflake_resources(settings)).success

    assert seen == [(1,), (1,)]
