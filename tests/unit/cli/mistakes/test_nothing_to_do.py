"""What would do nothing says so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import NestedField, StringType

from kit.runs.shell import Command
from kit.stack.clusters import Lake, lake_in


@pytest.fixture
def lake(frazil: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lake]:
    with lake_in(tmp_path / "lake") as lake:
        monkeypatch.setattr("frazil.cli.selection.Clients", lambda _: lake)
        lake.catalog.create_namespace("local")
        lake.catalog.create_table("local.orders", Schema(NestedField(1, "id", StringType())))
        yield lake


@pytest.mark.usefixtures("lake")
def test_a_filter_that_names_no_column_of_dead_letters_is_refused_before_there_are_any(
    frazil: Command,
) -> None:
    result = frazil("redrive", "orders", "--where", "because = 'schema_id'")

    assert result.code == 2
    assert result.is_clear
    assert "\"because = 'schema_id'\" is no filter over dead letters." in result.err
    assert "reason_code" in result.err


@pytest.mark.usefixtures("lake")
def test_a_table_that_is_not_suspended_is_not_resumed(frazil: Command) -> None:
    result = frazil("resume", "orders")

    assert result.code == 1
    assert result.is_clear
    assert "Table local.orders is neither suspended nor paused.\n  Data: Nothing was done." in result.err
    assert "`frazil land local.orders`" in result.err
