"""How many files a process may open, what is said where it may open no more, what a worker looks through."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

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
    output = subprocess.check_output([sys.executable, "-c", code], text=True, timeout=300)
    assert output.strip() == f"({raised}, {hard})"


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
    output = subprocess.check_output([sys.executable, "-c", WITHOUT_A_WORD], text=True, timeout=300)
    assert output.strip() == "OutOfFilesError"


WORKER = """
import gc, importlib, sys
from importlib.metadata import version
import pyarrow
from frazil.tables.writing.task import begin_task

opened, zipped = [], sys.argv[1]
sys.path.insert(0, zipped)
import package.first
sys.addaudithook(lambda event, args: opened.append(args[0]) if event == "open" else None)

def next_task():
    opened.clear()
    importlib.invalidate_caches()
    return zipped in opened

before = next_task()
begin_task(version("frazil"))
import package.second
begin_task(version("frazil"))
known = gc.get_freeze_count()
begin_task(version("frazil"))
print(before, next_task(), known > 10_000, gc.get_freeze_count() <= known)
"""


def test_between_two_tasks_a_worker_reads_no_zip_file_and_looks_at_no_module(tmp_path: Path) -> None:
    with ZipFile(tmp_path / "pyspark.zip", "w") as file:
        for name in ("__init__", "first", "second"):
            file.writestr(f"package/{name}.py", "")
    command = [sys.executable, "-c", WORKER, str(tmp_path / "pyspark.zip")]

    output = subprocess.check_output(command, text=True, timeout=300)

    assert output.split() == ["True", "False", "True", "True"]


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
