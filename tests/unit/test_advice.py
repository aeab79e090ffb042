"""Each thing that an error tells its reader to do is known, with the test that does it, if there is one."""

from __future__ import annotations

import re

import pytest

from kit.advice import LOOKS, NONE, PLAIN, ROOT, advice, listed

UNTRIED = 0
"""Pieces of advice that no test follows yet, and that are not plain. This number only falls."""

NOT_PLAIN = re.compile(
    r"""
    ` | (?<!\w)--\w | FRAZIL_          # a command, an option, a setting
    | \w_\w | (?<=\w):\ \w+\b(?![\ /]) # a key of YAML, or a line of it
    | [{<]                             # what is filled in: nobody tells what it names
    | \b[A-Z]{3,}\ [A-Z]                # SQL
    | \b([Dd]rop|[Dd]elete|[Rr]emove|[Ee]mpty|[Ss]kip|[Rr]eset|[Uu]nset|[Oo]verwrite|[Rr]ebuild)\b
    | \b[Rr]oll\ back\ to\b
    """,
    re.VERBOSE,
)
"""What can be followed to a wrong end. What is plain has none of it."""

LOOKING = re.compile(
    r"`frazil (status|up|doctor|tables|describe|check|lag|logs)( (TABLE|\{\}))?`"
    r"|\bFRAZIL_[A-Z]+__(\.\.\.|[A-Z_]+)"
)
"""Commands that change no table, and settings, which `test_spoken_names.py` knows to be there."""


def test_advice_that_is_new_is_listed_with_the_test_that_follows_it() -> None:
    new = sorted(advice() - listed().keys())
    assert not new, "write a test that does it, and list both: python tests/kit/advice.py"


def test_advice_that_nobody_gives_any_more_is_not_listed() -> None:
    assert not sorted(listed().keys() - advice()), "python tests/kit/advice.py"


def test_the_tests_that_follow_advice_are_there() -> None:
    named = {test for test in listed().values() if test not in (NONE, PLAIN, LOOKS)}
    missing = []
    for each in sorted(named):
        file, _, function = each.partition("::")
        if not (ROOT / file).exists() or f"def {function}(" not in (ROOT / file).read_text():
            missing.append(each)
    assert not missing


def test_what_is_plain_names_no_command_no_setting_no_key_and_nothing_that_goes() -> None:
    assert [text for (_, text), test in listed().items() if test == PLAIN and NOT_PLAIN.search(text)] == []


def test_what_only_looks_names_no_command_that_changes_a_table_and_is_plain_besides() -> None:
    looking = [text for (_, text), test in listed().items() if test == LOOKS]

    assert [text for text in looking if NOT_PLAIN.search(LOOKING.sub("", text))] == []
    assert [text for text in looking if not LOOKING.search(text)] == []


@pytest.mark.parametrize(
    "text",
    [
        "`frazil land orders` lands it.", "Leave --past out.", "Mend FRAZIL_PROFILE.", "Mend metadata_names.",
        "Write mode: append.", "{} lands them.", "Drop the table.", "GRANT ROLE a TO USER b;",
    ],
)  # fmt: skip
def test_what_names_something_is_not_plain(text: str) -> None:
    assert NOT_PLAIN.search(text)


@pytest.mark.parametrize("text", ["Try again.", "Mend the file; docs/spec.md helps.", "Mend the query."])
def test_what_names_nothing_is_plain(text: str) -> None:
    assert not NOT_PLAIN.search(text)


def test_no_advice_is_added_without_a_test() -> None:
    assert sum(test == NONE for test in listed().values()) <= UNTRIED
