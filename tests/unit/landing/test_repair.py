"""A repair function of the user's, found by name and called with care."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from frazil.errors import ConfigureError
from frazil.landing.repairs.dead_letters import DeadLetter
from frazil.landing.repairs.repair import find_repair, repaired

LETTER = DeadLetter("trades", 0, 7, None, None, b"k", b"v", None, "too_short", "why")
OTHER = replace(LETTER, offset=8)

MENDS = """
def shout(letter):
    return letter.raw_value.upper()

not_a_function = 1
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(text: str) -> str:
        name = f"mends_{tmp_path.name}"
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)
        return name

    return write


def test_a_function_is_found_by_module_and_name(module: Callable[[str], str]) -> None:
    repair = find_repair(f"{module(MENDS)}:shout")

    assert repaired([LETTER], repair) == [replace(LETTER, raw_value=b"V")]


@pytest.mark.parametrize("named", ["{m}:nothing", "{m}:not_a_function", "{m}", ":shout", "no_such_module:f"])
def test_a_name_that_names_no_function_is_told(module: Callable[[str], str], named: str) -> None:
    there = module(MENDS)

    with pytest.raises(ConfigureError, match="is no repair function") as refused:
        find_repair(named.format(m=there))

    assert "--with MODULE:FUNCTION" in refused.value.todo
    assert repaired([LETTER], find_repair(f"{there}:shout")) == [replace(LETTER, raw_value=b"V")]


def test_a_module_that_does_not_import_is_told_with_its_error(module: Callable[[str], str]) -> None:
    with pytest.raises(ConfigureError) as error:
        find_repair(f"{module('def (')}:f")

    assert "SyntaxError" in error.value.where


def test_none_leaves_the_dead_letter_as_it_is() -> None:
    assert repaired([LETTER, OTHER], lambda r: None if r.offset == 7 else b"new") == [
        replace(OTHER, raw_value=b"new")
    ]


def test_a_whole_record_may_be_given() -> None:
    assert repaired([LETTER], lambda r: replace(r, raw_key=b"new")) == [replace(LETTER, raw_key=b"new")]


@pytest.mark.parametrize(
    ("repair", "expected"),
    [
        (lambda _: "text", "it gives str"),
        (lambda _: OTHER, "it gives another record"),
        (lambda r: r.raw_value.nothing, "it raises AttributeError"),
    ],
)
def test_a_function_that_fails_is_told_with_the_record(repair: Any, expected: str) -> None:
    with pytest.raises(ConfigureError, match=expected) as error:
        repaired([LETTER], repair)

    assert error.value.where == "topic trades, partition 0, offset 7"
    assert error.value.todo == "Fix the function, and redrive again."
    assert repaired([LETTER], lambda r: r.raw_value.upper()) == [replace(LETTER, raw_value=b"V")]
