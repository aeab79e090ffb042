"""Whatever process is killed when, whoever is quicker: every row of the inputs counts exactly once."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from frazil.connections import Connections
from frazil.derive.publish import roll_back_derived
from frazil.errors import OvertakenError, RetryError
from kit.derived.made import Made, MakeTable, Source, make_made, make_source
from kit.runs.waiting import PATIENCE
from kit.wires.killed import derive_process

KINDS = {
    "rows": "SELECT symbol, quantity, IF(quantity = 0, 'none', NULL) AS `$$error` FROM {}",
    "totals": "SELECT symbol, sum(quantity) AS quantity, count(*) AS trades FROM {} GROUP BY symbol",
}


def in_between(lake: Connections, folder: Path, name: str, kind: str) -> tuple[Made, Source]:
    """A table that holds some rows, and an input that has more."""
    source = make_source(lake.catalog, name)
    source.trades(1, 2)
    made = make_made(lake, folder, f"{name}_out", KINDS[kind].format(name), kind=kind)
    made.derive()
    source.trades(3, 0)
    return made, source


def goes_on(made: Made, source: Source) -> None:
    """Whatever was left: the next derivation ends right, and the one after it leaves nothing behind."""
    source.trades(0, 4)
    made.derive()
    assert not made.derive().done
    if made.spec.kind == "rows":
        assert made.rows("quantity") == [(1,), (2,), (3,), (4,)]
        assert [reason for reason, _ in made.dead_letters()] == ["none", "none"]
    else:
        assert made.rows("quantity", "trades") == [(10, 6)]
    assert list(made.table.metadata.refs) == ["main"]


@pytest.mark.nightly
@pytest.mark.parametrize("lake", ["glue"], indirect=True)  # rest is the other tests' catalog
def test_a_process_that_is_killed_leaves_nothing_or_everything(
    lake: Connections, fresh_name: str, tmp_path: Path
) -> None:
    made, source = in_between(lake, tmp_path, fresh_name, "rows")
    process = derive_process(made.spec, lake.settings, "kept")
    assert process.wait(PATIENCE) == -signal.SIGKILL, process.stderr and process.stderr.read()

    goes_on(made, source)


class Dead(BaseException):
    """Nobody catches it, so nothing is cleaned up: as good as a kill, without a process to start."""


@pytest.mark.parametrize(
    ("kind", "step"),
    [("rows", "written"), ("totals", "written"), ("totals", "published")],
)
@pytest.mark.each_time("rows-written")
def test_a_derivation_that_dies_after_any_step_leaves_nothing_or_everything(
    connections: Connections, fresh_name: str, tmp_path: Path, kind: str, step: str
) -> None:
    made, source = in_between(connections, tmp_path, fresh_name, kind)

    def die(done: str) -> None:
        if done == step:
            raise Dead

    with pytest.raises(Dead):
        made.derive(on_step=die)
    goes_on(made, source)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.nightly
def test_of_two_at_once_one_publishes_and_the_other_says_it_was_overtaken(
    connections: Connections, fresh_name: str, tmp_path: Path, kind: str
) -> None:
    made, source = in_between(connections, tmp_path, fresh_name, kind)

    def overtake(step: str) -> None:
        if step == "written":
            assert made.derive().rows == 1

    with pytest.raises(OvertakenError, match="was quicker"):
        made.derive(on_step=overtake)
    goes_on(made, source)


@pytest.mark.parametrize("dies", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.nightly
def test_a_rebuild_takes_the_place_of_derivations_that_were_quicker(
    connections: Connections, fresh_name: str, tmp_path: Path, kind: str, dies: bool
) -> None:
    made, source = in_between(connections, tmp_path, fresh_name, kind)
    quicker = iter([made])

    def meanwhile(step: str) -> None:
        if step == "written" and (other := next(quicker, None)):
            other.derive()
            source.trades(0, 4)
            other.derive()
        if step == "kept" and dies:
            raise Dead

    if dies and kind == "rows":
        with pytest.raises(Dead):
            made.derive(rebuild=True, on_step=meanwhile)
    else:
        report = made.derive(rebuild=True, on_step=meanwhile)
        assert (report.whole, report.inputs) == (True, {str(source.name): source.head})
    assert not made.derive().done
    if kind == "rows":
        assert made.rows("quantity") == [(1,), (2,), (3,), (4,)]
        assert [reason for reason, _ in made.dead_letters()] == ["none", "none"]
    else:
        assert made.rows("quantity", "trades") == [(10, 6)]


@pytest.mark.nightly
def test_a_rebuild_is_dropped_where_nothing_would_tell_what_came_since_it_began(
    connections: Connections, fresh_name: str, tmp_path: Path
) -> None:
    made, source = in_between(connections, tmp_path, fresh_name, "totals")
    quicker = iter([made])

    def meanwhile(step: str) -> None:
        if step == "written" and (other := next(quicker, None)):
            source.trades(0)
            source.trades(4)
            other.derive()
            source.expire()

    with pytest.raises(RetryError, match="Rebuild again"):
        made.derive(rebuild=True, on_step=meanwhile)
    assert made.rows("quantity", "trades") == [(10, 6)]
    assert not made.derive().done
    made.derive(rebuild=True)
    assert made.rows("quantity", "trades") == [(10, 6)]


@pytest.mark.nightly
def test_a_rollback_takes_the_position_back_with_the_rows(source: Source, make_table: MakeTable) -> None:
    source.trades(1)
    made = make_table(KINDS["rows"].format(source.name.table))
    first = made.derive()
    source.trades(2, 0)
    made.derive()
    assert first.snapshot_id

    report = roll_back_derived(made.spec, made.connections, first.snapshot_id)

    assert (report.done, report.rows, report.rows_before) == (True, 1, 2)
    assert (made.rows("quantity"), dict(report.inputs)) == ([(1,)], first.inputs)
    assert made.derive().rows == 1
    assert (made.rows("quantity"), len(made.dead_letters())) == ([(1,), (2,)], 1)
    assert made.ledger.total_rows == 2
    beginning = made.table.snapshots()[0].snapshot_id
    assert dict(roll_back_derived(made.spec, made.connections, beginning).inputs) == {}
    assert (made.derive().whole, made.rows("quantity")) == (True, [(1,), (2,)])
