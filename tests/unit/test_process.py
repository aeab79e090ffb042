"""How many files a process may open, and the words for it where it may open no more."""

from __future__ import annotations

import errno
import subprocess
import sys

import pytest

from frazil.errors import FrazilError, OutOfFilesError, PartDownError, explain

RAISED = """
import resource
from frazil.process import raise_soft_limit
resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))
raise_soft_limit()
print(resource.getrlimit(resource.RLIMIT_NOFILE))
"""


@pytest.mark.parametrize(("soft", "hard", "raised"), [(1024, 4096, 4096), (256, 256, 256), (128, 1024, 1024)])
def test_the_soft_limit_is_raised_as_far_as_the_hard_one_allows(soft: int, hard: int, raised: int) -> None:
    code = RAISED.format(soft=soft, hard=hard)
    told = subprocess.check_output([sys.executable, "-c", code], text=True, timeout=300)
    assert told.strip() == f"({raised}, {hard})"


def test_what_ran_out_is_named_though_a_client_says_that_its_server_does_not_answer() -> None:
    error = known_error(lambda: os_error("[Errno 24] Too many open files"))

    assert isinstance(error, OutOfFilesError)
    assert "LimitNOFILE" in error.todo
    assert "Kafka does not answer." in error.where


def test_a_fault_of_ours_with_its_number_is_named() -> None:
    assert isinstance(explain(OSError(errno.EMFILE, "x")), OutOfFilesError)


def test_a_server_that_does_not_answer_is_told_as_before() -> None:
    assert known_error(lambda: os_error("Connection refused")).what == "Kafka does not answer."


WITHOUT_A_WORD = """
import os, resource
from frazil.errors import PartDownError, explain
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
held = []
try:
    while True:
        held.append(os.open(os.devnull, os.O_RDONLY))
except OSError:
    pass
error = explain(PartDownError("Kafka does not answer."))
[os.close(each) for each in held]
print(type(error).__name__)
"""


def test_it_is_named_where_a_client_says_no_word_of_it() -> None:
    told = subprocess.check_output([sys.executable, "-c", WITHOUT_A_WORD], text=True, timeout=300)
    assert told.strip() == "OutOfFilesError"


def os_error(text: str) -> None:
    raise ConnectionError(text)


def known_error(call: object) -> FrazilError:
    """What is told of a client's error that was translated, as everywhere, without its cause."""
    assert callable(call)
    try:
        try:
            call()
        except OSError:
            raise PartDownError("Kafka does not answer.") from None
    except PartDownError as e:
        return explain(e)
    raise AssertionError("nothing was raised")
