"""A table whose `main` has no head gets one, whoever left it without."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from pyiceberg.table import Table

from frazil.errors import FrazilError
from kit.derived.made_tables import bare, make, make_letters
from kit.readers.sound import unreadable
from kit.tables.commits import NAME
from kit.wires.lying import LIES, LOST, LyingCatalog

Make = Callable[[LyingCatalog], object]
MAKERS: dict[str, Make] = {"landed": make, "dead letters": make_letters}


@pytest.fixture
def lying(tmp_path: Path) -> Iterator[LyingCatalog]:
    """A catalog that says of its commits what it is told to, and in whose folder nothing was landed."""
    catalog = LyingCatalog(tmp_path)
    yield catalog
    catalog.close()


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
def test_a_table_that_was_made_and_got_no_head_before_its_maker_was_killed_gets_one(
    lying: LyingCatalog, maker: Make
) -> None:
    bare(lying, maker)

    maker(lying)

    assert [list(t.metadata.refs) for t in tables(lying)] == [["main"]]


@pytest.mark.parametrize("lie", LOST)
@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
def test_a_table_that_was_made_is_there_with_a_head_whatever_was_answered(
    lying: LyingCatalog, maker: Make, lie: str
) -> None:
    lying.lies.append(LOST[lie])

    maker(lying)

    assert [list(t.metadata.refs) for t in tables(lying)] == [["main"]]


@pytest.mark.parametrize("lie", ["unsent", "refused"])
@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
def test_a_table_that_was_not_made_is_made_by_the_next_try_at_the_latest(
    lying: LyingCatalog, maker: Make, lie: str
) -> None:
    lying.lies.append(LIES[lie])

    with suppress(FrazilError):
        maker(lying)
    maker(lying)

    assert [list(t.metadata.refs) for t in tables(lying)] == [["main"]]


@pytest.mark.parametrize("lie", LOST)
def test_a_head_whose_answer_is_lost_is_whole(lying: LyingCatalog, lie: str) -> None:
    bare(lying, make)
    lying.lies.append(LOST[lie])

    make(lying)

    (table,) = tables(lying)
    assert list(table.metadata.refs) == ["main"]
    assert unreadable(table) == []


def tables(catalog: LyingCatalog) -> list[Table]:
    """All that the catalog has."""
    return [catalog.load_table(n) for n in catalog.list_tables(NAME.namespace)]
