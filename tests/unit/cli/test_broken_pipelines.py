"""Commands beside a broken pipeline: they go on, tell of it, and end with its exit code."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from frazil.cli.main import run
from kit.graph.mixed import BROKEN, TABLES, write_mixed
from kit.stack.clusters import Lake, lake_in

Frazil = Callable[..., tuple[int, str, str]]
"""Exit code, what is on stdout and on stderr."""


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    with lake_in(tmp_path / "lake") as lake:
        yield lake


@pytest.fixture
def frazil(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Frazil:
    monkeypatch.setenv("FRAZIL_PIPELINES", str(write_mixed(tmp_path / "teams")))
    monkeypatch.setattr("frazil.cli.selection.Clients", lambda _: lake)

    def frazil(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["frazil", *arguments])
        with pytest.raises(SystemExit) as end:
            run()
        return (int(end.value.code or 0), *capsys.readouterr())

    return frazil


def test_all_tables_of_sound_pipelines_are_done_and_the_broken_ones_told(frazil: Frazil) -> None:
    code, out, err = frazil("sync", "--all", "--json")

    rows: list[dict[str, Any]] = json.loads(out)
    assert code == 2
    assert sorted(row["table"] for row in rows if "error" not in row) == TABLES
    assert {row["table"] for row in rows if "error" in row} == {f"pipelines/{name}" for name in BROKEN}
    assert all(line in err for lines in BROKEN.values() for line in lines)


def test_a_table_of_a_sound_pipeline_alone_just_works(frazil: Frazil) -> None:
    code, out, err = frazil("sync", "orders", "--json")

    assert (code, json.loads(out), err) == (0, [{"table": "local.orders"}], "")


@pytest.mark.parametrize("table", ["f", "few", "late", "b"])
def test_a_table_of_a_broken_pipeline_is_refused_with_what_is_broken(frazil: Frazil, table: str) -> None:
    code, _, err = frazil("sync", table)

    assert code == 2
    assert f"No pipeline that can be used has a table local.{table}." in err
    assert BROKEN["query"][0] in err


def test_upkeep_goes_on(frazil: Frazil) -> None:
    code, _, err = frazil("compact", "--all", "--dry-run")

    assert code == 2
    assert BROKEN["key"][0] in err


@pytest.mark.parametrize("command", ["tables", "lag", "census", "check --all", "land --all", "derive --all"])
def test_every_command_for_all_tables_tells_of_the_broken_ones(frazil: Frazil, command: str) -> None:
    code, _, err = frazil(*command.split())

    assert code in (2, 5)  # Kafka is silent
    assert BROKEN["key"][0] in err
    assert BROKEN["ring"][0] in err


def test_in_a_strict_profile_nothing_is_done(frazil: Frazil, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRAZIL_STRICT", "true")

    code, out, err = frazil("sync", "orders", "--json")

    assert code == 2
    assert BROKEN["key"][0] in json.loads(out)["error"]["what"]
    assert BROKEN["key"][0] in err
