"""What the command line prints of others' words stays as they wrote it."""

from __future__ import annotations

import pytest
from rich.table import Table

from frazil.cli.console import console, print_table


@pytest.mark.parametrize(
    "text", ["[/]", "a[/b]", "map[string]", "[link=http://a.example]b[/link]", ":smile:"]
)
def test_no_word_of_others_is_markup(capsys: pytest.CaptureFixture[str], text: str) -> None:
    table = Table("name")
    table.add_row(text)

    console.print(text)
    print_table(table)

    assert capsys.readouterr().err.count(text) == 2
