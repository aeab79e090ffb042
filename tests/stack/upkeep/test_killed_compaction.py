"""What a killed compaction leaves behind can be removed (a killed Spark: landing/test_parts_that_die.py)."""

from __future__ import annotations

import signal
import time

import pytest

from frazil.checks.run import run_check
from frazil.connections import Connections
from frazil.landing.land import land
from kit.readers.leftovers import cleaned_up, unnamed
from kit.readers.opened import data_files, table_of
from kit.readers.stored import files_under
from kit.records.topics import topic_maker
from kit.runs.waiting import PATIENCE
from kit.wires.killed import NAMESPACE, compaction_process


@pytest.mark.nightly
def test_what_a_killed_compaction_wrote_goes_and_nothing_else(
    connections: Connections, fresh_name: str
) -> None:
    topic = topic_maker(connections, fresh_name, NAMESPACE)(upkeep={"min_snapshots": 1})
    topic.trades(9, plain="each landing takes three")
    for _ in range(3):
        land(topic.spec, connections, max_records=3)
    before = set(files_under(table_of(topic)))
    process = compaction_process(topic.name, connections.settings, "written")
    assert process.wait(PATIENCE) == -signal.SIGKILL, process.stderr and process.stderr.read()
    left = {path for path in files_under(table_of(topic)) if "/data/" in path} - before

    cleaned_up(topic.spec, connections, time.time())

    assert len(left) == 1
    assert not left & set(files_under(table_of(topic)))
    assert not unnamed(table_of(topic))
    assert len(data_files(topic)) == 1
    assert list(table_of(topic).metadata.refs) == ["main"]
    assert sorted(row["quantity"] for row in topic.rows()) == list(range(9))
    assert run_check("row_count_deep", topic.spec, connections).passed
