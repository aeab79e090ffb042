"""Offsets that are replayed are decoded anew and stand there once, whatever else their files hold."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from frazil.checks.run import run_check
from frazil.errors import OffsetsLostError, PositionLostError, RepairError
from frazil.landing.land import land
from frazil.landing.position.ledger import read_ledger
from frazil.landing.repairs.acceptance import accept, foreign_commits
from frazil.landing.replay.run import replay
from frazil.tables.commits.leftovers import drop_dead_branches
from frazil.tables.spark.session import spark_name
from frazil.upkeep.expiry.expiry import expire
from frazil.upkeep.orphans import remove_orphans
from kit.derived.made import make_made
from kit.readers.leftovers import MONTH, unnamed
from kit.readers.opened import table_of
from kit.records.producing import BESIDE
from kit.records.topics import MakeTopic, Topic
from kit.runs.waiting import PATIENCE
from kit.wires.killed import REPLAYED, replay_process

"""Where it makes no difference who owns the table."""


def trade(topic: Topic, quantity: int) -> bytes:
    return topic.encode({"side": "BUY", "quantity": quantity, "symbol": "Z"})


def assert_all_adds_up(topic: Topic) -> None:
    for name in ("row_count", "row_count_deep"):
        result = run_check(name, topic.spec, topic.connections)
        assert result.passed, result.text


def quantities(topic: Topic) -> list[tuple[int, int, int]]:
    return [(r["$$partition"], r["$$offset"], r["quantity"]) for r in topic.rows()]


@pytest.mark.nightly
@pytest.mark.plain(why="offsets are named")
def test_records_that_were_dead_letters_and_rows_are_decoded_anew(make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=2, on_bad_record="dead_letter")
    topic.send([trade(topic, n) for n in range(5)])
    topic.send([trade(topic, n) for n in range(10, 13)], partition=1)
    old = topic.schema
    newer = {
        **old,
        "fields": [*old["fields"], {"name": "venue", "type": ["null", "string"], "default": None}],
    }
    elsewhere = topic.register_for(f"{topic.name}-other", newer)
    topic.schema = newer
    topic.send([topic.encode({"side": "BUY", "quantity": 5, "symbol": "Z", "venue": "X"}, elsewhere), b"bad"])
    topic.schema = old
    landed = land(topic.spec, topic.connections)
    assert topic.register(newer) == elsewhere

    looked = replay(topic.spec, topic.connections, {0: (2, 7), 1: (0, 2)}, dry_run=True)
    report = replay(topic.spec, topic.connections, {0: (2, 7), 1: (0, 2)})

    assert (landed.records, landed.dead_letters) == (8, 2)
    assert (looked.offsets, looked.replaced, looked.snapshot_id) == (7, 5, None)
    assert (report.replaced, report.replayed, report.redriven, report.dead_letters) == (5, 6, 1, 0)
    assert quantities(topic) == [*((0, n, n) for n in range(6)), *((1, n, 10 + n) for n in range(3))]
    assert [r["venue"] for r in topic.rows() if r["$$offset"] == 5] == ["X"]
    assert_all_adds_up(topic)
    topic.trades(2)
    assert land(topic.spec, topic.connections).records == 2
    assert_all_adds_up(topic)


@pytest.mark.nightly
def test_a_landing_in_between_is_not_hindered(landed: Topic) -> None:
    def meanwhile(step: str) -> None:
        if step == "audited":
            landed.trades(3)
            land(landed.spec, landed.connections)

    report = replay(landed.spec, landed.connections, {0: (0, 10)}, on_step=meanwhile)

    assert (report.replaced, report.replayed) == (10, 10)
    assert quantities(landed) == [(0, n if n < 10 else n + BESIDE, n) for n in range(13)]
    assert_all_adds_up(landed)


@pytest.mark.parametrize("steps", [("audited",), ("written", "audited", "published")], ids="-".join)
@pytest.mark.nightly
def test_replays_that_are_killed_at_any_step_leave_nothing_or_everything(
    make_topic: MakeTopic, steps: tuple[str, ...]
) -> None:
    topic = make_topic(on_bad_record="dead_letter", upkeep={"min_snapshots": 1})
    topic.trades(10)
    land(topic.spec, topic.connections)
    once = [(0, n, n) for n in range(10)]
    processes = [replay_process(topic.name, topic.connections.settings, step) for step in steps]
    for process in processes:
        assert process.wait(PATIENCE) == -signal.SIGKILL, process.stderr and process.stderr.read()
    assert quantities(topic) == once

    report = replay(topic.spec, topic.connections, REPLAYED)
    topic.trades(3)
    landed = land(topic.spec, topic.connections).records
    drop_dead_branches(table_of(topic), time.time() + MONTH)
    expire(topic.spec, topic.connections, time.time() + MONTH)
    remove_orphans(topic.spec, topic.connections, time.time() + MONTH)

    ledger = read_ledger(table_of(topic).metadata)
    assert ledger
    assert (report.replaced, report.replayed) == (4, 4)
    assert ledger.total_replayed == (8 if "published" in steps else 4)
    assert (landed, quantities(topic)) == (3, [*once, *((0, n + BESIDE, n) for n in range(10, 13))])
    assert list(table_of(topic).metadata.refs) == ["main"]
    assert not unnamed(table_of(topic))
    assert_all_adds_up(topic)


@pytest.mark.nightly
@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_rows_that_others_deleted_stay_deleted(landed: Topic, mode: str) -> None:
    table = spark_name(landed.things.table)
    for sql in (
        f"ALTER TABLE {table} SET TBLPROPERTIES ('write.delete.mode' = '{mode}')",
        f"DELETE FROM {table} WHERE quantity IN (4, 7)",
    ):
        landed.connections.spark.sql(sql).collect()
    with pytest.raises(RepairError, match="nobody has accepted"):
        replay(landed.spec, landed.connections, {0: (0, 4)})
    (foreign,) = foreign_commits(table_of(landed).metadata)
    accept(landed.spec, landed.connections, foreign.snapshot_id, "GDPR")

    with pytest.raises(RepairError, match="would bring 1 rows back"):
        replay(landed.spec, landed.connections, {0: (3, 6)})
    report = replay(landed.spec, landed.connections, {0: (0, 4)})

    assert (report.replaced, report.replayed) == (4, 4)
    assert [q for _, _, q in quantities(landed)] == [0, 1, 2, 3, 5, 6, 8, 9]
    assert_all_adds_up(landed)


def test_what_the_topic_no_longer_holds_stays(landed: Topic) -> None:
    landed.delete_records_before(4)

    with pytest.raises(OffsetsLostError, match=r"no longer holds[\s\S]*partition 0: \[2, 4\)"):
        replay(landed.spec, landed.connections, {0: (2, 6)})

    assert len(quantities(landed)) == 10


@pytest.mark.nightly
def test_a_table_that_is_made_of_the_rows_asks_for_a_rebuild(landed: Topic, tmp_path: Path) -> None:
    name = landed.things.table
    made = make_made(landed.connections, tmp_path, f"{name.table}_out", f"SELECT quantity FROM {name}")
    made.derive()
    replay(landed.spec, landed.connections, {0: (2, 6)})

    with pytest.raises(PositionLostError, match="--rebuild"):
        made.derive()

    assert made.derive(rebuild=True).total_rows == 10
