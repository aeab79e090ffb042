"""A pipeline's file that is wrong: file and line, what is wrong there, and what is known instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.graph.mistakes import FILES, TOPIC
from kit.runs.shell import TABLES, Command

ORDERS = '{"type": "record", "name": "R", "fields": [{"name": "id", "type": "string"}]}'


@pytest.mark.parametrize(("text", "expected"), FILES)
def test_a_file_that_is_wrong_is_told_with_its_line(
    frazil: Command, pipelines: Path, text: str, expected: str
) -> None:
    (pipelines / "shop" / "defs.yaml").write_text(text)

    result = frazil("tables")

    assert result.code == 2
    assert result.is_clear
    assert str(pipelines / "shop" / "defs.yaml") in result.err
    assert expected in result.err


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT idd FROM orders", ["made.sql:1:8: idd: no column of orders; did you mean id?"]),
        ("SELECT id FROM ordrs", ["ordrs: no pipeline makes a table local.ordrs; did you mean orders?"]),
        ("SELEC id FROM orders", ["made.sql:1"]),
        (
            "SELECT o.idd, n.x, :big AS b, 1 FROM orders o JOIN nowhere n ON o.id = n.id ORDER BY 1",
            ["idd: no column of o", ":big: no such", "a column without a name", "nowhere: no pipeline"],
        ),
        ("SELECT id FROM made", ["local.made is made of local.made: a circle of tables"]),
    ],
)  # fmt: skip
def test_all_mistakes_of_a_query_are_told_at_once(
    frazil: Command, pipelines: Path, query: str, expected: list[str]
) -> None:
    shop = pipelines / "shop"
    made = f"---\ntype: {TABLES}\nattributes: {{tables: [{{table: made, sql: made.sql}}]}}\n"
    (shop / "defs.yaml").write_text(f"{TOPIC}      value_schema: orders.avsc\n{made}")
    (shop / "orders.avsc").write_text(ORDERS)
    (shop / "made.sql").write_text(query)

    result = frazil("tables")

    assert result.code == 2
    assert result.is_clear
    assert [text for text in expected if text not in result.err] == []
