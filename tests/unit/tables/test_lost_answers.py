"""A commit whose answer was lost is looked up: it is done once, and nothing that it needs is deleted."""

from __future__ import annotations

from contextlib import suppress

import pytest

from frazil.errors import FrazilError, OvertakenError
from kit.readers.sound import unreadable
from kit.tables.commits import COMMITS, Lake, position
from kit.wires.lying import LIES, LOST, LyingCatalog
from kit.wires.wire import Wire, commits

UNTRUE = ("nothing was changed", "is visible", "as it was", "quicker")
"""What no error may say of a commit that nobody knows the outcome of."""


@pytest.mark.each_time(
    *(f"{kind}-{lie}" for kind in ("landing", "derivation", "compaction") for lie in LOST),
    "expiry-dropped", "evolution-failed", "layout-replayed", "branch that goes-dropped", "property-failed",
    "property that goes-replayed",
)  # fmt: skip
@pytest.mark.parametrize("lie", LOST)
@pytest.mark.parametrize("kind", COMMITS)
def test_a_commit_that_was_applied_is_done_whatever_was_answered(lake: Lake, kind: str, lie: str) -> None:
    commit = lake.prepare(kind)
    lake.lie(lie)

    commit()

    assert unreadable(lake.table) == []
    assert COMMITS[kind].seen(lake) == COMMITS[kind].after


@pytest.mark.parametrize("lie", LOST)
@pytest.mark.parametrize("kind", ["landing", "derivation", "compaction"])
def test_an_answer_that_is_lost_on_its_way_from_glue_destroys_no_table(
    glue_lake: Lake, kind: str, lie: str
) -> None:
    commit = glue_lake.prepare(kind)
    glue_lake.lie(lie)

    commit()

    assert unreadable(glue_lake.table) == []
    assert COMMITS[kind].seen(glue_lake) == COMMITS[kind].after


def test_no_client_below_the_engine_sends_a_commit_again(
    glue_lake: Lake, glue_wire: tuple[Wire, str]
) -> None:
    wire, _ = glue_wire
    commit = glue_lake.prepare("landing")
    wire.asked.clear()
    glue_lake.lie("dropped")

    with suppress(FrazilError):
        commit()

    sent = [asked.body for asked in wire.asked if commits(asked)]
    assert sent
    assert len(sent) == len({*sent})


@pytest.mark.each_time(
    *(f"{kind}-{lie}" for kind in ("landing", "derivation", "compaction") for lie in ("unsent", "refused")),
    "expiry-unsent", "evolution-refused", "layout-unsent", "branch that goes-refused", "property-unsent",
    "property that goes-refused",
)  # fmt: skip
@pytest.mark.parametrize("lie", ["unsent", "refused"])
@pytest.mark.parametrize("kind", COMMITS)
def test_a_commit_that_never_arrived_is_sent_again_or_told_as_it_is(lake: Lake, kind: str, lie: str) -> None:
    commit = lake.prepare(kind)
    lake.lie(lie)
    wanted = COMMITS[kind].after

    try:
        commit()
    except FrazilError:
        wanted = COMMITS[kind].before

    assert COMMITS[kind].seen(lake) == wanted
    assert unreadable(lake.table) == []


@pytest.mark.parametrize("kind", COMMITS)
def test_an_outcome_that_nobody_tells_is_told_as_unknown_and_nothing_is_deleted(
    lying: LyingCatalog, lake: Lake, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    commit = lake.prepare(kind)
    lying.die_after_the_next_commit()

    with pytest.raises(FrazilError) as raised:
        commit()
    lying.is_down = False

    assert not [words for words in UNTRUE if words in str(raised.value).lower()], str(raised.value)
    assert raised.value.todo
    assert unreadable(lake.table) == []
    assert COMMITS[kind].seen(lake) == COMMITS[kind].after


def test_a_landing_that_is_repeated_after_an_unknown_outcome_brings_no_record_twice(
    lying: LyingCatalog, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    commit = lake.prepare("landing")
    lying.die_after_the_next_commit()

    with pytest.raises(FrazilError):
        commit()
    lying.is_down = False

    with pytest.raises(OvertakenError):
        commit()

    assert (lake.quantities, position(lake.table)) == ([0, 1, 2, 3, 4, 5], {0: 6})


@pytest.mark.parametrize("kind", COMMITS)
def test_a_catalog_that_refuses_time_and_again_is_told_in_words(
    lying: LyingCatalog, lake: Lake, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    commit = lake.prepare(kind)
    lying.habit = LIES["refused"]

    with pytest.raises(FrazilError) as raised:
        commit()
    lying.habit = None

    assert raised.value.todo
    assert unreadable(lake.table) == []
    assert COMMITS[kind].seen(lake) == COMMITS[kind].before
