"""An argument that is wrong is a usage error: exit code 2, what to write instead, nothing begun."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from frazil.cli.commands import catalogues
from frazil.cli.main import make_app
from kit.graph.mistakes import ARGUMENTS
from kit.runs.shell import Command


@pytest.mark.parametrize(("line", "expected"), ARGUMENTS)
def test_it_says_what_to_write(frazil: Command, line: str, expected: str) -> None:
    result = frazil(*shlex.split(line))

    assert result.code == 2
    assert expected.lower() in result.err.lower()
    assert result.is_clear


@pytest.mark.parametrize("line", ["land ordrs", "land --max-records x orders", "lnad", "tables"])
def test_with_json_the_error_is_one_document(frazil: Command, line: str) -> None:
    result = frazil(*line.split(), "--json", FRAZIL_PROFILE="/nowhere" if line == "tables" else "")

    assert result.code == result.document["exit_code"] == 2
    assert result.document["error"]["type"] == "UsageError"
    assert result.document["error"]["what"] in result.err


def test_the_version_is_told(frazil: Command) -> None:
    result = frazil("--version")

    assert (result.code, result.out) == (0, "1.0.0\n")


@pytest.mark.parametrize(
    ("words", "word"),
    [("frazil desc", "describe"), ("frazil land --acc", "--accept-loss"), ("frazil land or", "orders")],
)
def test_a_shell_completes_commands_options_and_tables(frazil: Command, words: str, word: str) -> None:
    result = frazil(
        COMP_WORDS=words, COMP_CWORD=str(len(words.split()) - 1), _FRAZIL_COMPLETE="complete_bash"
    )

    assert result.out.split() == [word]


def test_every_command_takes_json(frazil: Command) -> None:
    group: Any = get_command(make_app())
    commands = {name: group.get_command(None, name).load() for each in catalogues() for name in each.names}
    leaves = [leaf for c in commands.values() for leaf in getattr(c, "commands", {c.name: c}).values()]

    assert [c.name for c in leaves if not any("--json" in p.opts for p in c.params)] == []


def test_a_folder_without_pipelines_is_told(frazil: Command, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    result = frazil("tables", FRAZIL_PIPELINES=str(tmp_path / "empty"))

    assert (result.code, result.out) == (0, "")
    assert f"There is no table: write {tmp_path / 'empty'}/NAME/defs.yaml" in result.err


def test_the_log_of_a_part_that_was_never_started_is_missing_and_is_not_made(
    frazil: Command, tmp_path: Path
) -> None:
    result = frazil("logs", "kafka")

    assert result.code == 1
    assert "kafka was never started here." in result.err
    assert not (tmp_path / "home").exists()


def test_the_last_lines_of_a_log_are_printed(frazil: Command, tmp_path: Path) -> None:
    file = tmp_path / "home" / "logs" / "kafka.log"
    file.parent.mkdir(parents=True)
    file.write_text("one\ntwo\nthree\n")

    result = frazil("logs", "kafka", "--lines", "2")

    assert (result.code, result.out) == (0, "two\nthree\n")
    assert frazil("logs", "kafka", "--json").document["lines"] == ["one", "two", "three"]
