from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from frazil.cli.main import run

FRAZIL = Path(sys.executable).parent / "frazil"


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> typer.Typer:
    monkeypatch.setattr(sys, "argv", ["frazil"])
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(lambda: 1 / 0)
    return app


def frazil(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [FRAZIL, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_help_names_the_commands_of_the_stack() -> None:
    said = frazil("--help")

    assert said.returncode == 0
    assert all(f" {name} " in said.stdout for name in ("up", "down", "status", "env"))


def test_an_unknown_command_is_a_usage_error() -> None:
    assert frazil("freeze").returncode == 2


def test_env_without_a_stack_says_how_to_get_one() -> None:
    said = frazil("env", "--json")

    assert said.returncode == 1
    assert said.stdout == ""
    assert "There is no stack here." in said.stderr
    assert "frazil up" in said.stderr


def test_a_users_mistake_shows_no_trace_and_no_colour_off_a_terminal() -> None:
    said = frazil("up", "--port", "kafak=1")

    assert said.returncode == 1
    assert said.stderr.startswith("--port kafak=1 says no port.\n  Next: ")
    assert "Traceback" not in said.stderr
    assert "\x1b" not in said.stderr


def test_a_home_that_cannot_be_made_is_said_without_a_trace(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    said = frazil("status", FRAZIL_HOME=str(tmp_path / "file" / "home"))

    assert said.returncode == 1
    assert "Set FRAZIL_HOME to a folder" in said.stderr
    assert "Traceback" not in said.stderr


def test_a_profile_that_is_no_json_is_named(tmp_path: Path) -> None:
    (tmp_path / "profile.json").write_text("{")

    said = frazil("env", FRAZIL_HOME=str(tmp_path))

    assert said.returncode == 1
    assert str(tmp_path / "profile.json") in said.stderr


def test_a_fault_of_ours_is_one_line_and_exit_code_1(
    faulty: typer.Typer, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="1"):
        run(faulty)

    assert capsys.readouterr().err.startswith("ZeroDivisionError: division by zero\n  Next: ")


def test_a_fault_of_ours_shows_where_it_lies_when_debugging(
    faulty: typer.Typer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FRAZIL_DEBUG", "1")

    with pytest.raises(ZeroDivisionError):
        run(faulty)


def test_a_stack_never_started_is_down_with_exit_code_5() -> None:
    said = frazil("status", "--json")

    assert said.returncode == 5
    assert '"state": "down"' in said.stdout
    assert said.stderr == ""


def test_a_part_that_does_not_exist_is_refused_with_those_that_do() -> None:
    said = frazil("down", "--only", "zookeeper")

    assert said.returncode == 1
    assert "has no part zookeeper" in said.stderr
    assert "storage, aws, kafka, registry, spark, spark-upkeep, snowflake" in said.stderr
