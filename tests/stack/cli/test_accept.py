"""`frazil accept` tells Dagster that the check passes now: it blocks what shows the table."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from frazil.landing.land import land
from frazil.landing.repairs.acceptance import foreign_commits
from kit.readers.opened import table_of
from kit.records.topics import Topic
from kit.runs.shell import Command


@pytest.mark.plain(why="the rows of ten records are deleted one by one")
def test_an_acceptance_turns_the_blocking_check_green(
    frazil: Command, topic: Topic, name: str, dagster_home: Path
) -> None:
    land(topic.spec, topic.connections)
    table_of(topic).delete("quantity = 4")
    (foreign,) = foreign_commits(table_of(topic).metadata)
    home = {"DAGSTER_HOME": str(dagster_home)}

    before = frazil("check", name, "--json", **home)
    accepted = frazil("accept", name, "--snapshot", str(foreign.snapshot_id), "--because", "GDPR", **home)

    assert [c["passed"] for c in before.document if c["check"] == "row_count"] == [False]
    assert accepted.code == 0
    key = dg.AssetCheckKey(dg.AssetKey(topic.things.iceberg_path), "row_count")
    with dg.DagsterInstance.from_config(str(dagster_home)) as instance:
        record = instance.event_log_storage.get_latest_asset_check_execution_by_key([key])[key]
    assert record.status.value == "SUCCEEDED"
