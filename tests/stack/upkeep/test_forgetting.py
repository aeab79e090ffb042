"""A person who must be forgotten: the planted name is searched for in every object, before and after."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastavro
import pyarrow.parquet as pq
import pytest
from pyiceberg.table import Table

from frazil.checks.run import run_check
from frazil.clients import Clients
from frazil.errors import OvertakenError, RepairError, RetryError, UsageError
from frazil.landing.land import land
from frazil.landing.position.ledger import read_ledger
from frazil.landing.repairs.acceptance import accept, foreign_commits
from frazil.landing.repairs.dead_letters import _table as create_letters
from frazil.landing.repairs.redrive import redrive
from frazil.landing.repairs.rollback import roll_back
from frazil.landing.replay import run
from frazil.landing.replay.run import replay
from frazil.spec.derived import DerivedSpec
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.spark.session import spark_name
from frazil.upkeep.expiry import survivors
from frazil.upkeep.expiry.expiry import expire
from frazil.upkeep.forgetting.condition import condition_of
from frazil.upkeep.forgetting.forget import forget, proofs
from frazil.upkeep.forgetting.report import ForgetReport, read_report
from kit.derived.made import Made, make_made
from kit.readers.opened import table_of
from kit.readers.stored import files_under
from kit.readers.targets import read_snowflake, sync_glue, sync_snowflake
from kit.records.topics import MakeTopic, Topic
from kit.records.upserts import upserts

PLANTED = "planted-person-7731"
DAY = 86_400.0


def trade(topic: Topic, quantity: int, symbol: str) -> bytes:
    return topic.encode({"side": "BUY", "quantity": quantity, "symbol": symbol})


@pytest.fixture
def topic(make_topic: MakeTopic) -> Topic:
    """Three landings; the person stands in two of them, and in a dead letter."""
    topic = make_topic(on_bad_record="dead_letter")
    for at in range(3):
        symbols = [PLANTED if at != 1 and n == 2 else f"ZTEST{n}" for n in range(5)]
        good = [trade(topic, 10 * at + n, symbol) for n, symbol in enumerate(symbols)]
        topic.send([*good, trade(topic, 99, PLANTED) + b"Z"] if at == 1 else good)
        land(topic.spec, topic.connections)
    return topic


def forgotten(topic: Topic, *derived: DerivedSpec, where: str = "", **options: Any) -> ForgetReport:
    condition = condition_of(table_of(topic).schema(), where or f"symbol = '{PLANTED}'")
    return forget(topic.spec, topic.connections, condition, derived, **{"after": 0.0, **options})


def texts_of(table: Table, path: str) -> Iterator[str]:
    """All that an object holds, read without Frazil."""
    content = table.io.new_input(path).open().read()
    yield repr(content)
    if path.endswith(".parquet"):
        yield repr(pq.read_table(io.BytesIO(content)).to_pylist())
    if path.endswith(".avro"):
        yield repr(list(fastavro.reader(io.BytesIO(content))))


def objects_with(table: Table, text: str) -> set[str]:
    """The objects below a table's location that hold a text, or the sixteen signs that bounds keep of it."""
    return {path for path in files_under(table) if any(text[:16] in each for each in texts_of(table, path))}


def test_a_forgotten_person_is_in_no_object_of_the_bucket_and_the_rows_add_up(topic: Topic) -> None:
    letters = topic.things.table.dead_letters
    shown = (sync_glue(topic.connections, topic.things), sync_snowflake(topic.connections, topic.things))
    before = read_ledger(table_of(topic).metadata)
    counted = forgotten(topic, dry_run=True)
    assert objects_with(table_of(topic), PLANTED)
    assert objects_with(TableHandle(topic.connections.catalog, letters).load(), PLANTED)

    report = forgotten(topic, by="ann")

    assert shown
    assert [(gone.table, gone.rows) for gone in counted.gone] == [
        (str(letters), 1),
        (str(topic.things.table), 2),
    ]
    assert [(gone.rows, len(gone.files)) for gone in report.gone] == [(1, 1), (2, 2)]
    assert not objects_with(table_of(topic), PLANTED)
    assert not objects_with(TableHandle(topic.connections.catalog, letters).load(), PLANTED)
    assert PLANTED not in json.dumps(report.document)
    after = read_ledger(table_of(topic).metadata)
    assert before
    assert after
    assert (after.position, after.forgotten) == (before.position, 2)
    for check in ("row_count", "row_count_deep", "glue_pointer", "snowflake_current"):
        assert run_check(check, topic.spec, topic.connections).passed, check
    seen = read_snowflake(topic.connections, topic.things)
    assert seen
    assert seen.rows == 13
    assert redrive(topic.spec, topic.connections).chosen == 0
    topic.trades(2)
    assert land(topic.spec, topic.connections).records == 2
    assert run_check("row_count_deep", topic.spec, topic.connections).passed


@pytest.mark.nightly
def test_rows_that_another_engine_hid_by_a_delete_file_leave_the_files_too(topic: Topic) -> None:
    table = spark_name(topic.things.table)
    topic.connections.spark.sql(
        f"ALTER TABLE {table} SET TBLPROPERTIES ('write.delete.mode'='merge-on-read')"
    )
    topic.connections.spark.sql(f"DELETE FROM {table} WHERE symbol = '{PLANTED}' AND quantity = 2").collect()
    (foreign,) = foreign_commits(table_of(topic).metadata)
    accept(topic.spec, topic.connections, foreign.snapshot_id, "asked for")

    report = forgotten(topic)

    assert [gone.rows for gone in report.gone] == [1, 1]
    assert not objects_with(table_of(topic), PLANTED)
    assert report.in_the_way == ()
    assert run_check("row_count_deep", topic.spec, topic.connections).passed


@pytest.mark.nightly
def test_only_files_that_hold_the_rows_are_written_anew_and_older_snapshots_go_when_the_time_is_up(
    topic: Topic, tmp_path: Path
) -> None:
    table = table_of(topic)
    files = {task.file.file_path for task in table.scan().plan_files()}
    table.manage_snapshots().create_tag(table.metadata.current_snapshot_id or 0, "audit").commit()

    report = forgotten(topic, after=DAY)

    gone = report.gone[-1]
    left = {task.file.file_path for task in table_of(topic).scan().plan_files()}
    assert (len(files - left), len(left - files)) == (2, len(gone.written))
    assert set(gone.files) == files - left
    assert any("tag audit keeps snapshot" in text for text in report.in_the_way)
    condition = condition_of(table.schema(), f"symbol = '{PLANTED}'")

    def still_held() -> bool:
        return any(proof.found for proof in proofs(topic.spec, topic.connections, condition, ()))

    expire(topic.spec, topic.connections, time.time())
    assert still_held()
    expire(topic.spec, topic.connections, time.time() + 2 * DAY)
    assert still_held()
    table_of(topic).manage_snapshots().remove_tag("audit").commit()
    expire(topic.spec, topic.connections, time.time() + 2 * DAY)
    assert not still_held()
    assert not objects_with(table_of(topic), PLANTED)

    file = tmp_path / "report.json"
    file.write_text(json.dumps(report.document))
    assert read_report(file)["table"] == str(topic.things.table)
    file.write_text(json.dumps({**report.document, "by": "somebody else"}))
    with pytest.raises(UsageError, match="was changed"):
        read_report(file)


@pytest.fixture
def made(topic: Topic, tmp_path: Path) -> Made:
    """Rows by themselves, with the column that tells the person."""
    name = topic.things.table
    sql = f"SELECT symbol AS person, quantity FROM {name}"
    table = make_made(topic.connections, tmp_path, f"{name.table}_out", sql)
    table.derive()
    return table


@pytest.mark.nightly
def test_what_was_made_of_the_rows_goes_by_lineage_and_derivations_go_on(
    topic: Topic, made: Made, tmp_path: Path
) -> None:
    name = topic.things.table
    sums = make_made(
        topic.connections, tmp_path, f"{name.table}_sums",
        f"SELECT side, sum(quantity) AS n FROM {name} GROUP BY side", kind="totals",
    )  # fmt: skip
    sums.derive()
    topic.trades(1)
    land(topic.spec, topic.connections)
    with pytest.raises(RetryError, match="frazil derive"):
        forgotten(topic, made.spec)
    made.derive()
    sums.derive()

    report = forgotten(topic, made.spec, sums.spec)

    assert (report.gone[-1].table, report.gone[-1].rows) == (str(made.name), 2)
    assert "does not hand on symbol" in report.not_told[str(sums.name)]
    assert not objects_with(made.table, PLANTED)
    assert run_check("row_count", made.spec, made.connections).passed
    topic.trades(1)
    land(topic.spec, topic.connections)
    assert (made.derive().rows, sums.derive().input_rows) == (1, 1)
    assert run_check("row_count", made.spec, made.connections).passed
    assert PLANTED not in {row[0] for row in made.rows("person")}
    sums.derive(rebuild=True)
    assert sums.rows("n") == [(sum(r["quantity"] for r in topic.rows()),)]


@pytest.mark.nightly
def test_rows_of_an_upsert_table_are_forgotten_by_their_key_in_every_older_snapshot(
    make_topic: MakeTopic,
) -> None:
    changes = upserts(make_topic)
    topic = changes.topic
    for quantity in (1, 2):
        changes.send([(PLANTED, quantity), ("other", quantity)])
        land(topic.spec, topic.connections)
    changes.send([(PLANTED, None)])
    land(topic.spec, topic.connections)
    assert objects_with(table_of(topic), PLANTED), "older snapshots hold what was deleted"

    report = forgotten(topic, where=f"key = '{PLANTED}'")

    assert report.rows == 0
    assert not objects_with(table_of(topic), PLANTED)
    assert changes.rows_by_key() == {"other": 2}
    assert run_check("row_count_deep", topic.spec, topic.connections).passed


@pytest.mark.nightly
def test_a_rollback_goes_not_past_what_was_forgotten(topic: Topic) -> None:
    old = table_of(topic).metadata.snapshots[1].snapshot_id
    forgotten(topic)

    with pytest.raises(Exception, match="no snapshot"):
        roll_back(topic.spec, topic.connections, old)


@pytest.mark.nightly
def test_a_landing_between_the_look_and_the_commit_loses_nothing(
    topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = survivors.write_survivors
    more = iter([trade(topic, 7, PLANTED)])

    def beside(*args: Any) -> Any:
        result = whole(*args)
        for value in more:
            topic.send([value])
            land(topic.spec, topic.connections)
        return result

    monkeypatch.setattr(survivors, "write_survivors", beside)

    report = forgotten(topic)

    assert report.gone[-1].rows == 3
    assert not objects_with(table_of(topic), PLANTED)
    assert run_check("row_count_deep", topic.spec, topic.connections).passed


@pytest.mark.nightly
def test_a_redrive_that_began_before_brings_nothing_back(make_topic: MakeTopic) -> None:
    topic = make_topic(on_bad_record="dead_letter")
    topic.send([trade(topic, 1, "ZTEST"), trade(topic, 2, PLANTED) + b"Z"])
    land(topic.spec, topic.connections)

    def meanwhile(step: str) -> None:
        if step == "audited":
            assert [gone.rows for gone in forgotten(topic).gone] == [1, 0]

    with pytest.raises(OvertakenError, match="forgetting"):
        redrive(topic.spec, topic.connections, repair=lambda r: (r.raw_value or b"")[:-1], on_step=meanwhile)

    assert [row["symbol"] for row in topic.rows()] == ["ZTEST"]
    assert redrive(topic.spec, topic.connections).chosen == 0
    assert run_check("row_count_deep", topic.spec, topic.connections).passed


@pytest.mark.nightly
@pytest.mark.parametrize("made", [False, True], ids=["no table yet", "a table that is made"])
def test_a_replay_that_makes_the_dead_letter_table_brings_nothing_back(
    make_topic: MakeTopic, monkeypatch: pytest.MonkeyPatch, made: bool
) -> None:
    topic = make_topic(key_format="string", on_null_value="keep")
    topic.send_keyed([(PLANTED.encode(), None), (b"other", trade(topic, 1, "ZTEST"))])
    land(topic.spec, topic.connections)
    changed = topic.spec.model_copy(update={"on_null_value": "bad", "on_bad_record": "dead_letter"})
    keep, times = run.keep_dead_letters, iter([1])

    def beside(*args: Any, **options: Any) -> None:
        for _ in times:
            if made:
                create_letters(TableHandle(topic.connections.catalog, topic.things.table).dead_letters)
            forgotten(topic, where=f"key = '{PLANTED}'", after=DAY)
        keep(*args, **options)

    monkeypatch.setattr(run, "keep_dead_letters", beside)

    with pytest.raises(RepairError, match="dead letters"):
        replay(changed, topic.connections, {0: (0, 2)})

    assert [row["key"] for row in topic.rows()] == ["other"]
    letters = TableHandle(topic.connections.catalog, topic.things.table).dead_letters.load_or_none()
    assert letters is None or not letters.scan().to_arrow().num_rows


@pytest.mark.nightly
@pytest.mark.parametrize("way", ["the first derivation", "a rebuild"])
def test_a_derivation_that_began_before_brings_nothing_back(topic: Topic, tmp_path: Path, way: str) -> None:
    name = topic.things.table
    sql = (
        f"SELECT symbol AS person, quantity, CASE WHEN quantity > 20 THEN 'late' END AS `$$error` FROM {name}"
    )
    made = make_made(topic.connections, tmp_path, f"{name.table}_out", sql)
    if way == "a rebuild":
        made.derive()

    def meanwhile(step: str) -> None:
        if step == "written":
            forgotten(topic, made.spec, after=DAY)  # what it reads must be there to the end

    with pytest.raises(OvertakenError, match="forgotten"):
        made.derive(rebuild=way == "a rebuild", on_step=meanwhile)

    assert PLANTED not in {row[0] for row in made.rows("person")}
    made.derive(rebuild=way == "a rebuild")
    assert PLANTED not in {row[0] for row in made.rows("person")}
    assert not any(PLANTED in row for _, row in made.dead_letters())
    assert run_check("row_count", made.spec, made.connections).passed


@pytest.mark.nightly
def test_a_landing_behind_the_look_is_looked_at_once_more(topic: Topic) -> None:
    def meanwhile(step: str) -> None:
        if step == "rows":
            topic.send([trade(topic, 7, PLANTED)])
            land(topic.spec, topic.connections)

    report = forgotten(topic, on_step=meanwhile)

    assert [gone.rows for gone in report.gone] == [1, 2, 1]
    assert not objects_with(table_of(topic), PLANTED)
    assert run_check("row_count_deep", topic.spec, topic.connections).passed


@pytest.mark.nightly
def test_a_file_that_no_snapshot_names_and_that_holds_the_rows_is_named(topic: Topic) -> None:
    table = table_of(topic)
    (file, *_) = [t.file.file_path for t in table.scan(row_filter=f"symbol = '{PLANTED}'").plan_files()]
    stray = file.replace(".parquet", "-stray.parquet")
    with table.io.new_input(file).open() as source, table.io.new_output(stray).create() as copy:
        copy.write(source.read())

    report = forgotten(topic)

    assert [text for text in report.in_the_way if stray in text and "frazil orphans" in text]
    assert objects_with(table_of(topic), PLANTED) == {stray}


@pytest.mark.nightly
def test_tables_whose_lineage_does_not_tell_are_named_with_what_makes_them_anew(
    topic: Topic, tmp_path: Path
) -> None:
    name = topic.things.table
    sums = make_made(
        topic.connections, tmp_path, f"{name.table}_sums",
        f"SELECT side, sum(quantity) AS n FROM {name} GROUP BY side", kind="totals",
    )  # fmt: skip
    sums.derive()
    of_sums = make_made(
        topic.connections, tmp_path, f"{name.table}_of_sums",
        f"SELECT side, n FROM {sums.name}", kind="full",
    )  # fmt: skip
    of_sums.derive()
    rows = make_made(
        topic.connections, tmp_path, f"{name.table}_rows", f"SELECT side, n FROM {sums.name}", kind="rows"
    )
    rows.derive()

    not_followed = forgotten(topic, sums.spec, of_sums.spec, rows.spec).not_told

    for made in (sums, rows):
        assert f"frazil derive {made.name} --rebuild" in not_followed[str(made.name)]
        assert "older snapshots and files keep the values until they expire" in not_followed[str(made.name)]


def test_a_dry_run_does_not_wait_for_upkeeps_spark(make_topic: MakeTopic) -> None:
    """That one stands behind all that is busy: a dry run beside landings took 160 seconds."""
    topic = make_topic(on_bad_record="dead_letter")
    topic.send([trade(topic, n, PLANTED) for n in range(2)] + [trade(topic, 99, PLANTED) + b"Z"])
    land(topic.spec, topic.connections)
    gone = topic.connections.settings.with_changes(spark={"upkeep_remote": "sc://127.0.0.1:1"})
    condition = condition_of(table_of(topic).schema(), f"symbol = '{PLANTED}'")

    report = forget(topic.spec, Clients(gone), condition, (), after=0.0, dry_run=True)

    assert [each.rows for each in report.gone] == [1, 2]
