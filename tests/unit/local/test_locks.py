"""What `frazil up --secure` makes in the folder of a stack, and what its clients are told."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import psutil
import pytest

from frazil.errors import ConfigureError
from frazil.settings.profile import Settings
from frazil_local.home import Home, secret
from frazil_local.locks import locks_of
from frazil_local.parts import known_stack, prepared_stack

PARTS = ("kafka", "registry", "catalog", "spark")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def settings(home: Home) -> Settings:
    return Settings.of_profile(home.profile)


def test_a_stack_is_open_unless_it_is_locked(home: Home) -> None:
    prepared_stack(home, {})

    assert not known_stack(home).locked
    assert settings(home).kafka.protocol == "PLAINTEXT"
    assert settings(home).rest.uri.startswith("http://")


def test_the_profile_of_a_locked_one_has_all_that_its_clients_need(home: Home) -> None:
    prepared_stack(home, {}, locked=True)
    profile = settings(home)

    assert profile.kafka.protocol == "SASL_SSL"
    assert profile.registry.url.startswith("https://")
    assert profile.rest.by_token
    assert profile.rest.token_url
    assert profile.rest.token_url.startswith(profile.rest.uri)
    assert {profile.kafka.ca, profile.registry.ca, profile.rest.ca} == {home.tls / "ca.pem"}
    given = (
        profile.kafka.password,
        profile.registry.user_info,
        profile.rest.client_secret,
        profile.spark.token,
    )
    assert [each.get_secret_value().removeprefix("frazil:") for each in given if each] == [
        secret(home, part) for part in PARTS
    ]


def test_every_part_has_a_secret_of_its_own_and_another_in_each_home(home: Home, tmp_path: Path) -> None:
    other = Home(tmp_path / "other")
    for each in (home, other):
        prepared_stack(each, {}, locked=True)

    assert len({secret(each, part) for each in (home, other) for part in PARTS}) == 2 * len(PARTS)


def test_only_the_owner_reads_keys_and_nothing_keeps_the_authoritys_own(home: Home) -> None:
    prepared_stack(home, {}, locked=True)

    assert stat.S_IMODE(home.tls.stat().st_mode) == 0o700
    keys = {file.name for file in home.tls.iterdir() if b"PRIVATE KEY" in file.read_bytes()}
    assert keys == {"frazil.key", "both.pem"}
    assert {stat.S_IMODE((home.tls / name).stat().st_mode) for name in keys} == {0o600}
    assert not list(home.root.rglob("ca.key"))


def test_it_stays_locked_until_it_is_opened(home: Home) -> None:
    prepared_stack(home, {}, locked=True)
    authority = (home.tls / "ca.pem").read_bytes()

    assert prepared_stack(home, {}).locked
    assert prepared_stack(home, {}, locked=True).locked
    assert (home.tls / "ca.pem").read_bytes() == authority
    assert not prepared_stack(home, {}, locked=False).locked
    assert locks_of(home) is None
    assert settings(home).kafka.protocol == "PLAINTEXT"


@pytest.mark.parametrize(("is_locked", "wanted"), [(True, "--no-secure"), (False, "--secure")])
def test_one_that_runs_is_not_turned(home: Home, is_locked: bool, wanted: str) -> None:
    prepared_stack(home, {}, locked=is_locked)
    before = home.profile.read_text()
    this = {"pid": os.getpid(), "born": psutil.Process().create_time()}
    (home.running / "kafka.json").write_text(json.dumps(this))  # a part that was started, and lives

    with pytest.raises(ConfigureError, match=f"frazil down.*frazil up {wanted}"):
        prepared_stack(home, {}, locked=not is_locked)

    assert prepared_stack(home, {}).locked is is_locked
    assert home.profile.read_text() == before


def test_a_wipe_takes_the_locks_along(home: Home) -> None:
    prepared_stack(home, {}, locked=True).wipe()

    assert not known_stack(home).locked
