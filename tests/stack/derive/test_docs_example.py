"""What docs/derive.md shows is enough: one SQL file, and at most eight lines of YAML."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

from frazil.connections import Connections
from kit.runs.shell import Command

PAGE = Path(__file__).parents[3] / "docs/derive.md"
TOPICS = """\
type: assets.topic_tables.TopicTables
attributes:
  tables:
    - topic: orders
"""


def first(language: str) -> str:
    """The page's first block of code in a language."""
    block = re.search(rf"^```{language}\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert block
    return block[1]


@pytest.fixture
def namespace(connections: Connections, fresh_name: str) -> str:
    """A namespace where the table of orders is, as a landing would have filled it."""
    connections.catalog.create_namespace(fresh_name)
    orders = pa.table({"order_id": ["a", "b", "c"], "amount": [999, 1001, None]})
    connections.catalog.create_table((fresh_name, "orders"), orders.schema).append(orders)
    return fresh_name


@pytest.fixture
def pipeline(tmp_path: Path) -> Path:
    """A user's folder with what the page shows in it."""
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "defs.yaml").write_text(TOPICS + first("yaml"))
    (folder / "sized_orders.sql").write_text(first("sql"))
    return folder


def test_adding_a_table_takes_one_query_and_at_most_eight_lines() -> None:
    assert len(first("yaml").strip().splitlines()) <= 8
    assert first("sql").count("SELECT") == 1


def test_the_example_makes_the_table_that_it_speaks_of(
    namespace: str,
    pipeline: Path,
    connections: Connections,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    frazil = Command(monkeypatch, capsys)
    environment = {"FRAZIL_PIPELINES": str(pipeline.parent), "FRAZIL_CLUSTER": namespace}

    result = frazil("derive", "sized_orders", "--json", **environment)

    assert result.code == 0, result.err
    assert [(report["rows"], report["total_rows"]) for report in result.document] == [(2, 2)]
    rows = connections.catalog.load_table((namespace, "sized_orders")).scan().to_arrow().to_pylist()
    assert sorted(tuple(row.values()) for row in rows) == [("a", 999, "NORMAL"), ("b", 1001, "LARGE")]
