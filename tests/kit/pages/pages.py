"""A page of the docs, done block by block as a reader would: files are written, commands run in one shell."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil

from kit.runs.waiting import PATIENCE, wait_for
from kit.stack.dagster_servers import end

DBT = "docs/dbt.md"

RUN = (
    "README.md", "docs/tutorial.md", "docs/json.md", "docs/python.md", "docs/own_assets.md",
    "docs/downstream.md", DBT,
)  # fmt: skip
"""The pages of which a test runs every block of a shell: tests/stack/docs/test_pages.py, or test_dbt.py."""

_BLOCK = re.compile(r"^```(\w+)(?: title=\"(.*?)\")?\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """`sh` is run, `text` is what the run before it says, and what has a title is a file.

    `console` is what a person watches, line by line.
    """

    language: str
    title: str
    text: str


def blocks_of(page: Path) -> list[Block]:
    return [Block(*block.groups(default="")) for block in _BLOCK.finditer(page.read_text())]


@dataclass(frozen=True, slots=True)
class Reader:
    """Somebody who does what a page says; variables and the folder outlive a block, as in a shell."""

    start: Path
    scratch: Path
    environment: Mapping[str, str]

    def do(self, page: Path, *, left_out: Sequence[str] = ()) -> list[str]:
        """Does all blocks in order; returns what each run said. Fails where a command does.

        Args:
            left_out: Lines of `console` blocks that are not run, each of which must be there.
        """
        outputs: list[str] = []
        left = [*left_out]
        for block in blocks_of(page):
            if block.title:
                self._write(block)
            elif block.language == "sh":
                outputs.append(self._run(block.text))
            elif block.language == "console":
                left = self._watch(block, left)
            elif block.language == "text":
                lines = [" ".join(line.split()) for line in outputs[-1].splitlines()]
                assert [line for line in block.text.splitlines() if line not in lines] == [], outputs[-1]
        assert left == []
        return outputs

    def _write(self, block: Block) -> None:
        file = self._folder / block.title
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(block.text)

    def _watch(self, block: Block, left_out: Sequence[str]) -> list[str]:
        """Runs each line but those to be left out; returns the ones of these that it did not meet."""
        met = []
        for line in block.text.splitlines():
            command, comment = (part.strip() for part in line.partition(" # ")[::2])
            if command in left_out:
                met.append(command)
            elif comment == "until Ctrl-C":
                self._serve(command)
            else:
                self._run(command)
        return [command for command in left_out if command not in met]

    def _run(self, text: str) -> str:
        kept = f"export -p > {self._variables}\npwd > {self.scratch}/folder\n"
        with self._shell(f"{text}\n{kept}") as shell:
            output, _ = shell.communicate(timeout=PATIENCE)
        assert shell.returncode == 0, f"{text}\n{output}"
        return output

    def _serve(self, command: str) -> None:
        """Runs a server until it says that it serves, and then ends it as a person does."""
        log = self.scratch / "served"
        with log.open("wb") as out, self._shell(f"exec {command}", out) as shell:
            wait_for(lambda: "Serving " in log.read_text() or shell.poll() is not None)
            assert shell.poll() is None, log.read_text()
            end(psutil.Process(shell.pid))

    def _shell(self, text: str, out: IO[bytes] | int = subprocess.PIPE) -> subprocess.Popen[str]:
        self._variables.touch()
        return subprocess.Popen(
            ["bash", "-c", f"set -eo pipefail\n. {self._variables}\n{text}"],
            cwd=self._folder,
            env={**os.environ, **self.environment},
            stdout=out,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,  # a background job of a shell would ignore SIGINT
        )

    @property
    def _variables(self) -> Path:
        return self.scratch / "variables"

    @property
    def _folder(self) -> Path:
        noted = self.scratch / "folder"
        return Path(noted.read_text().strip()) if noted.exists() else self.start
