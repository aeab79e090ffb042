"""A topic of 211,000 records moves from Tableflow to Frazil and back: none is lost, none is there twice."""

from __future__ import annotations

from collections.abc import Mapping

import duckdb
import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog

from frazil.checks.run import VERIFIED, run_checks
from frazil.clients import Clients
from frazil.connections import Connections
from frazil.errors import ConfigureError, StopError
from frazil.kafka.facts import topic_fact
from frazil.landing.halts.resume import resume
from frazil.landing.land import land
from frazil.landing.position.state import table_states
from frazil.landing.tableflow.release import release
from frazil.landing.tableflow.takeover import take_over
from frazil.publishing.targets import targets_of
from frazil.settings.profile import Settings
from frazil.spec.names import things
from frazil.spec.topic import TableSpec
from kit.deployments.tableflow import Tableflow, places_of
from kit.records.producing import send
from kit.records.topics import Topic, topic_maker

PARTITIONS, BY_TABLEFLOW, LATER, LAST = 6, 200_000, 10_000, 1_000


def produce(topic: Topic, count: int) -> None:
    """Record n is at offset n // 6 of partition n % 6, and says n."""
    schema_id = topic.register(topic.schema)
    numbers = range(topic.produced, topic.produced + count)
    for partition in range(PARTITIONS):
        own = [n for n in numbers if n % PARTITIONS == partition]
        values = [topic.encode({"side": "BUY", "quantity": n, "symbol": "ZTEST"}, schema_id) for n in own]
        topic.send(values, partition, plain="offsets follow from numbers")
    topic.produced += count


def spans(start: int, to: int) -> dict[int, tuple[int, int]]:
    """Where the records from one number to another one are."""
    return {p: (-(-(start - p) // PARTITIONS), -(-(to - p) // PARTITIONS)) for p in range(PARTITIONS)}


def rows(catalog: Catalog, name: tuple[str, str]) -> pa.Table:
    """What a reader finds, in the columns that count."""
    columns = ("quantity", "$$partition", "$$offset")
    return catalog.load_table(name).scan(selected_fields=columns).to_arrow()


def is_every_record_once(table: pa.Table, count: int) -> bool:
    """Whether these are the first records of the topic, each at its place."""
    places = list(places_of(table))
    numbers = table["quantity"].to_pylist()
    right = all(n == at * PARTITIONS + p for n, (p, at) in zip(numbers, places, strict=True))
    return right and len(places) == count and len(set(places)) == count


def failed(specs: list[TableSpec], connections: Connections) -> Mapping[str, str]:
    """All but the verifier, which does not judge rows of another program, have to look."""
    results = run_checks(specs, connections, deep=True)
    return {r.check: r.text for r in results if r.failed or not (r.passed or r.check == VERIFIED)}


@pytest.fixture
def glue(stack: Settings) -> Connections:
    """The stack with Glue as the owner of the tables."""
    return Clients(stack.with_changes(catalog="glue"))


@pytest.mark.nightly
def test_a_topic_moves_to_frazil_and_back(glue: Connections, fresh_name: str) -> None:
    topic = topic_maker(glue, fresh_name, fresh_name)(
        partitions=PARTITIONS, metadata="full", publish=["glue"]
    )
    of_tableflow = Clients(glue.settings.with_changes(kafka={"cluster_id": f"lkc-{fresh_name}"}))
    theirs = TableSpec(topic=topic.name, mode="tableflow")
    source, own = things(theirs, of_tableflow.settings).table, topic.things.table
    bucket = glue.settings.glue.warehouse.rstrip("/")
    quantity = lambda p, at: at * PARTITIONS + p  # noqa: E731
    tableflow = Tableflow(of_tableflow.catalog, bucket, source.identifier, quantity)

    # Tableflow lands 200,000 records in three commits of a file per partition; 10,000 more wait.
    produce(topic, BY_TABLEFLOW + LATER)
    tableflow.enable()
    for start, to in ((0, 120_000), (120_000, 199_000), (199_000, BY_TABLEFLOW)):
        tableflow.commit(spans(start, to))
    assert len(tableflow.table.metadata.snapshots) >= 12
    state = table_states([theirs], of_tableflow)[0]
    assert (state.rows, state.lag) == (BY_TABLEFLOW, LATER)
    shown = [target.sync(of_tableflow) for target in targets_of(theirs, of_tableflow.settings)]
    assert [each.rows for each in shown] == [None, BY_TABLEFLOW]  # Glue counts none, Snowflake all
    assert failed([theirs], of_tableflow) == {}

    # Frazil takes over.
    report = take_over(topic.spec, glue, source, of_tableflow)
    assert (report.rows, report.gaps) == (BY_TABLEFLOW, 0)
    assert land(topic.spec, glue).records == LATER
    assert is_every_record_once(rows(glue.catalog, own.identifier), BY_TABLEFLOW + LATER)
    for target in targets_of(topic.spec, glue.settings):
        target.sync(glue)
    assert failed([topic.spec], glue) == {}

    # And gives it back: Tableflow reads what the topic still holds into a new table.
    topic.delete_records_before(500, partition=3)
    released = release(topic.spec, glue)
    assert released.only_here == 500
    assert released.both == BY_TABLEFLOW + LATER - 500
    produce(topic, LAST)
    with pytest.raises(StopError):
        land(topic.spec, glue)
    of_tableflow.catalog.drop_table(source.identifier)
    again = spans(0, BY_TABLEFLOW + LATER + LAST)
    tableflow.enable()
    tableflow.commit(again | {3: (500, again[3][1])})
    for target in targets_of(theirs, of_tableflow.settings):
        target.sync(of_tableflow)
    assert failed([theirs], of_tableflow) == {}

    # Whoever reads both by the condition that was told has every record once.
    ours, new = rows(glue.catalog, own.identifier), rows(of_tableflow.catalog, source.identifier)
    with duckdb.connect() as db:
        db.register("ours", ours)
        db.register("new", new)
        both = db.sql(
            f"SELECT * FROM ours UNION ALL SELECT * FROM new WHERE {released.where}"
        ).to_arrow_table()
    assert is_every_record_once(both, BY_TABLEFLOW + LATER + LAST)

    # Back to Frazil once more, from where it stopped.
    assert resume(topic.spec, glue).records == LAST
    assert is_every_record_once(rows(glue.catalog, own.identifier), BY_TABLEFLOW + LATER + LAST)


@pytest.mark.nightly
def test_a_rest_catalog_is_read_and_one_that_cannot_take_over_tables_says_so(
    stack: Settings, fresh_name: str
) -> None:
    own = Clients(stack)
    topic = topic_maker(own, fresh_name, fresh_name)(partitions=PARTITIONS, metadata="full", publish=[])
    of_tableflow = Clients(stack.with_changes(kafka={"cluster_id": f"lkc-{fresh_name}"}))
    theirs = TableSpec(topic=topic.name, mode="tableflow", publish=())
    source = things(theirs, of_tableflow.settings).table
    tableflow = Tableflow(of_tableflow.catalog, "", source.identifier, lambda p, at: at * PARTITIONS + p)
    produce(topic, 600)
    tableflow.enable()
    tableflow.commit(spans(0, 590))
    before = tableflow.table.metadata_location

    assert failed([theirs], of_tableflow) == {}
    with pytest.raises(ConfigureError, match="can't take over tables that are there") as refused:
        take_over(topic.spec, own, source, of_tableflow)
    another = topic.spec.model_copy(update={"table": f"{fresh_name}_anew"})

    assert "into a table of another name" in refused.value.todo
    assert land(another, own).records == 600
    assert tableflow.table.metadata_location == before
    assert len(rows(of_tableflow.catalog, source.identifier)) == 590

    # Offsets behind the last record are markers of transactions, and aborted records: no row will come.
    tableflow.commit(spans(590, 600))
    send(stack, topic.name, [(None, b"last", 0)])
    last = table_states([theirs], of_tableflow)[0]
    assert last.state == "behind"
    tableflow.commit({0: (100, 101)})
    landed = table_states([theirs], of_tableflow)[0]
    assert topic_fact(own.admin, topic.name).end[0] > 101
    assert (landed.lag, landed.state, landed.freshness) == (0, "current", 0)
