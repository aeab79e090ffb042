"""Distinct values of columns: counted by Iceberg's procedure, and gone with their snapshot."""

from __future__ import annotations

import time

import pytest
from pyiceberg.table.puffin import PuffinFile

from frazil.landing.land import land
from frazil.upkeep.due import look_for_work
from frazil.upkeep.expiry.expiry import expire
from frazil.upkeep.kind import Work
from frazil.upkeep.kinds import KINDS
from frazil.upkeep.orphans import remove_orphans
from frazil.upkeep.run import do_work, work_on
from frazil.upkeep.statistics import distinct_values
from kit.readers.opened import table_of
from kit.readers.stored import files_under
from kit.readers.targets import read_glue, sync_glue
from kit.records.topics import MakeTopic, Topic

STATISTICS = KINDS["statistics"]
MONTH = 30 * 86400.0


@pytest.fixture
def topic(make_topic: MakeTopic) -> Topic:
    """A table of 2 sides, 300 quantities and one symbol, counted once a day."""
    topic = make_topic(upkeep={"statistics_every": "1d", "min_snapshots": 1}, publish=["glue"])
    landed(topic, 300)
    return topic


def landed(topic: Topic, count: int) -> None:
    trades = ({"side": "BUY" if n % 3 else "SELL", "quantity": n, "symbol": "ZÜ"} for n in range(count))
    schema_id = topic.register(topic.schema)
    topic.send([topic.encode(trade, schema_id) for trade in trades])
    land(topic.spec, topic.connections)


def puffins(topic: Topic) -> set[str]:
    return {path for path in files_under(table_of(topic)) if path.endswith(".stats")}


def due(topic: Topic) -> tuple[Work, ...]:
    return look_for_work([topic.spec], topic.connections, time.time(), kinds=[STATISTICS]).due


def test_distinct_values_are_counted_when_rows_came_and_glue_shows_them(topic: Topic) -> None:
    sync_glue(topic.connections, topic.things)
    (work,) = due(topic)
    (outcome,) = work_on([work], topic.connections, time.time())

    table, shown = table_of(topic), read_glue(topic.connections, topic.things)
    head = table.metadata.current_snapshot_id
    assert head
    assert outcome.report
    assert shown
    assert work.reason == "the head has moved since: there was no count yet."
    assert due(topic) == ()
    assert "4 columns: key 1, side 2, quantity 300, symbol 1." in outcome.report.text
    assert distinct_values(table.metadata, head) == {"key": 1, "side": 2, "quantity": 300, "symbol": 1}
    assert shown.metadata_location == table.metadata_location
    (file,) = table.metadata.statistics
    puffin = PuffinFile(table.io.new_input(file.statistics_path).open().read())
    assert {blob.type for blob in puffin.footer.blobs} == {"apache-datasketches-theta-v1"}


def test_they_are_kept_with_their_snapshot_and_go_with_it(topic: Topic) -> None:
    do_work(STATISTICS, topic.spec, topic.connections, time.time())
    first = puffins(topic)
    remove_orphans(topic.spec, topic.connections, time.time() + MONTH)
    kept = puffins(topic)
    landed(topic, 5)
    do_work(STATISTICS, topic.spec, topic.connections, time.time())
    both = puffins(topic)

    expire(topic.spec, topic.connections, time.time() + MONTH)
    remove_orphans(topic.spec, topic.connections, time.time() + MONTH)

    assert (len(first), kept) == (1, first)
    assert puffins(topic) == both - first
    assert [file.statistics_path for file in table_of(topic).metadata.statistics] == [*(both - first)]
