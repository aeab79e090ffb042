"""Tables for people: as others wrote the words in them, in pipes, and on narrow terminals."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from rich.console import Console
from rich.table import Table

from frazil.cli.console import Row, console, print_json, print_table


def table_of(*rows: tuple[str, ...]) -> Table:
    table = Table("table", "made of", "state", "rows", "lag")
    for row in rows:
        table.add_row(*row)
    return table


ORDERS = ("local.orders_of_the_shop", "orders_of_the_shop", "suspended", "1,234,567", "89")
TRADES = ("local.trades", "trades", "fresh", "5", "0")


@pytest.mark.parametrize(
    "text", ["[/]", "a[/b]", "map[string]", "[link=http://a.example]b[/link]", ":smile:"]
)
def test_no_word_of_others_is_markup(capsys: pytest.CaptureFixture[str], text: str) -> None:
    table = Table("name")
    table.add_row(text)

    console.print(text)
    print_table(table)

    captured = capsys.readouterr()
    assert (captured.out.count(text), captured.err.count(text)) == (1, 1)


def test_in_a_pipe_each_row_is_a_line_without_borders(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(table_of(ORDERS, TRADES))

    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[1:]] == [[*ORDERS], [*TRADES]]


def test_in_a_pipe_a_row_is_one_line_however_long_its_cells_are_and_whatever_breaks_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    long = "x" * 5000

    print_table(table_of((long, "a\nb\r\nc", "suspended", "日本", "89"), TRADES))

    _, first, second = capsys.readouterr().out.splitlines()
    assert first.split() == [long, "a\\nb\\r\\nc", "suspended", "日本", "89"]
    assert second.split() == [*TRADES]
    assert len(second) < 500


def test_a_table_without_rows_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(table_of())

    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_nothing_is_cut_or_wider_than_the_terminal(width: int) -> None:
    terminal = Console(file=StringIO(), force_terminal=True, color_system=None, width=width)

    print_table(table_of(ORDERS, TRADES), terminal)

    assert isinstance(terminal.file, StringIO)
    text = terminal.file.getvalue()
    assert all(len(line) <= width for line in text.splitlines())
    assert all(cell in text for cell in (*ORDERS, *TRADES))


def test_ids_of_snapshots_are_texts_in_a_document(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"snapshot_id": 8817266187219372001, "rows": 3, "inputs": {"a": 5}, "last": [{"head": None}]})

    document = json.loads(capsys.readouterr().out)
    assert document == {
        "snapshot_id": "8817266187219372001",
        "rows": 3,
        "inputs": {"a": "5"},
        "last": [{"head": None}],
    }


def test_numbers_of_a_users_row_stay_numbers_whatever_its_columns_are_called(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_json({"snapshot_id": 5, "rows": [Row({"head": 3, "inputs": {"a": [4]}})]})

    assert json.loads(capsys.readouterr().out) == {
        "snapshot_id": "5",
        "rows": [{"head": 3, "inputs": {"a": [4]}}],
    }
