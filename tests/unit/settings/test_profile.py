"""Settings come from variables and a profile; what nobody knows is an error, not a default."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from frazil.errors import ConfigureError
from frazil.settings.profile import Settings, fields, variable


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("FRAZIL_BOOTSTRAP_SERVERS", "is it FRAZIL_KAFKA__BOOTSTRAP_SERVERS?"),
        ("FRAZIL_KAFKA__BOOTSTRAP_SERVER", "is it FRAZIL_KAFKA__BOOTSTRAP_SERVERS?"),
        ("FRAZIL_SNOWFLAKE_ROLE", "is it FRAZIL_SNOWFLAKE__ROLE?"),
        ("frazil_s3_endpoint", "FRAZIL_S3_ENDPOINT, is it FRAZIL_S3__ENDPOINT?"),
        ("FRAZIL_KAFKA__CLIENT__RACK", "is it FRAZIL_KAFKA__CLIENT"),
    ],
)
def test_a_variable_that_is_no_setting_is_told_with_the_nearest(
    name: str, nearest: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "somewhere")

    with pytest.raises(ConfigureError) as refusal:
        Settings.load()

    assert name.upper() in str(refusal.value)
    assert nearest in str(refusal.value)


FILES = {variable(path): field for path, field in fields() if "pathlib.Path" in str(field.annotation)}


@pytest.mark.parametrize("name", FILES)
def test_a_setting_of_a_file_takes_the_home_of_who_runs_frazil(name: str) -> None:
    kind = TypeAdapter[Any](FILES[name].annotation)

    assert kind.validate_python("~/of_mine") == Path.home() / "of_mine"


def test_a_home_that_nobody_has_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRAZIL_KAFKA__CA", "~nobody-here/ca.pem")

    with pytest.raises(ConfigureError, match="FRAZIL_KAFKA__CA: this machine knows no user of that name"):
        Settings.load()


def test_each_system_with_certificates_is_among_the_settings_of_files() -> None:
    assert {"FRAZIL_KAFKA__CA", "FRAZIL_REGISTRY__CA", "FRAZIL_REST__KEY", "FRAZIL_S3__CA"} <= FILES.keys()


@pytest.mark.parametrize("name", ["FRAZIL_CACHE", "FRAZIL_DEBUG", "FRAZIL_TEST_KEEP", "AWS_REGION"])
def test_variables_that_are_for_others_are_left_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "1")

    assert Settings.load() == Settings.of_profile(Path("nowhere"))


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        ({"bootstrap_servers": "x:9092"}, "bootstrap_servers: there is no such setting, is it kafka.boot"),
        ({"glue": {"database_": "x"}}, "glue.database_: there is no such setting, is it glue.database?"),
        ({"zzz": 1}, "zzz: there is no such setting\n"),
    ],
)
def test_an_unknown_name_in_the_profile_is_told_with_the_nearest(
    profile: dict[str, object], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "profile.json").write_text(json.dumps(profile))
    monkeypatch.setenv("FRAZIL_PROFILE", str(tmp_path / "profile.json"))

    with pytest.raises(ConfigureError) as refusal:
        Settings.load()

    assert expected in str(refusal.value)


def test_a_profile_that_is_named_must_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRAZIL_PROFILE", str(tmp_path / "lost.json"))

    with pytest.raises(ConfigureError, match=r"FRAZIL_PROFILE=.*lost\.json"):
        Settings.load()


def test_variables_and_the_profile_may_each_say_a_part_of_one_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "profile.json").write_text(json.dumps({"kafka": {"bootstrap_servers": "x:1", "tls": True}}))
    monkeypatch.setenv("FRAZIL_PROFILE", str(tmp_path / "profile.json"))
    monkeypatch.setenv("FRAZIL_KAFKA__BOOTSTRAP_SERVERS", "y:2")

    kafka = Settings.load().kafka

    assert (kafka.bootstrap_servers, kafka.tls) == ("y:2", True)


def test_a_copy_with_changes_keeps_the_rest_and_is_checked() -> None:
    before = Settings.load(catalog="glue", glue={"database": "d"}, registry={"user_info": "me:secret"})

    after = before.with_changes(cluster="other", glue={"warehouse": "s3://w"}, registry={"url": "http://x"})

    assert (after.catalog, after.cluster) == ("glue", "other")
    assert (after.glue.database, after.glue.warehouse) == ("d", "s3://w")
    assert after.registry.user_info == before.registry.user_info
    with pytest.raises(ValidationError, match="database_"):
        before.with_changes(glue={"database_": "x"})


@pytest.mark.usefixtures("garbage_waits")
@pytest.mark.parametrize("text", ['{"password": "planted', "[" * 10_000, '"x"'])
def test_a_variable_of_a_whole_system_that_is_no_json_is_refused_without_what_it_holds(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FRAZIL_KAFKA", text)

    with pytest.raises(ConfigureError, match="The settings can't be read") as refused:
        Settings.load()

    assert "planted" not in str(refused.value)
