"""What a page tells a shell to do is done by a test, or says why not; each command is one of Frazil's."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from frazil.cli.commands import Named
from frazil.cli.main import make_app
from kit.pages.pages import RUN

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SETTINGS = "docs/connect.md"
"""Its blocks are settings: tests/unit/test_docs.py has them read."""

_SHELL = re.compile(r"(?:^<!-- (?P<mark>[^\n]*) -->\n)?^```(?:sh|console)\n", re.MULTILINE)
_DONE_BY = re.compile(r"done by (tests/\S+\.py)")
_BLOCK = re.compile(r"^```(?:sh|console)?\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def is_excused(mark: str | None) -> bool:
    done = _DONE_BY.fullmatch(mark or "")
    return (mark or "").startswith("needs a ") or bool(done and (ROOT / done[1]).exists())


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_each_block_of_a_shell_is_run_by_a_test_or_says_what_it_needs(page: Path) -> None:
    if name(page) in (*RUN, SETTINGS):
        return
    marks = [block["mark"] for block in _SHELL.finditer(page.read_text())]

    assert [mark for mark in marks if not is_excused(mark)] == []


def test_the_pages_that_are_run_have_something_to_run() -> None:
    assert [page for page in RUN if not _SHELL.search((ROOT / page).read_text())] == []


def command_lines() -> Iterator[tuple[str, str]]:
    for page in PAGES:
        if name(page) != "docs/reference/commands.md":  # which shows how a command is used, in brackets
            for block in _BLOCK.findall(page.read_text()):
                lines = (line.split(" # ")[0].strip() for line in block.replace("\\\n", " ").splitlines())
                yield from ((name(page), line) for line in lines if line.startswith("frazil "))


def parsed(group: Any, words: list[str], above: Any = None) -> None:
    """Reads the words as the command line does; runs nothing."""
    context = group.context_class(group, parent=above)
    _, command, rest = group.resolve_command(context, words)
    command = command.load() if isinstance(command, Named) else command
    if hasattr(command, "list_commands"):
        parsed(command, rest, context)
    else:
        command.make_parser(context).parse_args(rest)


@pytest.mark.parametrize(("page", "line"), sorted(set(command_lines())))
def test_each_line_is_a_command_with_options_that_there_are(page: str, line: str) -> None:
    words = shlex.split(re.split(r" [|>] ?| && ", line)[0])[1:]

    parsed(get_command(make_app()), words)


@pytest.mark.parametrize("words", [["lands", "orders"], ["land", "--evry"], ["schema", "diff", "--candidat"]])
def test_a_command_or_an_option_that_is_not_there_is_noticed(words: list[str]) -> None:
    with pytest.raises(Exception, match=r"No such (command|option)"):
        parsed(get_command(make_app()), words)
