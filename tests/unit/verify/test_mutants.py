"""A bug that `make mutants` plants has its place in the engine, a test that fails, and a line on a page."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from kit.mutants.every import MUTANTS
from kit.mutants.mutant import ENGINE, Copy, Mutant

REFUSED = "nothing: the engine refuses its own work"

PAGE = (ENGINE.parents[1] / "docs" / "guarantees.md").read_text()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda each: each.name)
def test_a_mutant_changes_one_place_of_the_engine_and_the_page_says_what_is_found(mutant: Mutant) -> None:
    sound = (ENGINE / mutant.file).read_text()

    assert ast.dump(ast.parse(mutant.planted(sound))) != ast.dump(ast.parse(sound))
    finds, (file, _, _) = ", ".join(f"`{each}`" for each in mutant.finds), mutant.caught.partition("::")
    assert f"| {mutant.name} | {finds or REFUSED} | `{file}` |" in PAGE


@pytest.mark.each_time("the next landing begins one offset early")
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda each: each.name)
def test_a_test_without_servers_fails_with_the_bug(mutant: Mutant, tmp_path: Path) -> None:
    copy = Copy(tmp_path)
    copy.make()
    copy.plant(mutant)

    assert copy.fails(mutant.caught)


def test_a_text_that_is_not_there_or_twice_is_an_error() -> None:
    twice = Mutant("two", "append", "landing/plan.py", "a", "b", ("altered",), "")

    for text in ("", "aa"):
        with pytest.raises(ValueError, match="two"):
            twice.planted(text)


def test_the_verifier_finds_something_of_thirty() -> None:
    names = Counter(mutant.name for mutant in MUTANTS if mutant.finds)

    assert len(names) >= 30
    assert {*Counter(mutant.name for mutant in MUTANTS).values()} == {1}
