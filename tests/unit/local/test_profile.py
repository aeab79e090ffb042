from __future__ import annotations

import json
import shlex
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import dagster as dg
import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key
from typer.testing import CliRunner

from frazil.cli.env import app
from frazil.settings.profile import Settings
from frazil_local.home import Home, s3_credentials, snowflake_keys
from frazil_local.parts import make_dagster_home, write_profile
from frazil_local.ports import DEFAULTS


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.make()
    return home


def write(home: Home) -> None:
    write_profile(home, DEFAULTS)


def test_the_profile_is_what_settings_read(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRAZIL_HOME", str(home.root))
    write(home)

    assert Settings.load() == Settings.of_profile(home.profile)
    assert Settings.load().kafka.bootstrap_servers == "127.0.0.1:9092"


def test_the_environment_does_not_change_the_profile_read_by_the_stack(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home)
    monkeypatch.setenv("FRAZIL_KAFKA__BOOTSTRAP_SERVERS", "elsewhere:9092")

    assert Settings.of_profile(home.profile).kafka.bootstrap_servers == "127.0.0.1:9092"


def test_the_shell_that_takes_what_env_prints_has_the_settings_of_the_profile(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FRAZIL_HOME", str(home.root))
    write(home)
    profile = json.loads(home.profile.read_text())
    eu = {
        "kafka": {"mechanism": "PLAIN", "username": "me", "password": "s3cret"},
        "registry": {"token": None},
    }
    home.profile.write_text(json.dumps(profile | {"connections": {"orders-eu": eu}}))
    write(home)
    printed = CliRunner().invoke(app).stdout

    exports = dict(word.split("=", 1) for word in shlex.split(printed) if "=" in word)
    elsewhere = {name: value for name, value in exports.items() if name != "FRAZIL_HOME"}
    for name, value in {**elsewhere, "FRAZIL_HOME": str(home.root / "no-profile-here")}.items():
        monkeypatch.setenv(name, value)

    assert Settings.load() == Settings.of_profile(home.profile)


def test_what_holds_a_secret_is_for_its_owner_only(home: Home) -> None:
    write(home)

    files = [home.profile, *home.secrets.iterdir()]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE(home.secrets.stat().st_mode) == 0o700


def test_a_choice_of_the_user_outlives_the_next_start(home: Home) -> None:
    write(home)
    values = json.loads(home.profile.read_text())
    home.profile.write_text(json.dumps(values | {"catalog": "glue", "rest": {"uri": "http://other"}}))

    write(home)

    assert Settings.of_profile(home.profile).catalog == "glue"
    assert Settings.of_profile(home.profile).rest.uri == "http://127.0.0.1:8181"


def test_credentials_are_made_once_and_differ_between_homes(home: Home, tmp_path: Path) -> None:
    other = Home(tmp_path / "other")
    other.make()

    assert s3_credentials(home) == s3_credentials(home)
    assert s3_credentials(home) != s3_credentials(other)


def test_credentials_do_not_show_their_secret(home: Home) -> None:
    credentials = s3_credentials(home)

    assert credentials.secret_key not in repr(credentials)


def test_the_snowflake_keys_belong_together(home: Home) -> None:
    pair = snowflake_keys(home)

    private = load_pem_private_key(pair.private.read_bytes(), password=None)
    assert private.public_key() == load_pem_public_key(pair.public.read_bytes())


def test_dagster_takes_the_instance_that_was_made(home: Home) -> None:
    make_dagster_home(home)

    with dg.DagsterInstance.from_config(str(home.dagster)) as instance:
        assert instance.telemetry_enabled is False
        assert instance.run_monitoring_enabled
        assert (instance.run_retries_enabled, instance.run_retries_max_retries) == (True, 1)
        assert not instance.freshness_enabled  # a quiet topic would be late: see docs/deploy.md


def test_a_dagster_instance_changed_by_the_user_stays(home: Home) -> None:
    make_dagster_home(home)
    (home.dagster / "dagster.yaml").write_text("telemetry: {enabled: false}\n")

    make_dagster_home(home)

    assert (home.dagster / "dagster.yaml").read_text() == "telemetry: {enabled: false}\n"


def test_a_wipe_leaves_only_the_choice_of_ports(home: Home) -> None:
    write(home)
    make_dagster_home(home)
    home.ports.write_text("{}")
    (home.data("kafka") / "log").touch()

    home.wipe()

    assert list(home.root.iterdir()) == [home.ports]


def test_of_two_first_starts_at_once_both_get_the_same_credentials(home: Home) -> None:
    with ThreadPoolExecutor(8) as threads:
        made = set(threads.map(lambda _: s3_credentials(home), range(8)))

    assert len(made) == 1
    assert [file.name for file in home.secrets.iterdir()] == ["s3"]


def test_a_home_that_was_there_before_is_closed_to_others(tmp_path: Path) -> None:
    root = tmp_path / "open"
    root.mkdir(mode=0o755)

    Home(root).make()

    assert stat.S_IMODE(root.stat().st_mode) == 0o700
