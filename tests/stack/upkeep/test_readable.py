"""What Glue and Snowflake show stays readable behind landings and expiries: DuckDB and Snowflake read it."""

from __future__ import annotations

import time

import pytest

from frazil.checks.run import run_check
from frazil.connections import Connections
from frazil.landing.land import land
from frazil.spec.upkeep import Upkeep
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.commits.commit import set_properties
from frazil.upkeep.expiry.expiry import expire
from frazil.upkeep.orphans import remove_orphans
from frazil.upkeep.run import show
from kit.readers.duck import duckdb_on
from kit.readers.targets import read_snowflake, sync_glue, sync_snowflake
from kit.records.topics import Topic, topic_maker

FEW = Upkeep(min_snapshots=1, max_snapshots=2)


@pytest.mark.nightly
@pytest.mark.also("glue", why="each commit moves the pointer", nightly=True)
def test_landings_that_are_not_shown_leave_what_glue_and_snowflake_show_readable(
    lake: Connections, fresh_name: str
) -> None:
    topic = topic_maker(lake, fresh_name, "upkeep_tests")(upkeep=FEW)
    topic.trades(5)
    land(topic.spec, lake)
    set_properties(
        TableHandle(lake.catalog, topic.things.table), {"write.metadata.previous-versions-max": "2"}
    )
    shown = sync_glue(lake, topic.things).metadata_location
    sync_snowflake(lake, topic.things)

    for _ in range(4):
        topic.trades(1)
        land(topic.spec, lake)
        expire(topic.spec, lake, time.time() + 3600)
    remove_orphans(topic.spec, lake, time.time() + 6 * 86400)

    assert read_by_athena(topic, shown) == 5
    seen = read_snowflake(lake, topic.things)
    assert seen
    assert seen.rows == 5
    behind = lake.settings.catalog == "rest"  # where Glue owns the tables, each commit moves its entry
    assert run_check("glue_pointer", topic.spec, lake).failed == behind

    sync_glue(lake, topic.things)
    sync_snowflake(lake, topic.things)
    expire(topic.spec, lake, time.time() + 3600)
    list(show(topic.spec, lake, done=True))
    assert run_check("glue_pointer", topic.spec, lake).passed
    assert run_check("snowflake_current", topic.spec, lake).passed


def read_by_athena(topic: Topic, location: str) -> int:
    """Rows by the way of Athena: the metadata that Glue named, manifests, data files."""
    with duckdb_on(topic.connections.settings) as duck:
        row = duck.execute(f"SELECT count(*) FROM iceberg_scan('{location}')").fetchone()
    assert row
    return int(row[0])
