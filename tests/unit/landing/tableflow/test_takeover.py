"""A topic moves from Tableflow to Frazil: rows and position go together, and nothing is guessed."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.schema import Schema
from pyiceberg.types import StringType

from frazil.checks.run import run_check
from frazil.clients import Clients
from frazil.errors import (
    AuditFailedError,
    DifferentError,
    FrazilError,
    OvertakenError,
    RepairError,
    SpecError,
    TopicChangedError,
)
from frazil.kafka.facts import topic_fact
from frazil.landing.land import land
from frazil.landing.plan import make_plan
from frazil.landing.position.history import look
from frazil.landing.position.ledger import ledgers, read_ledger
from frazil.landing.position.state import table_states
from frazil.landing.repairs.acceptance import foreign_commits
from frazil.landing.tableflow import takeover
from frazil.landing.tableflow.takeover import take_over
from frazil.spec.names import TableName, things
from frazil.spec.topic import TableSpec
from frazil.tables.commits.stage import publish
from kit.deployments import tableflow as kit
from kit.deployments.tableflow import (
    NAME,
    OWN,
    SPANS,
    SPEC,
    TOPIC,
    TRADE,
    Logs,
    Registry,
    Tableflow,
    adopted,
    clients,
    places_of,
)


def test_the_position_is_behind_the_last_row_of_each_partition(now: Clients) -> None:
    report = adopted(now)

    assert report.table == str(OWN) == str(things(SPEC, now.settings).table)
    assert (report.rows, report.gaps, report.given_up) == (60, 0, 0)
    assert report.position == {0: 40, 1: 25, 2: 0}


def test_the_next_landing_begins_there_and_doubles_nothing(now: Clients) -> None:
    adopted(now)
    ledger = read_ledger(now.catalog.load_table(OWN.identifier).metadata)

    plan = make_plan(look(now.settings, OWN, topic_fact(now.admin, TOPIC), ledger), 1000)

    assert plan.spans == {0: (40, 50), 1: (25, 25), 2: (0, 3)}
    assert not plan.adopts


def test_columns_rows_and_files_are_those_that_tableflow_wrote(tableflow: Tableflow, now: Clients) -> None:
    adopted(now)
    table = now.catalog.load_table(OWN.identifier)

    assert table.schema() == tableflow.table.schema()
    assert table.location() == tableflow.table.location()
    wanted = [(p, at) for p, (start, to) in SPANS.items() for at in range(start, to)]
    assert sorted(places_of(table.scan().to_arrow())) == wanted


def test_every_check_of_a_landed_table_holds_afterwards(now: Clients) -> None:
    adopted(now)

    counted = run_check("row_count", SPEC, now)
    assert counted.passed, counted.text
    assert run_check("schema", SPEC, now).passed
    assert table_states([SPEC], now)[0].state == "behind"
    assert foreign_commits(now.catalog.load_table(OWN.identifier).metadata) == []


def test_a_second_adoption_is_refused_and_says_how_to_go_on(now: Clients) -> None:
    adopted(now)

    with pytest.raises(DifferentError, match=r"Frazil lands local\.stock_trades already") as e:
        adopted(now)

    assert "frazil land" in e.value.todo
    ledger = read_ledger(now.catalog.load_table(OWN.identifier).metadata)
    plan = make_plan(look(now.settings, OWN, topic_fact(now.admin, TOPIC), ledger), 1000)
    assert plan.spans == {0: (40, 50), 1: (25, 25), 2: (0, 3)}


def test_one_that_died_before_its_ledger_goes_on(now: Clients, monkeypatch: pytest.MonkeyPatch) -> None:
    def dies(*_: object) -> None:
        raise SystemExit

    monkeypatch.setattr(takeover, "publish", dies)
    with pytest.raises(SystemExit):
        adopted(now)
    monkeypatch.setattr(takeover, "publish", publish)
    there = now.catalog.load_table(OWN.identifier).metadata_location

    with pytest.raises(RepairError, match="has 60 rows, and nothing tells which records"):
        land(SPEC, now)

    assert now.catalog.load_table(OWN.identifier).metadata_location == there
    assert adopted(now).rows == 60


def test_a_table_that_goes_on_moving_is_left_alone(
    tableflow: Tableflow, now: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    same = SPEC.model_copy(update={"namespace": NAME[0], "table": NAME[1]})

    def tableflow_commits(*args: object) -> object:
        tableflow.commit({0: (40, 45)})
        return publish(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(takeover, "publish", tableflow_commits)
    with pytest.raises(OvertakenError, match="taken over, or written to"):
        adopted(now, same)
    monkeypatch.setattr(takeover, "publish", publish)

    assert read_ledger(tableflow.table.metadata) is None
    assert adopted(now, same).position == {0: 45, 1: 25, 2: 0}


def test_a_rollback_behind_the_adoption_needs_another_one(now: Clients) -> None:
    adopted(now)
    table = now.catalog.load_table(OWN.identifier)
    (snapshot, _), *_ = ledgers(table.metadata)
    table.manage_snapshots().rollback_to_snapshot(snapshot.parent_snapshot_id or 0).commit()

    with pytest.raises(FrazilError, match=r"nothing tells"):
        land(SPEC, now)


def refused(connections: Clients, error: type[FrazilError], text: str, spec: TableSpec = SPEC) -> FrazilError:
    with pytest.raises(error, match=text) as caught:
        adopted(connections, spec)
    assert not connections.catalog.table_exists(OWN.identifier)
    return caught.value


def test_rows_that_are_there_twice_are_not_taken_over(tableflow: Tableflow, now: Clients) -> None:
    tableflow.commit({0: (39, 40)})

    assert "partition 0: 41 rows for 40 offsets" in refused(now, AuditFailedError, "does not add up").where


def test_rows_that_name_no_offset_are_not_taken_over(tableflow: Tableflow, now: Clients) -> None:
    tableflow.placeless()

    assert refused(now, AuditFailedError, "does not add up").where == "1 rows name no partition, or no offset"


def test_rows_of_a_topic_that_was_made_again_stay_and_it_lands_into_a_table_of_another_name(
    tableflow: Tableflow,
) -> None:
    anew = clients(tableflow.catalog, Logs(spans={0: (0, 7), 1: (0, 25)}))
    before = tableflow.table.metadata

    error = refused(anew, TopicChangedError, "not of the topic")

    assert "partition 0 ends at 7" in error.where
    assert error.todo.startswith("Land the topic into a table of another name; the old rows stay")
    assert spans_of_another_table(anew) == {0: (0, 7), 1: (0, 25)}
    assert tableflow.table.metadata == before


def spans_of_another_table(connections: Clients) -> dict[int, tuple[int, int]]:
    """What a landing into a table that is not there yet begins with."""
    facts = topic_fact(connections.admin, TOPIC)
    history = look(connections.settings, TableName(OWN.namespace, "another"), facts, None)
    return dict(make_plan(history, 1000).spans)


def test_a_table_of_another_name_takes_over_where_the_name_is_taken(now: Clients) -> None:
    now.catalog.create_namespace(OWN.namespace)
    now.catalog.create_table(OWN.identifier, Schema())
    theirs = now.catalog.load_table(OWN.identifier).metadata_location
    with pytest.raises(DifferentError, match="already, and it is not") as raised:
        adopted(now)

    assert raised.value.todo == "Give the table another name in the spec."
    assert adopted(now, SPEC.model_copy(update={"table": "another"})).rows == 60
    assert now.catalog.load_table(OWN.identifier).metadata_location == theirs


def test_offsets_that_nobody_tells_of_are_given_up_only_if_asked(tableflow: Tableflow) -> None:
    tableflow.commit({0: (40, 50)}, without=[(0, 42), (0, 44)])
    late = clients(tableflow.catalog, Logs(spans={0: (45, 50), 1: (5, 25)}))

    error = refused(late, RepairError, "lacks records")
    assert "partition 0: 2 offsets have no row, and the topic no longer holds them" in error.where
    assert adopted(late, accept_gaps=True).given_up == 2
    assert run_check("row_count", SPEC, late).passed


def test_records_before_the_first_row_are_not_passed_over(tableflow: Tableflow) -> None:
    longer = clients(tableflow.catalog, Logs(spans={0: (0, 40), 1: (2, 25)}))

    assert "partition 1: the topic still holds [2, 5)" in refused(longer, RepairError, "lacks records").where


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"metadata": "standard"}, r"\$\$raw-key: the spec has no such column"),
        ({"metadata_names": "portable"}, "cflt_metadata_topic: missing"),
    ],
)
def test_a_spec_of_other_columns_is_refused(now: Clients, changes: dict[str, str], expected: str) -> None:
    other = SPEC.model_copy(update=changes)

    with pytest.raises(DifferentError) as caught:
        adopted(now, other)

    assert caught.match("not those that the spec asks for")
    assert re.search(expected, caught.value.where)
    assert "`metadata: full`" in caught.value.todo
    mended = other.model_copy(update={"metadata": "full", "metadata_names": "tableflow"})
    assert adopted(now, mended).rows == 60


def test_only_a_table_of_all_records_takes_over_and_that_is_the_mode_that_is_named(now: Clients) -> None:
    keyed = SPEC.model_copy(update={"mode": "upsert"})
    with pytest.raises(SpecError, match="mode: upsert") as refused:
        adopted(now, keyed)

    assert "Write mode: append" in refused.value.todo
    assert adopted(now, keyed.model_copy(update={"mode": "append"})).rows == 60


def test_a_schema_that_the_rows_do_not_fit_is_refused(tableflow: Tableflow) -> None:
    textual = Registry(schema=TRADE.replace('"quantity", "type": "int"', '"quantity", "type": "string"'))

    error = refused(
        clients(tableflow.catalog, Logs(spans=SPANS), textual), DifferentError, "not those that the spec"
    )
    assert "quantity" in error.where


def test_columns_that_tableflow_writes_otherwise_are_named(
    tableflow: Tableflow, now: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields = [
        f.model_copy(update={"field_type": StringType()}) if f.name == "$$timestamp" else f
        for f in kit.COLUMNS.fields
    ]
    monkeypatch.setattr(kit, "COLUMNS", Schema(*fields))
    monkeypatch.setattr(Tableflow, "name", ("lkc-5w1k2", "other"))
    other = replace(tableflow, name=("lkc-5w1k2", "other"))
    other.enable()

    with pytest.raises(DifferentError) as caught:
        take_over(SPEC, now, TableName("lkc-5w1k2", "other"), now)

    assert "$$timestamp: string, not timestamptz" in caught.value.where


def test_a_table_without_a_row_is_landed_from_the_start_instead(catalog: Catalog, tmp_path: Path) -> None:
    Tableflow(catalog, tmp_path.as_uri()).enable()

    connections = clients(catalog, Logs(spans=SPANS))
    error = refused(connections, DifferentError, "has no row of the topic")

    assert error.todo == "Let Frazil land the topic from its first offset, into a table of another name."
    assert spans_of_another_table(connections) == SPANS
