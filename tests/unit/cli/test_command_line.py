from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Output:
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def run_frazil(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Output]:
    """What the command says in this process: a process of its own costs a second, and two tests have one."""

    def frazil(*arguments: str) -> Output:
        monkeypatch.setattr(sys, "argv", ["frazil", *arguments])
        with pytest.raises(SystemExit) as end:
            run()
        return Output(int(end.value.code or 0), *capsys.readouterr())

    return frazil


def shell(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([FRAZIL, *arguments], capture_output=True, text=True, check=False)


def test_help_names_the_commands_of_the_stack() -> None:
    answer = shell("--help")

    assert answer.returncode == 0
    assert all(f" {name} " in answer.stdout for name in ("up", "down", "status", "env"))


def test_an_unknown_command_is_a_usage_error(run_frazil: Callable[..., Output]) -> None:
    assert run_frazil("freeze").returncode == 2


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--rebuild", "--from-here"), "--rebuild makes all"),
        (("--accept-loss", "3"), "--accept-loss says what"),
    ],
)
def test_options_of_a_derivation_that_contradict_each_other_are_a_usage_error(
    run_frazil: Callable[..., Output], options: tuple[str, ...], expected: str
) -> None:
    answer = run_frazil("derive", "t", *options)

    assert (answer.returncode, expected in answer.stderr) == (2, True)


def test_env_without_a_stack_says_how_to_get_one(run_frazil: Callable[..., Output]) -> None:
    answer = run_frazil("env", "--json")

    assert answer.returncode == 1
    assert json.loads(answer.stdout)["error"]["type"] == "MissingError"
    assert "There is no stack here." in answer.stderr
    assert "frazil up" in answer.stderr


def test_a_users_mistake_shows_no_trace_and_no_colour_off_a_terminal() -> None:
    answer = shell("up", "--port", "kafak=1")

    assert answer.returncode == 2
    assert answer.stderr.startswith("--port kafak=1 says no port.\n  Next: ")
    assert "Traceback" not in answer.stderr
    assert "\x1b" not in answer.stderr


def test_a_home_that_cannot_be_made_is_said_without_a_trace(
    run_frazil: Callable[..., Output], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("FRAZIL_HOME", str(tmp_path / "file" / "home"))

    answer = run_frazil("up")

    assert answer.returncode == 1
    assert "Set FRAZIL_HOME to a folder" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_a_profile_that_is_no_json_is_named(
    run_frazil: Callable[..., Output], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "profile.json").write_text("{")
    monkeypatch.setenv("FRAZIL_HOME", str(tmp_path))

    answer = run_frazil("env")

    assert answer.returncode == 2
    assert str(tmp_path / "profile.json") in answer.stderr


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


def test_a_stack_never_started_is_down_with_exit_code_5_and_asking_makes_nothing(
    run_frazil: Callable[..., Output], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FRAZIL_HOME", str(tmp_path / "home"))

    answer = run_frazil("status", "--json")

    assert not (tmp_path / "home").exists()
    assert answer.returncode == 5
    assert '"state": "down"' in answer.stdout
    assert answer.stderr == ""


def test_a_part_that_does_not_exist_is_refused_with_those_that_do(run_frazil: Callable[..., Output]) -> None:
    answer = run_frazil("down", "--only", "zookeeper")

    assert answer.returncode == 2
    assert "has no part zookeeper" in answer.stderr
    assert "storage, aws, kafka, registry, spark, spark-upkeep, snowflake" in answer.stderr
