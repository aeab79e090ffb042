"""Each line that an error tells people to type is taken by its command: only servers that are down end it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from frazil.cli.commands import catalogues
from frazil.clients import Clients
from frazil.errors import PartDownError
from kit.pages.advice import listed
from kit.runs.shell import TABLES, Command

OF_TABLES = {name for each in catalogues() for name in each.names} - {
    "up", "down", "status", "logs", "env", "deploy", "rotate", "graph", "demo", "generate", "doctor",
    "forget",
}  # fmt: skip
"""Commands about tables; the others are about the stack and the clouds, or need a condition of the user's."""


PLACES = {"{}", "TABLE", "NAME", "P", "SNAPSHOT"}
"""Words in the place of those that a reader puts there."""


def lines() -> list[str]:
    """The lines of all listed advice, with a table of their kind in the place of what is filled in."""
    advised = {line for _, text in listed() for line in re.findall(r"`frazil ([^`]+)`", text) if " " in line}
    return sorted(filter(None, map(_typed, advised)))


def _typed(line: str) -> str:
    command, *rest = line.split()
    if command not in OF_TABLES or all(word.startswith("-") for word in rest):
        return ""
    table = "totals" if command == "derive" else "orders"
    values = {
        "--pipeline": "shop", "--snapshot": "7", "--to": "7", "--accept-loss": "7", "--from": "s3://lake/shop",
    }  # fmt: skip
    fills = (values.get(before, table) for before in [command, *rest])
    return " ".join(
        [command, *(fill if word in PLACES else word for fill, word in zip(fills, rest, strict=False))]
    )


@pytest.fixture
def servers_are_down(monkeypatch: pytest.MonkeyPatch) -> None:
    def down(_: Clients) -> Any:
        raise PartDownError("It is down.")

    for part in ("admin", "registry", "catalog", "spark", "background_spark"):
        monkeypatch.setattr(Clients, part, property(down))


@pytest.fixture
def shop(pipelines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # what a line makes, such as a repository, is made here
    (pipelines / "shop" / "totals.sql").write_text("SELECT count(*) AS n FROM orders")
    table = {"table": "totals", "sql": "totals.sql", "kind": "full"}
    made = {"type": TABLES, "attributes": {"tables": [table]}}
    with (pipelines / "shop" / "defs.yaml").open("a") as file:
        file.write("---\n" + yaml.safe_dump(made))


@pytest.mark.usefixtures("servers_are_down", "shop")
@pytest.mark.parametrize("line", lines())
def test_it_is_no_usage_error(frazil: Command, line: str) -> None:
    result = frazil(*shlex.split(line))

    assert result.code != 2, result.err
    assert "fault of Frazil" not in result.err
