"""Every check fails when what it guards is broken, and says so in numbers."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from frazil.checks.result import CheckResult
from frazil.checks.run import checks_of, run_check, run_checks
from frazil.errors import PartDownError, SuspendedError
from frazil.landing.land import land
from frazil.landing.position.ledger import Ledger, read_ledger
from frazil.landing.publication import Landed
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.commits.stage import StagedFiles, publish
from frazil.tables.metadata.manifests import added_files
from frazil.tables.spark.session import spark_name
from kit.readers.targets import sync_glue, sync_snowflake
from kit.records.topics import TRADE, Topic
from kit.runs.waiting import PATIENCE

also = pytest.mark.also("glue", why="there is no pointer behind the table to compare with", nightly=True)
"""Where it makes no difference who owns the table."""


def check(topic: Topic, name: str, **changed: Any) -> CheckResult:
    return run_check(name, topic.spec.model_copy(update=changed), topic.connections)


def spark(topic: Topic, sql: str) -> None:
    topic.connections.spark.sql(sql.format(table=spark_name(topic.things.table))).collect()


def ledger(topic: Topic) -> Ledger:
    newest_ledger = read_ledger(TableHandle(topic.connections.catalog, topic.things.table).load().metadata)
    assert newest_ledger
    return newest_ledger


def append_again(topic: Topic) -> None:
    """Adds the data files of the head to the table once more."""
    table = TableHandle(topic.connections.catalog, topic.things.table).load()
    head = table.current_snapshot()
    assert head
    files = list(added_files(table, head))
    with table.transaction() as tx, tx.update_snapshot().fast_append() as append:
        for file in files:
            append.append_data_file(file)


def publish_to_both(topic: Topic) -> None:
    sync_glue(topic.connections, topic.things)
    sync_snowflake(topic.connections, topic.things)


@also
def test_a_sound_table_passes_every_check(landed: Topic) -> None:
    publish_to_both(landed)

    results = run_checks([landed.spec], landed.connections, deep=True)

    assert {r.check for r in results} == set(checks_of(landed.spec, landed.connections.settings))
    assert [r.text for r in results if not r.passed] == []
    assert all(r.text and r.numbers and r.table == str(landed.things.table) for r in results)


def test_a_table_without_a_landing_has_nothing_missing(topic: Topic) -> None:
    land(topic.spec, topic.connections)

    for name in ("row_count", "row_count_deep"):
        assert check(topic, name).passed
        assert check(topic, name).text == "Nothing was landed yet: no row, no offset."


@pytest.mark.parametrize("name", ["row_count", "schema", "glue_pointer", "snowflake_current"])
def test_a_table_that_is_not_there_fails_in_one_sentence(topic: Topic, name: str) -> None:
    result = check(topic, name)

    assert not result.passed
    assert str(topic.things.table) in result.text


def test_a_server_that_is_down_says_nothing_about_the_data(landed: Topic) -> None:
    nobody = landed.connections.settings.with_changes(rest={"uri": "http://127.0.0.1:1"})

    with pytest.raises(PartDownError, match="catalog does not answer"):
        run_check("row_count", landed.spec, type(landed.connections)(nobody))


@pytest.mark.each_time("rest-copy-on-write")
@pytest.mark.plain(why="the check's own numbers are looked at")
@also
@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_a_deleted_row_is_missed(landed: Topic, mode: str) -> None:
    spark(landed, f"ALTER TABLE {{table}} SET TBLPROPERTIES ('write.delete.mode' = '{mode}')")
    spark(landed, "DELETE FROM {table} WHERE quantity = 4")

    count, deep = check(landed, "row_count"), check(landed, "row_count_deep")

    assert not count.passed
    assert "10 offsets of 1 partitions landed != 9 rows + 0 bad or left out + 0 known gaps" in count.text
    assert (count.numbers["offsets"], count.numbers["rows"]) == (10, 9)
    assert not deep.passed
    assert "1 are missing where 0 are known" in deep.text
    assert (deep.numbers["holes"], deep.numbers["duplicates"]) == (1, 0)


@pytest.mark.plain(why="the check's own numbers are looked at")
def test_a_data_file_that_is_there_twice_is_noticed(landed: Topic) -> None:
    append_again(landed)

    count, deep = check(landed, "row_count"), check(landed, "row_count_deep")

    assert "10 offsets of 1 partitions landed != 20 rows" in count.text
    assert "20 rows counted: 10 offsets are there twice, 0 are missing" in deep.text
    assert not count.passed
    assert not deep.passed


@pytest.mark.plain(why="the check's own numbers are looked at")
def test_a_lost_row_that_a_doubled_one_makes_up_for_is_found_by_the_deep_check(landed: Topic) -> None:
    spark(landed, "DELETE FROM {table} WHERE quantity = 4")
    spark(landed, "INSERT INTO {table} SELECT * FROM {table} WHERE quantity = 5")

    deep = check(landed, "row_count_deep")

    assert check(landed, "row_count").passed
    assert not deep.passed
    assert "10 rows counted: 1 offsets are there twice, 1 are missing" in deep.text


@pytest.mark.each_time("rest-offset-99-0")
@pytest.mark.parametrize(("column", "value", "partition"), [("offset", 99, 0), ("partition", 7, 7)])
def test_a_row_that_no_landing_brought_is_out_of_range(
    landed: Topic, column: str, value: int, partition: int
) -> None:
    spark(landed, f"UPDATE {{table}} SET `$${column}` = {value} WHERE quantity = 4")

    deep = check(landed, "row_count_deep")

    assert not deep.passed
    assert f"partitions [{partition}] hold offsets out of range" in deep.text


@pytest.mark.plain(why="the check's own numbers are looked at")
def test_spans_that_do_not_meet_are_named(landed: Topic) -> None:
    before = ledger(landed)
    torn = replace(before, spans={0: (12, 15)}, records=0, gaps={0: 5}, landing="torn")
    publish(TableHandle(landed.connections.catalog, landed.things.table), Landed(StagedFiles(), torn, before))

    result = check(landed, "row_count")

    assert not result.passed
    assert "15 offsets of 1 partitions landed = 10 rows + 0 bad or left out + 5 known gaps" in result.text
    assert "partition 0: one landing ends at 10, the next starts at 12" in result.text


@pytest.mark.each_time("rest-gone", "rest-metadata", "rest-wider")
@pytest.mark.parametrize(
    ("change", "expected", "severity"),
    [
        ("DROP COLUMN symbol", "symbol: a new required field", "ERROR"),
        ("DROP COLUMN `$$offset`", "$$offset: column is missing", "ERROR"),
        ("RENAME COLUMN symbol TO ticker", "ticker: a field that rows hold can't be dropped", "ERROR"),
        ("ADD COLUMN note string", "note: a field that rows hold can't be dropped", "ERROR"),
        ("ALTER COLUMN quantity TYPE bigint", "quantity: the table's type is wider already", "WARN"),
    ],
    ids=["gone", "metadata", "renamed", "more", "wider"],
)
def test_columns_that_differ_from_the_registry_are_named(
    landed: Topic, change: str, expected: str, severity: str
) -> None:
    spark(landed, f"ALTER TABLE {{table}} {change}")

    result = check(landed, "schema")

    assert (result.passed, result.severity) == (False, severity)
    assert expected in result.text
    assert "columns against version 1" in result.text
    assert int(result.numbers["differences"]) >= 1


def test_a_schema_that_the_next_landing_will_take_is_a_warning_until_then(landed: Topic) -> None:
    note = {"name": "note", "type": ["null", "string"], "default": None}
    landed.register({**TRADE, "fields": [*TRADE["fields"], note]})

    pending = check(landed, "schema")
    land(landed.spec, landed.connections)

    assert (pending.passed, pending.severity) == (False, "WARN")
    assert "note: a new optional field is added" in pending.text
    assert check(landed, "schema").passed
    assert check(landed, "schema").numbers["registry_version"] == 2


def test_glue_without_the_table_fails(landed: Topic) -> None:
    result = check(landed, "glue_pointer")

    assert (result.passed, result.severity) == (False, "ERROR")
    assert result.text == (
        f"Glue has no {landed.things.table}: `frazil sync {landed.things.table}` makes it."
    )


@pytest.mark.nightly
def test_a_glue_pointer_that_was_moved_is_named_and_sync_mends_it(landed: Topic) -> None:
    old = TableHandle(landed.connections.catalog, landed.things.table).load().metadata_location
    landed.trades(1)
    land(landed.spec, landed.connections)
    sync_glue(landed.connections, landed.things)
    assert check(landed, "glue_pointer").passed
    point_glue(landed, old)

    moved = check(landed, "glue_pointer")
    sync_glue(landed.connections, landed.things)

    assert not moved.passed
    assert f"Glue shows {landed.things.table} as of {old.rsplit('/', 1)[-1]};" in moved.text
    assert f"`frazil sync {landed.things.table}` fixes it" in moved.text
    assert moved.numbers["glue_metadata"] == old
    assert check(landed, "glue_pointer").passed


def point_glue(topic: Topic, location: str) -> None:
    glue, database, name = topic.connections.glue, topic.things.table.namespace, topic.things.table.table
    entry = glue.get_table(DatabaseName=database, Name=name)["Table"]
    glue.update_table(
        DatabaseName=database,
        TableInput={
            "Name": name,
            "TableType": entry["TableType"],
            "StorageDescriptor": entry["StorageDescriptor"],
            "Parameters": {**entry["Parameters"], "metadata_location": location},
        },
        VersionId=entry["VersionId"],
    )


@pytest.mark.nightly
@also
def test_a_landing_that_snowflake_did_not_hear_of_fails_until_it_is_published(landed: Topic) -> None:
    publish_to_both(landed)
    assert check(landed, "snowflake_current").passed
    landed.trades(5)
    land(landed.spec, landed.connections)

    stale = check(landed, "snowflake_current")
    publish_to_both(landed)

    assert not stale.passed
    assert "Snowflake shows 10 rows of " in stale.text
    assert "Iceberg holds 15 rows" in stale.text
    assert (stale.numbers["snowflake_rows"], stale.numbers["iceberg_rows"]) == (10, 15)
    assert check(landed, "snowflake_current").passed


@pytest.mark.plain(why="the check's own numbers are looked at")
def test_records_that_wait_too_long_are_late_and_idle_topics_never_are(landed: Topic) -> None:
    at_once = timedelta(milliseconds=1)
    idle = check(landed, "freshness", freshness=at_once)
    landed.trades(3)
    late = check(landed, "freshness", freshness=at_once)

    assert idle.passed
    assert idle.text == "Records waiting: 0, so the table is current; 0 s allowed."
    assert (late.passed, late.severity, late.numbers["lag"]) == (False, "WARN", 3)
    assert late.text.startswith("Records waiting: 3, last landing ")
    assert check(landed, "freshness", freshness=timedelta(hours=1)).passed
    assert check(landed, "freshness", freshness=None).text.endswith("no limit set.")


def test_a_table_that_is_suspended_is_late_with_its_next_step(landed: Topic) -> None:
    landed.send([b"no record"])
    with pytest.raises(SuspendedError):
        land(landed.spec, landed.connections)

    result = check(landed, "freshness", freshness=timedelta(hours=1))

    assert not result.passed
    assert f"`frazil resume {landed.things.table}`" in result.text
    assert "seconds" not in result.numbers


def test_columns_of_text_are_compared_with_no_version_of_a_subject(topic: Topic) -> None:
    topic.spec = topic.spec.model_copy(update={"value_format": "string", "key_format": "string"})
    topic.send([b"text"])
    land(topic.spec, topic.connections)

    result = check(topic, "schema")

    assert result.passed
    assert "columns against values of string (2 fields" in result.text


@pytest.mark.plain(why="the check's own numbers are looked at")
def test_a_topic_that_was_never_landed_is_late_as_soon_as_it_holds_a_record(topic: Topic) -> None:
    topic.trades(3)

    result = check(topic, "freshness", freshness=timedelta(hours=1))

    assert not result.passed
    waiting = "Records waiting: 3, never landed; 3600 s allowed."
    assert result.text == f"{waiting} `frazil land {topic.things.table}` lands them."
    assert result.numbers == {"lag": 3}  # a plot has no number of seconds for never


def test_a_topic_that_is_gone_is_not_called_current(landed: Topic) -> None:
    for future in landed.connections.admin.delete_topics([landed.name], operation_timeout=30).values():
        future.result(PATIENCE)

    result = check(landed, "freshness", freshness=timedelta(hours=1))

    assert not result.passed
    assert f"Topic {landed.name} does not exist" in result.text
    assert f"`frazil land {landed.things.table} --make-topic`" in result.text
    assert result.numbers == {}
