"""Each command, each setting and each key of YAML that the code tells people of is one that there is."""

from __future__ import annotations

import re
import shlex
from functools import cache
from typing import Any, Literal, get_args, get_origin

import pytest
import typer
from pydantic import BaseModel, TypeAdapter, ValidationError
from typer._click.exceptions import ClickException, MissingParameter
from typer.main import get_command

from frazil.cli.commands import catalogues
from frazil.cli.main import make_app
from frazil.settings.profile import _NO_SETTINGS, Settings, fields, variable
from frazil.spec.checks import OwnCheck
from frazil.spec.derived import DerivedSpec, Feed, Window
from frazil.spec.freshness import Budget, LandWhen
from frazil.spec.table import Write
from frazil.spec.topic import TableSpec
from frazil.spec.upkeep import Upkeep
from frazil_cloud.spec.confluent import Statement, Tableflow
from frazil_cloud.spec.deployment import DeploymentSpec
from kit.pages.advice import ROOT, listed
from kit.pages.spoken import FILLED, filled, texts

FILLINGS = {
    "instead": "derive",
    "total": "7",
    "foreign.snapshot_id": "1",
    "foreign.parent_snapshot_id": "1",
    "kept": "1",
    "flags": "--accept-loss 0:1-2",
    "_past(first)": "--past 0:1",
    "self.options[not is_on]": "--secure",
}
"""What stands for parts of commands that are filled in, and are no table's name."""

A_WORD = "orders"
PLACEHOLDERS = {"NUMBER": "1", "N": "1", "ID": "1", "SNAPSHOT": "1", "MOMENT": "2026-11-26T00:00"}

PLACEHOLDER = re.compile(rf"\b({'|'.join(PLACEHOLDERS)})\b")
"""What a text says where its reader is to put a word of a certain kind; any other one may be a name."""

NO_SETTINGS = {
    "FRAZIL_GLUE", "FRAZIL_VOLUME", "FRAZIL_GLUE_VOLUME", "FRAZIL_IN_PARTITION", "FRAZIL_OF_ALL",
    "FRAZIL_CLOUD_AWS_STATE",
}  # fmt: skip
"""Names of Frazil's objects in Snowflake, of columns there, and of what a stand-in's process is told."""

spoken = cache(texts)


@cache
def room() -> typer.Context:
    return typer.Context(get_command(make_app()))


def commands(text: str) -> list[str]:
    return re.findall(r"`frazil ([^`]+)`", text)


def parse(line: str) -> None:
    """Has the real command line read a line, and run nothing.

    A name with options alone is no line to be typed: a text speaks of a command so.
    """
    name, command, rest = room().command.resolve_command(room(), shlex.split(line))  # type: ignore[attr-defined]
    while hasattr(command, "commands") and rest:
        name, command, rest = command.resolve_command(room(), rest)
    if hasattr(command, "commands"):
        return
    try:
        command.make_context(name, [*rest])
    except MissingParameter:
        if not all(word.startswith("-") for word in rest):
            raise


@cache
def problem(line: str) -> str:
    """Why the command line does not take it; empty if it does."""
    whole = PLACEHOLDER.sub(lambda word: PLACEHOLDERS[word[0]], filled(line, FILLINGS, A_WORD))
    try:
        parse(whole)
    except typer.Exit:
        return ""  # --help
    except ClickException as e:
        return e.format_message()
    return ""


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("lnad orders", "No such command"),
        ("land orders --again", "No such option"),
        ("rollback orders", "Missing"),
        ("up orders", "unexpected extra argument"),
        ("derive orders --accept-loss many", "integer"),
        ("schema compare orders", "No such command"),
    ],
)
def test_a_line_that_the_command_line_does_not_take_is_told(line: str, expected: str) -> None:
    assert expected in problem(line)


def test_each_command_that_the_code_tells_of_is_taken_by_the_command_line() -> None:
    wrong = [(t.where, line, why) for t in spoken() for line in commands(t.text) if (why := problem(line))]

    assert not wrong


def test_each_command_that_a_page_tells_of_is_taken_by_the_command_line() -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    lines = [(page.name, line) for page in pages for line in of_page(page.read_text())]
    wrong = [(page, line, why) for page, line in lines if (why := problem(line))]

    assert len(lines) > 300
    assert not wrong


def of_page(text: str) -> list[str]:
    """The commands of a page: those in its sentences, and those in its blocks for a shell."""
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    end = r"(?: > \S+| *#.*)?$"  # where its answer goes, or what is said of it
    typed = [line for block in blocks for line in re.findall(rf"^frazil (.*?){end}", block, re.MULTILINE)]
    return [*commands(text), *typed]


def test_each_command_that_the_code_tells_of_stands_in_backticks() -> None:
    names = "|".join(name for each in catalogues() for name in each.names)
    bare = re.compile(rf"(?<!`|\()\bfrazil ({names})\b")

    assert not [(t.where, t.text) for t in spoken() if bare.search(t.text)]


def test_what_stands_for_parts_of_commands_is_still_needed() -> None:
    met = {part for t in spoken() for line in commands(t.text) for part in FILLED.findall(line)}

    assert FILLINGS.keys() - met == set()


def settings_named(text: str) -> list[str]:
    """The settings in a sentence; `...` and what is filled in stand for any."""
    named = re.findall(r"\bFRAZIL_(?:[A-Z0-9_]|<\w+>|\x01[^\x02]*\x02|\.\.\.)+", text)
    return [filled(re.sub(r"<\w+>", "...", name), {}, "...") for name in named]


def is_setting(name: str) -> bool:
    known = {variable(path[:depth]) for path, _ in fields() for depth in (1, 2, 3)}.union(_NO_SETTINGS)
    pattern = re.compile(re.escape(name).replace(re.escape("..."), "[A-Z0-9_]+"))
    return any(map(pattern.fullmatch, known))


def is_sentence(text: str) -> bool:
    return " " in text


def test_each_setting_that_the_code_tells_of_is_one() -> None:
    named = [(t.where, name) for t in spoken() if is_sentence(t.text) for name in settings_named(t.text)]
    wrong = [(where, name) for where, name in named if name not in NO_SETTINGS and not is_setting(name)]

    assert len(named) > 50
    assert not wrong


@pytest.mark.parametrize("name", ["FRAZIL_KAFKA__TSL", "FRAZIL_KAFKAS__...", "FRAZIL_SPARK_MEMORY"])
def test_a_setting_that_there_is_not_is_told(name: str) -> None:
    assert not is_setting(name)


MODELS: list[type[BaseModel]] = [
    TableSpec, LandWhen, Budget, Write, Upkeep, DerivedSpec, Window, Feed, DeploymentSpec, Statement,
    Tableflow,
    Settings,
    OwnCheck,
]  # fmt: skip
NO_KEYS = {"access_key", "frazil_snowflake"}
"""Words before a colon in prose and in code."""

BEFORE_FIELDS = {("freshness", "auto")}
"""Lines that a table takes before its fields are read: tests/unit/upkeep/test_land_interval.py."""

KEY = re.compile(
    r"(?:(?<!\w)(?:[Ww]rite|[Ss]et|[Nn]eeds|with|add|or|and) |`)"
    r"([a-z_]+|\x01[^\x02]*\x02_[a-z]+): ([a-z][\w.]*)"
)


def keys() -> dict[str, list[Any]]:
    """What may stand behind each key: the types of all fields of that name."""
    by_key: dict[str, list[Any]] = {}
    for model in MODELS:
        for name, field in model.model_fields.items():
            by_key.setdefault(field.alias or name, []).append(field.annotation)
    return by_key


KEYS = keys()


def lines_to_write(text: str) -> list[tuple[str, str]]:
    """The lines of YAML that a text tells to write, such as `mode: upsert`; what is filled in is a half."""
    pairs = [(filled(key, {}, "value"), word.rstrip(".")) for key, word in KEY.findall(text)]
    return [(key, word) for key, word in pairs if key not in NO_KEYS and ("_" in key or key in KEYS)]


def may_stand(key: str, word: str) -> bool:
    """Whether such a line may stand in a file."""
    return (key, word) in BEFORE_FIELDS or any(_takes(annotation, word) for annotation in KEYS.get(key, ()))


def _takes(annotation: Any, word: str) -> bool:
    try:
        TypeAdapter(annotation).validate_python(word)
    except ValidationError:
        return False
    return True


def test_each_line_of_yaml_that_the_code_tells_to_write_may_stand_in_a_file() -> None:
    lines = [(t.where, *line) for t in spoken() for line in lines_to_write(t.text)]
    wrong = [(where, key, word) for where, key, word in lines if not may_stand(key, word)]

    assert len(lines) > 30
    assert not wrong


@pytest.mark.parametrize(
    "text",
    [
        "Write mode: apend.",
        "or set on_null_values: keep",
        "and value_shema: a.avsc",
        "add {half}_kind: x",
    ],
)
def test_a_line_of_yaml_that_no_file_takes_is_told(text: str) -> None:
    ((key, word),) = lines_to_write(text.replace("{half}", "\x01half\x02"))

    assert not may_stand(key, word)


NAME = re.compile(r"(?<![\w./{(<$])[a-z]+(?:_[a-z]+)+(?![\w(/.}])")
FUNCTIONS = {"try_cast", "try_divide", "make_valid_utf"}


def test_each_name_that_an_advice_gives_is_a_key_or_one_of_its_words() -> None:
    words = {str(word) for kinds in KEYS.values() for kind in kinds for word in _choices(kind)}
    named = {(file, name) for file, text in listed() for name in NAME.findall(text)}

    assert {(file, name) for file, name in named if name not in KEYS.keys() | words | FUNCTIONS} == set()


def _choices(annotation: Any) -> list[Any]:
    inner = get_args(annotation)
    return [*inner] if get_origin(annotation) is Literal else [w for a in inner for w in _choices(a)]
