"""Secrets are planted in all settings that take one, and looked for in all that commands and Dagster leave.

Nobody answers: each command ends in an error, which is where secrets show. `frazil env` is left out, for it
prints the environment to be taken over. A day of work that succeeds is in tests/stack/secure.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import psutil
import pytest

from frazil.settings.profile import variable
from kit.logins.leaks import Search
from kit.logins.planted import MARK, planted, secret_settings
from kit.runs.waiting import PATIENCE

_BIN = Path(sys.executable).parent
_BESIDE = {
    "FRAZIL_KAFKA__MECHANISM": "PLAIN",
    "FRAZIL_KAFKA__USERNAME": "user",
    "FRAZIL_KAFKA__BOOTSTRAP_SERVERS": "127.0.0.1:1",
    "FRAZIL_REGISTRY__URL": "http://127.0.0.1:1",
    "FRAZIL_REST__URI": "http://127.0.0.1:1",
    "FRAZIL_S3__ENDPOINT": "http://127.0.0.1:1",
    "FRAZIL_GLUE__ENDPOINT": "http://127.0.0.1:1",
    "FRAZIL_SPARK__REMOTE": "sc://127.0.0.1:1",
    "FRAZIL_SNOWFLAKE__ACCOUNT": "none",
    "FRAZIL_SNOWFLAKE__HOST": "127.0.0.1",
    "FRAZIL_SNOWFLAKE__PORT": "1",
    "FRAZIL_SNOWFLAKE__PROTOCOL": "http",
}
"""What the planted ones need beside them; nobody listens there."""
_TOGETHER = ("client_secret", "key_password", "external_id", "session_token", "mail.password")
"""Those that are refused without others beside them, such as the certificate of a key."""


def secrets() -> dict[str, str]:
    """The variable of every setting that is a secret by its type, with what it says."""
    alone = sorted(setting for setting in secret_settings() if not setting.endswith(_TOGETHER))
    return {variable(setting.split(".")): planted(setting) for setting in alone}


@pytest.fixture
def kept_as() -> str:
    """How the environment tells its secrets: as they are, by where they are kept, or both ways in turn."""
    return "both"


@pytest.fixture
def environment(kept_as: str, tmp_path: Path) -> dict[str, str]:
    """An environment with all secrets in it."""
    variables = secrets()
    variables["FRAZIL_REGISTRY__USER_INFO"] = f"user:{planted('registry.user_info')}"
    variables["FRAZIL_ALARMS__WEBHOOK"] = f"http://127.0.0.1:1/{planted('alarms.webhook')}"
    variables["FRAZIL_ALARMS__SLACK"] = f"http://127.0.0.1:1/{planted('alarms.slack')}"
    kept = {"values": [], "references": [*variables], "both": [*variables][::2]}[kept_as]
    for name in kept:
        (tmp_path / name).write_text(variables[name])
        variables[name] = f"file:{tmp_path / name}"
    variables["FRAZIL_NAMED_KEYS"] = json.dumps({"masks": variables["FRAZIL_NAMED_KEYS"]})
    others = {k: v for k, v in os.environ.items() if not k.startswith(("FRAZIL_", "AWS_", "DAGSTER_"))}
    home = {"FRAZIL_HOME": str(tmp_path / "home"), "AWS_EC2_METADATA_DISABLED": "true"}
    return {**others, **_BESIDE, **variables, **home, "FRAZIL_DEBUG": "1"}


def ran(environment: Mapping[str, str], *command: str) -> str:
    """All that a command said, and the command lines of it and of all that it started."""
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        lines = set()
        while process.poll() is None:
            lines |= _command_lines(process.pid)
            try:
                output, _ = process.communicate(timeout=0.2)
            except subprocess.TimeoutExpired:
                continue
            return output + "\n".join(lines)
        return process.communicate(timeout=PATIENCE)[0] + "\n".join(lines)


def _command_lines(pid: int) -> set[str]:
    try:
        top = psutil.Process(pid)
        return {" ".join(p.cmdline()) for p in (top, *top.children(recursive=True))}
    except psutil.Error:
        return set()


def test_ten_settings_at_least_are_secrets_by_type() -> None:
    assert len(secrets()) >= 10


@pytest.mark.each_time("doctor-references")
@pytest.mark.parametrize("kept_as", ["values", "references"])
@pytest.mark.parametrize("command", ["tables", "doctor"])
def test_no_command_that_fails_tells_a_secret(command: str, environment: dict[str, str]) -> None:
    output = ran(environment, str(_BIN / "frazil"), command)

    assert output
    assert "The settings can't be read" not in output
    assert Search([MARK]).text(output) == ""


@pytest.mark.nightly
def test_dagster_keeps_no_secret_of_a_run_that_fails(environment: dict[str, str], tmp_path: Path) -> None:
    home = tmp_path / "dagster"
    home.mkdir()
    asked = ("asset", "materialize", "-m", "frazil.definitions", "--select", "key:kafka/users")

    output = ran({**environment, "DAGSTER_HOME": str(home)}, str(_BIN / "dagster"), *asked)

    kept = [file for file in home.rglob("*") if file.is_file()]
    assert any(file.suffix == ".db" for file in kept)
    assert "The settings can't be read" not in output
    assert "Kafka does not answer" in output
    assert Search([MARK]).text(output) == ""
    assert Search([MARK]).files(home) == {}
