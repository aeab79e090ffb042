"""The Arrow lane: what it does otherwise than Spark's own writer. Most tests of landings take it, too."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator

import pytest
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table

from frazil.landing import bad_records
from frazil.landing.land import land
from frazil.tables.manifests import added_files
from frazil.upkeep.orphans import remove_orphans
from kit.killed import landing_process
from kit.opened import table_of
from kit.topics import MakeTopic, Topic
from kit.waiting import PATIENCE

pytestmark = pytest.mark.parametrize("lake", ["glue"], indirect=True)

MONTH = 30 * 86400.0


def newest_files(table: Table) -> list[DataFile]:
    head = table.current_snapshot()
    assert head
    return list(added_files(table, head))


def test_a_landing_is_one_commit_and_makes_no_branch(landed: Topic) -> None:
    steps: list[str] = []
    before = table_of(landed).metadata.last_sequence_number
    landed.trades(3)

    land(landed.spec, landed.connections, on_step=steps.append)

    assert steps == ["evolved", "planned", "written", "audited", "published"]
    assert table_of(landed).metadata.last_sequence_number == before + 1


def test_files_say_of_themselves_what_sparks_own_say(make_topic: MakeTopic, on_a_branch: object) -> None:
    topic = make_topic(partition_by=["bucket(4, symbol)", "day($$timestamp)"])
    topic.trades(7)
    land(topic.spec, topic.connections)
    (ours,), rows = newest_files(table_of(topic)), topic.rows()
    other = topic.spec.model_copy(update={"table": f"{topic.name}_spark", "metadata_names": "tableflow"})
    assert callable(on_a_branch)
    on_a_branch()

    land(other, topic.connections)

    topic.spec = other
    (theirs,) = newest_files(table_of(topic))
    assert topic.rows() == rows
    assert (ours.partition, ours.record_count) == (theirs.partition, theirs.record_count)
    columns = {field.field_id for field in table_of(topic).schema().fields}
    for said in ("value_counts", "null_value_counts", "lower_bounds", "upper_bounds"):
        of_columns = [{i: v for i, v in getattr(f, said).items() if i in columns} for f in (ours, theirs)]
        assert of_columns[0] == of_columns[1], said


def test_files_of_a_killed_landing_are_orphans(landed: Topic) -> None:
    landed.trades(5)
    before = {f.file_path for f in newest_files(table_of(landed))}
    process = landing_process(landed.name, landed.connections.settings.catalog, "written")
    assert process.wait(PATIENCE) == -signal.SIGKILL

    report = remove_orphans(landed.spec, landed.connections, time.time() + MONTH)
    land(landed.spec, landed.connections)

    assert report.numbers["files"] == 1
    assert sorted(row["quantity"] for row in landed.rows()) == list(range(15))
    assert before.isdisjoint(f.file_path for f in newest_files(table_of(landed)))


def test_bad_records_are_explained_without_a_second_look_at_the_topic(
    make_topic: MakeTopic, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = make_topic(on_bad_record="dead_letter")
    topic.trades(3)
    topic.send([b"bad", None])
    monkeypatch.setattr(bad_records, "_read_again", None)

    report = land(topic.spec, topic.connections)

    assert (report.records, report.dead_letters) == (3, 2)


def test_many_large_bad_records_are_read_again(make_topic: MakeTopic) -> None:
    topic = make_topic(on_bad_record="dead_letter")
    topic.trades(1)
    topic.send([b"bad" * 300_000] * 11)

    report = land(topic.spec, topic.connections)

    assert (report.records, report.dead_letters) == (1, 11)


@pytest.fixture
def strange_workers(topic: Topic, monkeypatch: pytest.MonkeyPatch) -> Iterator[Topic]:
    """Spark's workers seem to have another Frazil."""
    monkeypatch.setattr("frazil.landing.lane.job.version", lambda _: "0.0")
    yield topic
    topic.connections.spark.conf.unset("spark.frazil.lane")


def test_where_workers_lack_frazil_spark_writes_by_itself(
    strange_workers: Topic, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        strange_workers.trades(2)
        assert land(strange_workers.spec, strange_workers.connections).records == 2

    (told,) = [r for r in caplog.records if "lack what the Arrow lane needs" in r.message]
    assert "0.0" in told.why  # type: ignore[attr-defined]
