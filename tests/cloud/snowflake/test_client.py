"""What the administrator's client makes of faults: nothing is taken for done that may not be."""

from __future__ import annotations

import base64
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from frazil.errors import ConfigureError, MissingError, NotAllowedError
from frazil.settings.profile import Settings
from frazil_cloud.resource import AnswerLost, Throttled
from frazil_cloud.snowflake.client import Snowflake, administrator
from kit.clouds import in_snowflake
from kit.clouds.cloud_snowflake import CloudSnowflake
from kit.stack.standin import new_key


class Kept:
    """A store of secrets in this process."""

    def __init__(self, **secrets: dict[str, str]) -> None:
        self._secrets: dict[str, Mapping[str, str]] = {**secrets}

    def put(self, name: str, values: Mapping[str, str], tags: Mapping[str, str]) -> None:
        self._secrets[name] = values

    def get(self, name: str) -> dict[str, str] | None:
        return dict(self._secrets[name]) if name in self._secrets else None

    def delete(self, name: str) -> None:
        self._secrets.pop(name, None)


@pytest.fixture
def admin(snowflake: CloudSnowflake) -> Iterator[Snowflake]:
    client = in_snowflake.administrator(snowflake, seconds=3)
    yield client
    snowflake.turn()
    client.close()


def test_an_answer_that_was_lost_is_asked_for_again_and_nothing_is_done_twice(
    admin: Snowflake, snowflake: CloudSnowflake
) -> None:
    admin.query("create role lost_and_found", role="USERADMIN")
    snowflake.turn(once={"DROP": "lose"})

    admin.query("drop role lost_and_found", role="USERADMIN")  # a second time would be refused

    assert admin.shown("show roles like 'lost_and_found'") == []


@pytest.mark.each_time("throttle_every-Throttled")
@pytest.mark.parametrize(
    ("knob", "error"), [("lose_every", AnswerLost), ("fail_every", AnswerLost), ("throttle_every", Throttled)]
)
def test_what_gets_no_answer_in_time_is_not_known_or_throttled(
    admin: Snowflake, snowflake: CloudSnowflake, knob: str, error: type[Exception]
) -> None:
    admin.query("select 1")
    snowflake.turn(**{knob: 1})

    with pytest.raises(error):
        admin.query("show roles")


def test_a_role_that_the_administrator_lacks_is_named_with_its_grant(snowflake: CloudSnowflake) -> None:
    user = snowflake.user("weak_admin", "SYSADMIN")
    admin = in_snowflake.administrator(snowflake, user.name, user.key.private_der)

    with pytest.raises(NotAllowedError) as refused:
        admin.query("show roles", role="ACCOUNTADMIN")

    assert refused.value.todo == 'GRANT ROLE "ACCOUNTADMIN" TO USER "WEAK_ADMIN";'
    admin.close()


def test_a_key_that_snowflake_does_not_know_is_refused(snowflake: CloudSnowflake) -> None:
    admin = in_snowflake.administrator(snowflake, "boss", new_key().private_der)

    with pytest.raises(ConfigureError, match="refuses the login"):
        admin.query("select 1")


def test_the_administrator_of_a_secret_logs_in_with_the_key_in_use(snowflake: CloudSnowflake) -> None:
    private = snowflake.key.private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    stored = {
        "admin_service_user": "BOSS",
        "active_key_number": "2",
        "snowflake_rsa_private_key_2_pem": base64.b64encode(private).decode(),
    }
    settings = in_snowflake.settings_of(snowflake, "nobody").with_changes(snowflake={"admin_secret": "admin"})
    client = administrator(settings, Kept(admin=stored))

    assert client.query("select current_user()") == [("BOSS",)]
    client.close()


def test_an_administrator_s_secret_that_is_not_there_is_named_and_another_one_goes_through(
    snowflake: CloudSnowflake, monkeypatch: pytest.MonkeyPatch
) -> None:
    private = snowflake.key.private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    kept = Kept(admin={"snowflake_rsa_private_key_1_pem": base64.b64encode(private).decode()})
    settings = in_snowflake.settings_of(snowflake, "boss")
    client = administrator(settings.with_changes(snowflake={"admin_secret": "nowhere"}), kept)
    with pytest.raises(MissingError) as missing:
        client.query("select 1")
    assert missing.value.where == "nowhere"
    assert "FRAZIL_SNOWFLAKE__ADMIN_SECRET" in missing.value.todo

    monkeypatch.setenv("FRAZIL_SNOWFLAKE__ADMIN_SECRET", "admin")
    named = settings.with_changes(snowflake={"admin_secret": Settings.load().snowflake.admin_secret})
    client = administrator(named, kept)

    assert client.query("select 1") == [(1,)]
    client.close()


def test_sessions_that_many_threads_open_at_once_share_nothing(admin: Snowflake) -> None:
    """The connector writes what a login is told into the parameters that it was given."""
    given = dict(admin._arguments["session_parameters"])
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as threads:
            roles = ["ACCOUNTADMIN", "SYSADMIN", "SECURITYADMIN", "USERADMIN"] * 6
            asked = [threads.submit(admin.query, "select current_role()", role=role) for role in roles]
        assert [each.result() for each in asked] == [[(role,)] for role in roles]
    finally:
        sys.setswitchinterval(before)

    assert admin._arguments["session_parameters"] == given
