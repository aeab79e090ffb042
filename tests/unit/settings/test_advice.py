"""What errors about settings advise is done: the settings are read then, and say what they should."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.transforms import TruncateTransform

from frazil.errors import ConfigureError, UsageError
from frazil.settings.profile import Settings
from frazil.settings.refusals import aws_refusal
from frazil_local.home import Home
from frazil_local.parts import prepared_stack


@pytest.fixture
def profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "profile.json"
    file.write_text(json.dumps({"cluster": "prod", "connections": {"eu": {}}}))
    monkeypatch.setenv("FRAZIL_PROFILE", str(file))
    return file


def test_a_connection_is_there_once_it_is_added_to_the_file_that_is_named(profile: Path) -> None:
    with pytest.raises(UsageError, match="no connection us") as raised:
        Settings.load().of("us")

    file = Path(raised.value.todo.removeprefix("Add it to `connections` in ").rstrip("."))
    known = json.loads(file.read_text())
    us = {"kafka": {"bootstrap_servers": "us:9092"}}
    file.write_text(json.dumps(known | {"connections": {**known["connections"], "us": us}}))

    assert Settings.load().of("us").kafka.bootstrap_servers == "us:9092"
    assert Settings.load().of("eu").cluster == "eu"


def test_a_profile_that_is_not_there_is_mended_by_its_variable(
    profile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FRAZIL_PROFILE", str(profile) + "x")
    with pytest.raises(UsageError, match="no such profile") as raised:
        Settings.load()
    assert raised.value.todo == "Fix FRAZIL_PROFILE."

    monkeypatch.setenv("FRAZIL_PROFILE", str(profile))

    assert Settings.load().cluster == "prod"


def test_a_profile_of_ones_own_is_mended_and_never_said_to_be_deleted(profile: Path) -> None:
    """Deleted, as was advised, it took every setting with it: the defaults are a Kafka on this machine."""
    good = profile.read_text()
    profile.write_text(good + "}")
    with pytest.raises(UsageError, match="not a JSON object") as raised:
        Settings.load()
    assert raised.value.todo == "Fix it."

    profile.write_text(good)

    assert Settings.load().cluster == "prod"


def test_the_embedded_stacks_own_is_written_anew_after_it_was_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path / "home")
    monkeypatch.setenv("FRAZIL_HOME", str(home.root))
    prepared_stack(home, {})
    before = Settings.load()
    home.profile.write_text("{")
    with pytest.raises(UsageError, match="not a JSON object") as raised:
        Settings.load()
    assert "you wrote nothing into it" in raised.value.todo

    home.profile.unlink()
    prepared_stack(home, {})  # as `frazil up` begins

    assert Settings.load() == before


@pytest.mark.parametrize("way", ["fixed", "unset"])
def test_a_variable_that_is_no_setting_is_mended_or_unset(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRAZIL_KAFKA__BOOTSTRAP_SERVER", "prod:9092")
    with pytest.raises(UsageError, match="no setting") as raised:
        Settings.load()
    assert "FRAZIL_KAFKA__BOOTSTRAP_SERVERS" in raised.value.where

    monkeypatch.delenv("FRAZIL_KAFKA__BOOTSTRAP_SERVER")
    if way == "fixed":
        monkeypatch.setenv("FRAZIL_KAFKA__BOOTSTRAP_SERVERS", "prod:9092")

    servers = Settings.load().kafka.bootstrap_servers
    assert servers == ("prod:9092" if way == "fixed" else "127.0.0.1:9092")


@pytest.mark.parametrize("where", ["the variable", "the profile"])
def test_a_value_that_is_none_is_mended_where_it_stands(
    where: str, profile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = "FRAZIL_CATALOG", "hive"
    if where == "the variable":
        monkeypatch.setenv(*wrong)
    else:
        profile.write_text(json.dumps({"catalog": "hive"}))
    with pytest.raises(UsageError, match="can't be read") as raised:
        Settings.load()
    assert "FRAZIL_<SYSTEM>__<NAME>" in raised.value.todo
    assert str(profile) in raised.value.todo

    if where == "the variable":
        monkeypatch.setenv("FRAZIL_CATALOG", "glue")
    else:
        profile.write_text(json.dumps({"catalog": "glue"}))

    assert Settings.load().catalog == "glue"


def test_a_certificate_that_can_not_be_read_is_mended_by_the_setting_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FRAZIL_REST__CA", str(tmp_path / "nowhere.pem"))
    with pytest.raises(ConfigureError, match="can't be read") as raised:
        Settings.load().rest.check_files("REST")
    assert raised.value.todo == "Fix FRAZIL_REST__CA."

    (tmp_path / "ca.pem").write_text("a certificate")
    monkeypatch.setenv("FRAZIL_REST__CA", str(tmp_path / "ca.pem"))

    Settings.load().rest.check_files("REST")


@pytest.mark.parametrize("way", ["truncated", "left out of names"])
def test_a_text_that_is_too_long_for_a_folder_is_truncated_or_left_out_of_names(
    tmp_path: Path, way: str
) -> None:
    message = "during PutObject operation: Unable to parse ExceptionName: KeyTooLongError Message: no"
    refusal = aws_refusal(OSError(f"AWS Error UNKNOWN (HTTP status 400) {message}"))
    assert refusal
    assert "truncate(16, column)" in refusal.todo
    catalog = InMemoryCatalog("unit", warehouse=tmp_path.as_uri())
    catalog.create_namespace("unit")
    columns = pa.schema([("name", pa.string())])
    table = catalog.create_table(("unit", "things"), columns)
    table.append(pa.table({"name": ["before"]}, schema=columns))
    with table.update_spec() as update:
        update.add_identity("name")
    rows = pa.table({"name": ["x" * 300, "x" * 301]}, schema=columns)
    with pytest.raises(OSError, match="too long"):
        table.append(rows)

    if way == "truncated":
        with table.update_spec() as update:
            update.remove_field("name")
            update.add_field("name", TruncateTransform(16), "name_trunc")
    else:
        names = re.findall(r"'(write[\w.-]+)'='(\w+)'", refusal.todo)
        with table.transaction() as tx:
            tx.set_properties(dict(names))
    table.append(rows)

    names_there = catalog.load_table(("unit", "things")).scan().to_arrow()["name"].to_pylist()
    assert sorted(names_there) == ["before", "x" * 300, "x" * 301]
