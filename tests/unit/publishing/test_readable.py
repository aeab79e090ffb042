"""What is published stays readable: Glue's pointer is a reference, however many landings come."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from frazil.checks.targets.finding import find_drift, repair_drift
from frazil.spec.topic import TableSpec
from frazil.spec.upkeep import Upkeep
from kit.readers.mirrored import NAME, Mirror, one_record
from kit.wires.wire import Wire

FEW = Upkeep(min_snapshots=2, max_snapshots=5)
"""Far fewer snapshots than landings: what Glue shows is soon past them."""


@pytest.fixture
def mirror(wire_and_url: tuple[Wire, str], tmp_path: Path) -> Mirror:
    spec = TableSpec(topic="orders", namespace=NAME.namespace, publish=["glue"], upkeep=FEW)
    return Mirror(tmp_path, wire_and_url[1], spec)


def test_landings_behind_a_glue_that_is_not_moved_leave_what_it_shows_readable(mirror: Mirror) -> None:
    mirror.land(3)
    shown = mirror.sync()

    mirror.land_unseen(25)

    assert mirror.shown == shown
    assert mirror.athena(mirror.sync()) == list(range(28))
    assert mirror.shown == mirror.table.metadata_location


@pytest.mark.parametrize("landings", [15, pytest.param(1_000, marks=pytest.mark.nightly)])
def test_while_glue_is_down_whatever_it_may_show_is_kept_and_one_sync_brings_it_in_step(
    mirror: Mirror, wire: Wire, landings: int
) -> None:
    mirror.ledger = one_record
    mirror.land(3)
    shown = mirror.sync()
    wire.always("refused", lambda _: True)

    def read() -> None:
        if mirror.landed % 6 == 0:
            assert "does not answer" in mirror.keep_up().text
        assert mirror.athena(shown) == [0, 1, 2]

    mirror.land(1, read)
    first = mirror.table.current_snapshot()
    mirror.land(landings - 1, read)
    (down,) = find_drift([mirror.spec], mirror.connections)
    wire.calm()
    (behind,) = find_drift([mirror.spec], mirror.connections)

    assert (down.state, down.why) == ("down", "Glue does not answer.")
    assert first is not None
    assert (behind.state, behind.since) == ("behind", first.timestamp_ms / 1000)
    assert mirror.athena(mirror.sync()) == list(range(3 + landings))
    assert not find_drift([mirror.spec], mirror.connections)[0].differs
    assert "does not answer" not in mirror.keep_up().text
    assert len(mirror.table.snapshots()) == FEW.max_snapshots


@pytest.mark.parametrize("landings", [5, pytest.param(100, marks=pytest.mark.nightly)])
def test_while_a_blocking_check_fails_readers_see_good_rows_and_drift_says_since_when(
    mirror: Mirror, landings: int
) -> None:
    mirror.ledger = one_record
    mirror.land(3)
    shown = mirror.sync()
    mirror.table.append(pa.table({"quantity": [-1]}))  # a row that no offset accounts for
    first = mirror.table.current_snapshot()

    def tick() -> None:
        if mirror.landed % 5 == 0:
            drifts = find_drift([mirror.spec], mirror.connections)
            assert repair_drift(mirror.spec, drifts, mirror.connections) == (drifts, [])
        assert mirror.athena(mirror.shown) == [0, 1, 2]

    mirror.land(landings, tick)
    (kept_back,) = find_drift([mirror.spec], mirror.connections)
    mirror.table.delete("quantity < 0")
    ((after,), _) = repair_drift(
        mirror.spec, find_drift([mirror.spec], mirror.connections), mirror.connections
    )

    assert first is not None
    assert (kept_back.state, kept_back.since, mirror.synced) == ("held", first.timestamp_ms / 1000, shown)
    assert kept_back.why.startswith("row_count: ")
    assert after.repaired
    assert mirror.athena(mirror.shown) == list(range(3 + landings))


def test_metadata_files_do_not_pile_up_once_nobody_is_shown_them(mirror: Mirror) -> None:
    mirror.land(20)
    mirror.sync()

    report = mirror.keep_up()

    assert report.numbers["metadata_files_deleted"] > 10
    assert len(mirror.stored(".metadata.json")) == 1 + 5  # the table's log names five
    assert not mirror.keep_up().numbers["metadata_files_deleted"]


def test_a_metadata_file_that_a_commit_under_way_may_have_written_stays(mirror: Mirror) -> None:
    mirror.land(20)

    assert mirror.keep_up(days=0).numbers["metadata_files_deleted"] == 0


def test_after_the_bound_expiry_lets_go_of_what_glue_shows(mirror: Mirror) -> None:
    mirror.land(3)
    shown = mirror.sync()
    mirror.land(12)

    within = mirror.keep_up(days=6.9)
    assert "Kept for readers: glue" in within.text
    assert mirror.athena(shown) == [0, 1, 2]
    past = mirror.keep_up(days=7.1)

    assert "Kept for readers" not in past.text
    assert shown.removeprefix("file://") not in mirror.stored(".metadata.json")


def test_a_table_of_an_earlier_version_no_longer_lets_its_writers_delete_metadata(mirror: Mirror) -> None:
    with mirror.table.transaction() as tx:
        tx.set_properties({"write.metadata.delete-after-commit.enabled": "true"})
    mirror.land(1)

    mirror.keep_up()

    assert mirror.table.properties["write.metadata.delete-after-commit.enabled"] == "false"


def test_a_target_that_this_installation_has_no_key_for_was_never_shown_anything(mirror: Mirror) -> None:
    mirror.spec = mirror.spec.model_copy(update={"publish": ("glue", "snowflake")})
    mirror.land(20)
    mirror.sync()

    report = mirror.keep_up()

    assert "Kept for readers" not in report.text
    assert len(mirror.table.snapshots()) == FEW.max_snapshots
