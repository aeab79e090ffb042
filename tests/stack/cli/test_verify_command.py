"""`frazil verify`: what it says in a shell, and how it ends."""

from __future__ import annotations

import pytest

from frazil.landing.land import land
from kit.readers.opened import table_of
from kit.records.topics import Topic
from kit.runs.shell import Command


@pytest.mark.plain(why="the row of one of ten records is deleted")
def test_it_ends_with_1_and_names_the_record_whose_row_is_gone(
    frazil: Command, topic: Topic, name: str
) -> None:
    land(topic.spec, topic.connections)
    agreed = frazil("verify", name, "--json")

    table_of(topic).delete("quantity = 4")
    differs, shown = frazil("verify", name, "--json"), frazil("verify", name)

    assert (agreed.code, differs.code, shown.code) == (0, 1, 1)
    assert agreed.document[0]["sound"]
    (sample,) = differs.document[0]["samples"]
    assert (sample["kind"], sample["partition"], sample["offset"]) == ("missing", 0, 4)
    assert [line.split()[1:] for line in shown.out.splitlines() if "missing" in line] == [
        ["missing", "1", "0", "4"]
    ]
    assert "  Next: " in shown.err
