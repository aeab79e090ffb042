"""The `frazil` command as scripts and people run it, with a folder of pipelines of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any, Protocol

import pytest
import yaml

from frazil.cli.main import run
from kit.runs.waiting import PATIENCE

TOPICS, TABLES = "assets.topic_tables.TopicTables", "assets.derived_tables.DerivedTables"
FRAZIL = Path(sys.executable).with_name("frazil")
NAMESPACE = "cli_tests"


@dataclass(frozen=True, slots=True)
class Output:
    """What one command said."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """Fails where stdout is anything but one JSON document."""
        return json.loads(self.out)

    @property
    def is_clear(self) -> bool:
        """A failure in words, with a next step and no trace; on stdout the error's document at most."""
        is_document = not self.out or self.document.keys() == {"error", "exit_code"}
        return "  Next: " in self.err and "Traceback" not in self.err and is_document


@dataclass(frozen=True, slots=True)
class Shell:
    """A shell with a folder of pipelines of its own."""

    pipelines: Path

    def write(
        self, *tables: dict[str, Any], name: str = "one", derived: Sequence[dict[str, Any]] = ()
    ) -> Path:
        """A pipeline of tables made of topics, and of tables made of others: there `sql` is the query."""
        file = self.pipelines / name / "defs.yaml"
        file.parent.mkdir()
        for table in derived:
            (file.parent / f"{table['table']}.sql").write_text(table["sql"])
        queries = [{**table, "sql": f"{table['table']}.sql"} for table in derived]
        documents = [
            {"type": kind, "attributes": {"tables": [{"namespace": NAMESPACE, **table} for table in of_kind]}}
            for kind, of_kind in ((TOPICS, tables), (TABLES, queries))
            if of_kind
        ]
        file.write_text(yaml.safe_dump_all(documents, sort_keys=False))
        return file

    def __call__(self, *arguments: str, **environment: str) -> Output:
        done = subprocess.run(
            [FRAZIL, *arguments],
            env={**os.environ, "FRAZIL_PIPELINES": str(self.pipelines), **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        return Output(done.returncode, done.stdout, done.stderr)


class Streams(Protocol):
    """Where this process writes; pytest's `capsys` is one."""

    def readouterr(self) -> tuple[str, str]:
        """What was written to stdout and to stderr since it was asked last."""


@dataclass(frozen=True, slots=True)
class Command:
    """The command in this process: another one takes seconds to import what it needs."""

    patch: pytest.MonkeyPatch
    capture: Streams

    def __call__(self, *arguments: str, **environment: str) -> Output:
        self.capture.readouterr()  # what the test itself said before
        with self.patch.context() as patch:
            code = _run(patch, arguments, environment)
        return Output(code, *self.capture.readouterr())


def run_here(*arguments: str, **environment: str) -> Output:
    """The command in this process, where no test captures what it says."""
    out, err = StringIO(), StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        code = _run(patch, arguments, environment)
    return Output(code, out.getvalue(), err.getvalue())


def _run(patch: pytest.MonkeyPatch, arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Runs the command in this process; its exit code."""
    patch.setattr(sys, "argv", ["frazil", *arguments])
    for name, value in environment.items():
        patch.setenv(name, value)
    with pytest.raises(SystemExit) as ended:
        run()
    return int(ended.value.code or 0)
