"""An argument that is wrong is a usage error: exit code 2, what to write instead, nothing begun."""

from __future__ import annotations

import shlex

import pytest

from kit.shell import Command


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("lnad orders", "Did you mean 'land'?"),
        ("land", "Name tables, or give --all"),
        ("land orders --all", "not both"),
        ("land ordrs", "Did you mean local.orders?"),
        ("lag ordrs", "Did you mean local.orders?"),
        ("describe ''", "Write namespace.table."),
        ("derive orders", "`frazil land local.orders`"),
        ("land orders --max-records x", "should be a valid integer"),
        ("land orders --accept-loss 0:5", "write PARTITION:FROM-TO"),
        ("land orders --accept-loss 0:9-5", "write PARTITION:FROM-TO"),
        ("resume orders --past 0-12", "write PARTITION:OFFSET"),
        ("rollback orders --to yesterday", "is neither a snapshot's id nor a time"),
        ("accept orders --snapshot x --because y", "should be a valid integer"),
        ("redrive orders --with nosuch:function", "No module named 'nosuch'"),
        ("redrive orders --with os", "write --with MODULE:FUNCTION"),
        ("metrics --port 99999", "less than or equal to 65535"),
        ("graph --out picture.pdf", ".svg or .png"),
        ("doctor --pipeline nosuch", "Known are shop."),
        ("rotate nosuch", "There is no deployment nosuch."),
        ("generate nosuch", "is not one of"),
        ("up --port kafka=x", "--port NAME=NUMBER"),
        ("down --only zookeeper", "Its parts are storage"),
        ("logs zookeeper", "Its parts are storage"),
        ("schema diff orders --candidate nosuch.avsc", "nosuch.avsc"),
        ("schema diff orders --candidate pyproject.toml", "pyproject.toml"),
    ],
)
def test_it_says_what_to_write(frazil: Command, line: str, told: str) -> None:
    said = frazil(*shlex.split(line))

    assert said.code == 2
    assert told.lower() in said.err.lower()
    assert said.is_clear


@pytest.mark.parametrize("line", ["land ordrs", "land --max-records x orders", "lnad", "tables"])
def test_with_json_the_error_is_one_document(frazil: Command, line: str) -> None:
    said = frazil(*line.split(), "--json", FRAZIL_PROFILE="/nowhere" if line == "tables" else "")

    assert said.code == said.document["exit_code"] == 2
    assert said.document["error"]["type"] == "UsageError"
    assert said.document["error"]["what"] in said.err


def test_the_version_is_told(frazil: Command) -> None:
    said = frazil("--version")

    assert (said.code, said.out) == (0, "0.1.0\n")


@pytest.mark.parametrize(
    ("words", "word"),
    [("frazil desc", "describe"), ("frazil land --acc", "--accept-loss"), ("frazil land or", "local.orders")],
)
def test_a_shell_completes_commands_options_and_tables(frazil: Command, words: str, word: str) -> None:
    said = frazil(COMP_WORDS=words, COMP_CWORD=str(len(words.split()) - 1), _FRAZIL_COMPLETE="complete_bash")

    assert said.out.split() == [word]
