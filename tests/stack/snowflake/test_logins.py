"""Snowflake's door: who gets in, with which key, in which role."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
import pytest
import requests
from snowflake.connector.errors import DatabaseError

from frazil_local.snowflake.rights.users import fingerprint
from kit.stack.standin import StandIn, new_key

BAD_TOKEN = 390144


def test_a_user_with_its_own_key_gets_in(standin: StandIn) -> None:
    assert standin.rows("select 1") == [(1,)]


@pytest.mark.parametrize(
    "how",
    [
        pytest.param({"private_key": new_key().private_der}, id="another key"),
        pytest.param({"user": "nobody"}, id="an unknown user"),
        pytest.param({"role": "no_such_role"}, id="a role that is not there"),
        pytest.param({"private_key": None, "password": "boss"}, id="a password"),
    ],
)
def test_whoever_cannot_prove_to_be_a_user_stays_out(standin: StandIn, how: dict[str, Any]) -> None:
    with pytest.raises(DatabaseError) as refused, standin.connect(**how):
        pass

    assert refused.value.errno in {BAD_TOKEN, 390100, 390189}


@pytest.mark.parametrize(
    ("claim", "value"),
    [
        ("iss", "FRAZIL.BOSS.SHA256:another"),
        ("sub", "FRAZIL.ANOTHER"),
        ("exp", datetime.now(UTC) - timedelta(minutes=1)),
        ("exp", datetime.now(UTC) + timedelta(hours=3)),
    ],
)
def test_a_token_that_says_anything_else_is_refused(standin: StandIn, claim: str, value: object) -> None:
    claims = claims_of(standin)

    assert logged_in(standin, claims).get("code") is None
    assert logged_in(standin, {**claims, claim: value})["code"] == str(BAD_TOKEN)


def claims_of(standin: StandIn) -> dict[str, Any]:
    """What a good token of the first user says."""
    now = datetime.now(UTC)
    issuer = f"FRAZIL.BOSS.{fingerprint(standin.key.public)}"
    return {"iss": issuer, "sub": "FRAZIL.BOSS", "iat": now, "exp": now + timedelta(minutes=5)}


def logged_in(standin: StandIn, claims: dict[str, Any]) -> dict[str, Any]:
    """What the stand-in answers to a login."""
    token = jwt.encode(claims, standin.key.private, algorithm="RS256")
    data = {
        "AUTHENTICATOR": "SNOWFLAKE_JWT",
        "ACCOUNT_NAME": "frazil",
        "LOGIN_NAME": "boss",
        "TOKEN": token,
    }
    url = f"http://127.0.0.1:{standin.port}/session/v1/login-request"
    answer: dict[str, Any] = requests.post(url, json={"data": data}, timeout=60).json()
    return answer


def test_a_login_gives_what_newer_connectors_insist_on(standin: StandIn) -> None:
    """Connector 5 refuses a login without a master token, by which it would renew the session's."""
    claims = claims_of(standin)

    data = logged_in(standin, claims)["data"]

    assert data["masterToken"] not in ("", data["token"])
    assert data["masterValidityInSeconds"] > data["validityInSeconds"] > 0
    assert isinstance(data["sessionId"], int)


def test_a_user_rotates_its_keys_without_being_locked_out(standin: StandIn) -> None:
    old, new = new_key(), new_key()
    standin.rows(f"create user rotor rsa_public_key = '{old.public}'")
    with pytest.raises(DatabaseError), standin.connect("rotor", private_key=new.private_der):
        pass

    standin.rows(f"alter user rotor set rsa_public_key_2 = '{new.public}'")
    for key in (old, new):
        with standin.connect("rotor", private_key=key.private_der) as connection:
            assert connection.cursor().execute("select 1").fetchone() == (1,)
    standin.rows("alter user rotor unset rsa_public_key")

    with pytest.raises(DatabaseError), standin.connect("rotor", private_key=old.private_der):
        pass
    described = {row[0]: row[1] for row in standin.rows("desc user rotor")}
    assert described["RSA_PUBLIC_KEY_FP"] == "null"
    assert described["RSA_PUBLIC_KEY_2_FP"] == fingerprint(new.public)


def test_grants_are_kept_shown_and_taken_back(standin: StandIn) -> None:
    standin.rows("create role reader", "grant usage on schema frz.s to role reader")
    values = [row[1:4] for row in standin.rows("show grants to role reader")]
    standin.rows("revoke usage on schema frz.s from role reader")

    assert values == [("USAGE", "SCHEMA", "FRZ.S")]
    assert standin.rows("show grants to role reader") == []


@pytest.mark.parametrize(
    ("copying", "kept"), [("", []), ("copy grants ", [("SELECT", "VIEW", "FRZ.S.SEEN")])]
)
def test_a_view_that_is_replaced_loses_what_was_granted_on_it_unless_that_is_copied(
    standin: StandIn, copying: str, kept: list[tuple[str, str, str]]
) -> None:
    """docs.snowflake.com/en/sql-reference/sql/create-view, COPY GRANTS."""
    standin.rows(
        "create database if not exists frz",
        "create schema if not exists frz.s",
        "create or replace view frz.s.seen as select 1 as a",
        "create role looker",
        "grant select on view frz.s.seen to role looker",
        f"create or replace view frz.s.seen {copying}as select 2 as b",
    )
    values = [row[1:4] for row in standin.rows("show grants to role looker")]
    standin.rows("drop role looker", "drop view frz.s.seen")

    assert values == kept


def test_a_role_must_be_granted_before_it_is_taken(standin: StandIn) -> None:
    key = new_key()
    standin.rows("create role analyst", f"create user ann rsa_public_key = '{key.public}'")
    with pytest.raises(DatabaseError):
        standin.connect("ann", private_key=key.private_der, role="analyst")
    standin.rows("grant role analyst to user ann")

    with standin.connect("ann", private_key=key.private_der, role="analyst") as connection:
        assert connection.role == "ANALYST"
