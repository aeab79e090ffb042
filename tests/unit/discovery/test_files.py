"""What `frazil discover --write` writes, and what it does not write over."""

from __future__ import annotations

from pathlib import Path

import pytest

from frazil.cli.authoring.discover import _own_folder
from frazil.discovery.files import write_pipelines
from frazil.discovery.findings import Finding
from frazil.discovery.halves import Proposal
from frazil.errors import UsageError
from frazil.pipelines.folder import load_pipelines
from frazil.settings.profile import Settings


def finding(topic: str) -> Finding:
    table = {"topic": topic, "value_schema": "orders.json", "framing": "none"}
    return Finding(topic, 1, 1, 1, 1, None, (Proposal(table, {"orders.json": '{"type": "object"}'}),))


def test_a_pipeline_is_read_as_it_was_written(tmp_path: Path) -> None:
    files = write_pipelines(tmp_path, [finding("shop.orders")])

    assert [str(file.relative_to(tmp_path)) for file in files] == [
        "shop_orders/defs.yaml",
        "shop_orders/orders.json",
    ]
    (pipeline,) = load_pipelines([tmp_path], Settings()).all()
    assert [spec.topic for spec in pipeline.tables] == ["shop.orders"]


def test_a_folder_that_is_there_stays_and_topics_that_have_none_are_written(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()

    with pytest.raises(UsageError, match="is there already") as refused:
        write_pipelines(tmp_path, [finding("a"), finding("b")])

    assert not (tmp_path / "b").exists()
    assert "name the topics that have none" in refused.value.todo
    assert len(write_pipelines(tmp_path, [finding("b")])) == 2


def test_where_nothing_can_be_written_another_folder_will_do(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(UsageError, match="can't be written") as refused:
        write_pipelines(tmp_path / "file", [finding("a")])

    assert "FRAZIL_PIPELINES" in refused.value.todo
    assert len(write_pipelines(tmp_path / "other", [finding("a")])) == 2


def test_pipelines_are_written_to_a_folder_of_ones_own_only(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no folder to write") as refused:
        _own_folder(Settings(pipelines=""))

    assert "FRAZIL_PIPELINES" in refused.value.todo
    assert _own_folder(Settings(pipelines=str(tmp_path))) == tmp_path
