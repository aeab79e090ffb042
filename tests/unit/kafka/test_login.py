"""Refusals of a login that was replaced: the broker may refuse the one before for a while."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import KafkaError

from frazil.errors import ConfigureError
from frazil.kafka import clients
from frazil.kafka.clients import Admin, admin_client, check_access
from frazil.settings import reference
from frazil.settings.profile import Settings

REFUSED = KafkaError(KafkaError._AUTHENTICATION, "invalid credentials")


@pytest.fixture
def password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(reference, "_RESTING_SECONDS", 0.0)
    (tmp_path / "password").write_text("first")
    return tmp_path / "password"


@pytest.fixture
def admin(password: Path) -> Admin:
    login = {"tls": True, "mechanism": "PLAIN", "username": "us", "password": f"file:{password}"}
    return admin_client(Settings.load(kafka={"bootstrap_servers": "127.0.0.1:1", **login}))


def test_who_is_refused_and_has_no_other_login_is_locked_out(admin: Admin) -> None:
    admin.login(REFUSED)

    with pytest.raises(ConfigureError, match="gives no access: invalid credentials"):
        check_access(admin, "here")


def test_a_connection_that_began_with_the_login_before_may_still_be_refused(
    admin: Admin, password: Path
) -> None:
    admin.login(REFUSED)
    password.write_text("second")

    assert check_access(admin, "here")
    admin.login(REFUSED)
    assert check_access(admin, "here")


def test_a_login_that_is_refused_long_after_it_was_taken_up_is_locked_out(
    admin: Admin, password: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "_IN_FLIGHT_SECONDS", 0.0)
    admin.login(REFUSED)
    password.write_text("second")

    assert check_access(admin, "here")
    admin.login(REFUSED)
    with pytest.raises(ConfigureError, match="gives no access"):
        check_access(admin, "here")
