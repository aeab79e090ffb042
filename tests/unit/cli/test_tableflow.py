"""Commands where a topic is Tableflow's: what is looked at, what is refused, and how it moves."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.sql import SqlCatalog

from frazil.cli.main import run
from kit.deployments.tableflow import CLUSTER, TOPIC, Logs, Tableflow, clients

PIPELINE = f"""\
type: assets.topic_tables.TopicTables
attributes:
  tables:
    - {{topic: {TOPIC}, mode: tableflow, publish: []}}
    - {{topic: {TOPIC}, metadata: full, namespace: trading, publish: []}}
"""
THEIRS, OURS = f"{CLUSTER}.{TOPIC}", "trading.stock_trades"

Frazil = Callable[..., tuple[int, Any, str]]


@pytest.fixture
def tableflow(tmp_path: Path, topics_end_with_records: None) -> Tableflow:
    """Tableflow has landed 45 records."""
    catalog = SqlCatalog("glue", uri=f"sqlite:///{tmp_path}/catalog.sqlite", warehouse=tmp_path.as_uri())
    made = Tableflow(catalog, tmp_path.as_uri())
    made.enable()
    made.commit({0: (0, 30), 1: (5, 20)})
    return made


@pytest.fixture
def frazil(
    tableflow: Tableflow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Frazil:
    """Exit code, document and stderr of a command with --json."""
    (tmp_path / "pipelines" / "trading").mkdir(parents=True)
    (tmp_path / "pipelines" / "trading" / "defs.yaml").write_text(PIPELINE)
    monkeypatch.setenv("FRAZIL_PIPELINES", str(tmp_path / "pipelines"))
    monkeypatch.setenv("FRAZIL_KAFKA__CLUSTER_ID", CLUSTER)
    connections = clients(tableflow.catalog, Logs(spans={0: (0, 40), 1: (5, 20)}))
    monkeypatch.setattr("frazil.cli.selection.Clients", lambda _: connections)

    def frazil(*arguments: str) -> tuple[int, Any, str]:
        monkeypatch.setattr(sys, "argv", ["frazil", *arguments, "--json"])
        with pytest.raises(SystemExit) as end:
            run()
        captured = capsys.readouterr()
        return int(end.value.code or 0), json.loads(captured.out or "null"), captured.err

    return frazil


def test_it_stands_in_the_list_with_its_lag(frazil: Frazil) -> None:
    code, states, _ = frazil("tables")

    assert code == 0
    assert {s["identifier"]: (s["mode"], s["rows"], s["lag"]) for s in states} == {
        THEIRS: ("tableflow", 45, 10),
        OURS: ("append", 0, 55),
    }


@pytest.mark.parametrize("command", ["land", "compact", "expire", "orphans", "resume", "redrive", "release"])
def test_no_command_writes_it(frazil: Frazil, tableflow: Tableflow, command: str) -> None:
    before = tableflow.table.metadata_location

    code, _, message = frazil(command, THEIRS)

    assert code == 1
    assert f"Tableflow writes {THEIRS}" in message
    assert tableflow.table.metadata_location == before


def test_work_for_all_tables_passes_it_over(frazil: Frazil) -> None:
    frazil("adopt", OURS, "--tableflow-is-off")

    code, reports, _ = frazil("expire", "--all")

    assert (code, [r["table"] for r in reports]) == (0, [OURS])


def test_whoever_adopts_it_must_say_that_tableflow_is_off(frazil: Frazil, tableflow: Tableflow) -> None:
    code, _, message = frazil("adopt", OURS)

    assert code == 1
    assert "--tableflow-is-off" in message
    assert "Do not where Confluent stores the table" in message
    assert not tableflow.catalog.table_exists(("trading", "stock_trades"))

    code, adopted, _ = frazil("adopt", OURS, "--tableflow-is-off")
    assert (code, adopted["rows"]) == (0, 45)


def test_a_topic_is_adopted_and_released(frazil: Frazil) -> None:
    code, adopted, _ = frazil("adopt", OURS, "--tableflow-is-off")
    assert code == 0
    assert (adopted["source"], adopted["rows"], adopted["position"]) == (THEIRS, 45, {"0": 30, "1": 20})

    code, released, _ = frazil("release", OURS)
    assert code == 0
    assert (released["both"], released["only_here"]) == (45, 0)

    code, _, message = frazil("land", OURS, "--no-sync")
    assert code == 1
    assert f"`frazil resume {OURS}`" in message
