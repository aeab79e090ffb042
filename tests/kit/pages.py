"""A page of the docs, done block by block as a reader would: files are written, commands run in one shell."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kit.waiting import PATIENCE

_BLOCK = re.compile(r"^```(\w+)(?: title=\"(.*?)\")?\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """`sh` is run, `text` is what the run before it says, and what has a title is a file."""

    language: str
    title: str
    text: str


def blocks_of(page: Path) -> list[Block]:
    return [Block(*found.groups(default="")) for found in _BLOCK.finditer(page.read_text())]


@dataclass(frozen=True, slots=True)
class Reader:
    """Somebody who does what a page says; variables and the folder outlive a block, as in a shell."""

    start: Path
    scratch: Path
    environment: Mapping[str, str]

    def do(self, page: Path) -> list[str]:
        """Does all blocks in order; returns what each run said. Fails where a command does."""
        said: list[str] = []
        for block in blocks_of(page):
            if block.title:
                self._write(block)
            elif block.language == "sh":
                said.append(self._run(block.text))
            elif block.language == "text":
                lines = [" ".join(line.split()) for line in said[-1].splitlines()]
                assert [line for line in block.text.splitlines() if line not in lines] == [], said[-1]
        return said

    def _write(self, block: Block) -> None:
        file = self._folder / block.title
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(block.text)

    def _run(self, text: str) -> str:
        state = self.scratch / "variables"
        state.touch()
        script = f"set -eo pipefail\n. {state}\n{text}\nexport -p > {state}\npwd > {self.scratch}/folder\n"
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self._folder,
            env={**os.environ, **self.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, f"{text}\n{done.stdout}"
        return done.stdout

    @property
    def _folder(self) -> Path:
        noted = self.scratch / "folder"
        return Path(noted.read_text().strip()) if noted.exists() else self.start
