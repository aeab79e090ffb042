"""Each thing that an error tells its reader to do is known, with the test that does it, if there is one."""

from __future__ import annotations

import re

import pytest

from kit.pages.advice import ELSEWHERE, LOOKS, NONE, ROOT, advice, listed

UNTRIED = 0
"""Pieces of advice that no test follows yet. This number only falls."""

NAMES_SOMETHING = re.compile(
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
"""What can be followed here, to a wrong end as well: what is done elsewhere has none of it."""

LOOKING = re.compile(
    r"`frazil (status|up|doctor|tables|describe|check|lag|logs)( (TABLE|\{\}))?`"
    r"|\bFRAZIL_[A-Z]+__(\.\.\.|[A-Z_]+)"
)
"""Commands that change no table, and settings, which `test_spoken_names.py` knows to be there."""


def test_advice_that_is_new_is_listed_with_the_test_that_follows_it() -> None:
    new = sorted(advice() - listed().keys())
    assert not new, "write a test that does it, and list both: python tests/kit/pages/advice.py"


def test_advice_that_nobody_gives_any_more_is_not_listed() -> None:
    assert not sorted(listed().keys() - advice()), "python tests/kit/pages/advice.py"


def test_the_tests_that_follow_advice_are_there() -> None:
    named = {t for t in listed().values() if t not in (NONE, LOOKS) and not t.startswith(ELSEWHERE)}
    missing = []
    for each in sorted(named):
        file, _, function = each.partition("::")
        if not (ROOT / file).exists() or f"def {function}(" not in (ROOT / file).read_text():
            missing.append(each)
    assert not missing


def test_what_is_done_elsewhere_names_no_command_no_setting_no_key_and_nothing_that_goes() -> None:
    reasons = {text: test for (_, text), test in listed().items() if test.startswith(ELSEWHERE)}

    assert [text for text in reasons if NAMES_SOMETHING.search(text)] == []
    assert [reason for reason in reasons.values() if len(reason.split()) < 5] == []


def test_what_only_looks_names_no_command_that_changes_a_table_and_nothing_besides() -> None:
    looking = [text for (_, text), test in listed().items() if test == LOOKS]

    assert [text for text in looking if NAMES_SOMETHING.search(LOOKING.sub("", text))] == []
    assert [text for text in looking if not LOOKING.search(text)] == []


@pytest.mark.parametrize(
    "text",
    [
        "`frazil land orders` lands it.", "Leave --past out.", "Fix FRAZIL_PROFILE.", "Fix metadata_names.",
        "Write mode: append.", "{} lands them.", "Drop the table.", "GRANT ROLE a TO USER b;",
    ],
)  # fmt: skip
def test_what_names_something_is_followed(text: str) -> None:
    assert NAMES_SOMETHING.search(text)


@pytest.mark.parametrize("text", ["Try again.", "Fix the file; docs/spec.md helps.", "Fix the query."])
def test_what_names_nothing_may_be_done_elsewhere(text: str) -> None:
    assert not NAMES_SOMETHING.search(text)


def test_no_advice_is_added_without_a_test() -> None:
    assert sum(test == NONE for test in listed().values()) <= UNTRIED
