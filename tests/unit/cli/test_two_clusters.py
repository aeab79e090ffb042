"""Commands work on the tables of several connections side by side."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from frazil.cli.main import run
from frazil.cli.selection import select
from kit.stack.clusters import EU, Lake, lake_in, write_clusters

SCHEMA = Schema(NestedField(1, "id", LongType(), required=False))

Frazil = Callable[..., Any]


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lake]:
    monkeypatch.setenv("FRAZIL_PIPELINES", str(write_clusters(tmp_path / "teams")))
    monkeypatch.setenv("FRAZIL_CONNECTIONS", json.dumps({EU: {}}))
    with lake_in(tmp_path / "lake") as lake:
        yield lake


@pytest.fixture
def frazil(lake: Lake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Frazil:
    """What a command says with --json; each catalog holds the table `orders` of its own cluster."""
    monkeypatch.setattr("frazil.cli.selection.Clients", lambda _: lake)
    for spec, names in select(["local.orders", "orders_eu.orders"], every=False).pairs:
        lake.of(spec).catalog.create_namespace(names.table.namespace)
        lake.of(spec).catalog.create_table(names.table.identifier, SCHEMA)

    def frazil(*arguments: str) -> Any:
        monkeypatch.setattr(sys, "argv", ["frazil", *arguments, "--json"])
        with pytest.raises(SystemExit):
            run()
        return json.loads(capsys.readouterr().out)

    return frazil


def test_a_census_looks_into_each_catalog(frazil: Frazil) -> None:
    assert [census["table"] for census in frazil("census")] == ["local.orders", "orders_eu.orders"]


def test_upkeep_works_in_each_catalog(frazil: Frazil) -> None:
    reports = frazil("expire", "local.orders", "orders_eu.orders")

    assert {report["table"]: report.get("error") for report in reports} == {
        "local.orders": None, "orders_eu.orders": None,
    }  # fmt: skip
