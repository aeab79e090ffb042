"""Each thing that an error tells its reader to do is known, with the test that does it, if there is one."""

from __future__ import annotations

from kit.advice import NONE, ROOT, advice, listed

UNTRIED = 322
"""Pieces of advice that no test follows yet. This number only falls."""


def test_advice_that_is_new_is_listed_with_the_test_that_follows_it() -> None:
    new = sorted(advice() - listed().keys())
    assert not new, "write a test that does it, and list both: python tests/kit/advice.py"


def test_advice_that_nobody_gives_any_more_is_not_listed() -> None:
    assert not sorted(listed().keys() - advice()), "python tests/kit/advice.py"


def test_the_tests_that_follow_advice_are_there() -> None:
    named = {test for test in listed().values() if test != NONE}
    missing = []
    for each in sorted(named):
        file, _, function = each.partition("::")
        if not (ROOT / file).exists() or f"def {function}(" not in (ROOT / file).read_text():
            missing.append(each)
    assert not missing


def test_no_advice_is_added_without_a_test() -> None:
    assert sum(test == NONE for test in listed().values()) <= UNTRIED
