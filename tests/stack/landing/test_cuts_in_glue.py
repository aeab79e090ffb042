"""Cuts of tables that Glue owns: Iceberg's tags are in the metadata that Glue points at."""

from __future__ import annotations

import time

import pytest

from frazil.landing.cut.create import begin_cut
from frazil.landing.cut.listing import cut_named, drop_cut, members_of
from frazil.landing.land import land
from frazil.tables.spark.session import spark_name
from frazil.upkeep.expiry.expiry import expire
from kit.readers.opened import table_of
from kit.records.topics import MakeTopic, Topic


def by_tag(topic: Topic) -> int:
    """Rows that Spark reads by the tag."""
    sql = f"SELECT count(*) FROM {spark_name(topic.things.table)} VERSION AS OF 'cut_month'"
    return int(topic.connections.spark.sql(sql).first()[0])


@pytest.mark.nightly
@pytest.mark.parametrize("lake", ["glue"], indirect=True)
def test_a_table_of_glue_is_read_as_of_the_cut_until_it_is_dropped(make_topic: MakeTopic) -> None:
    topic = make_topic(upkeep={"min_snapshots": 1, "keep_snapshots_for": "0s"})
    members = members_of([topic.spec], topic.connections)
    topic.trades(5)
    land(topic.spec, topic.connections)
    topic.trades(3)

    begun = begin_cut("month", "shop", [topic.spec], topic.connections)
    topic.trades(2)
    report = land(topic.spec, topic.connections)
    expire(topic.spec, topic.connections, time.time() + 60)
    cut = cut_named("month", members)
    of_tag = table_of(topic).scan(snapshot_id=cut.tables[0].snapshot_id).to_arrow()

    assert (begun.state, report.records, cut.state) == ("incomplete", 5, "complete")
    assert (by_tag(topic), of_tag.num_rows, len(topic.rows())) == (8, 8, 10)
    drop_cut("month", members)
    assert list(table_of(topic).metadata.refs) == ["main"]
