"""`frazil rebuild-catalog`: the catalog is lost, the bucket is there; nothing is lost or doubled by it.

`frazil verify`, which shares no code with the engine, says so of each record.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from frazil.connections import Connections
from frazil.landing.land import land
from frazil.spec.topic import TableSpec
from frazil.tables.metadata.snapshots import number, summary_of
from kit.readers.duck import duckdb_on
from kit.readers.stored import files_under
from kit.records.topics import TRADE, Topic, create_topic
from kit.runs.shell import Command, Shell

WIDER = {**TRADE, "fields": [*TRADE["fields"], {"name": "note", "type": ["null", "string"], "default": None}]}  # type: ignore[misc]


@pytest.fixture
def shop(lake: Connections, shell: Shell, fresh_name: str, monkeypatch: pytest.MonkeyPatch) -> list[Topic]:
    """Orders in partitions, with dead letters; customers by key, with vectors; and a table made of orders."""
    monkeypatch.setenv("FRAZIL_CATALOG", lake.settings.catalog)
    specs: list[dict[str, Any]] = [
        {
            "topic": f"{fresh_name}_orders",
            "on_bad_record": "dead_letter",
            "partition_by": ["bucket(4, quantity)"],
        },
        {
            "topic": f"{fresh_name}_customers",
            "mode": "upsert",
            "key_format": "string",
            "partition_by": [],
            "format_version": 3,
            "write": {"delete": "vector", "target_file_size": 2000},
            "upkeep": {"delete_files": 0},
        },
    ]
    topics = []
    for spec in specs:
        create_topic(lake.admin, spec["topic"], 2, {})
        topics.append(Topic(spec["topic"], lake, TableSpec(namespace=fresh_name, **spec)))
    buys = {"table": "buys", "namespace": fresh_name, "sql": f"SELECT quantity FROM {specs[0]['topic']}"}
    shell.write(*({"namespace": fresh_name, **spec} for spec in specs), derived=[buys], name="shop")
    return topics


def fill(topics: list[Topic], frazil: Command, *, bad: int = 1) -> None:
    """Sends records to both, lands them, and derives. Of forty customers two change, once they are there."""
    orders, customers = topics
    for partition in range(2):
        orders.trades(5, partition)
    orders.send([b"no frame"] * bad)
    numbers = range(2) if customers.produced else range(40)
    value = {"side": "BUY", "quantity": customers.produced, "symbol": "Z"}
    customers.send_keyed([(f"k{n}".encode(), customers.encode(value)) for n in numbers])
    customers.produced += 1
    assert frazil("land", "--all").code == 0
    assert frazil("derive", "--all").code == 0


def lose(catalog: Catalog, names: Iterable[tuple[str, str]]) -> list[Table]:
    """Has the catalog forget tables, and returns what they were.

    SeaweedFS' deletes all files of a table that it drops: they are put back.
    """
    tables = [catalog.load_table(name) for name in names]
    for table in tables:
        kept = {path: _read(table, path) for path in files_under(table)}
        catalog.drop_table(table.name())
        for path in (each for each in kept if not table.io.new_input(each).exists()):
            with table.io.new_output(path).create() as file:
                file.write(kept[path])
    return tables


def _read(table: Table, path: str) -> bytes:
    with table.io.new_input(path).open() as file:
        return file.read()


def looks(table: Table) -> dict[str, Any]:
    """What a table is, by its catalog and its rows."""
    metadata = table.metadata
    return {
        "uuid": metadata.table_uuid,
        "refs": {name: (ref.snapshot_id, ref.snapshot_ref_type) for name, ref in metadata.refs.items()},
        "snapshots": [
            (s.snapshot_id, s.sequence_number, s.manifest_list, s.summary) for s in metadata.snapshots
        ],
        "specs": {spec.spec_id: spec.fields for spec in metadata.partition_specs},
        "columns": table.schema().as_struct(),
        "properties": {n: v for n, v in metadata.properties.items() if n.startswith("frazil.")},
        "rows": sorted(map(repr, table.scan().to_arrow().to_pylist())),
        "first rows": table.scan(snapshot_id=metadata.snapshots[1].snapshot_id).to_arrow().num_rows,
    }


@pytest.mark.nightly
@pytest.mark.also("glue", why="it reads the metadata file that it registers; SeaweedFS over REST does not")
def test_tables_come_back_from_the_bucket_and_landings_go_on_where_they_ended(
    shop: list[Topic], lake: Connections, frazil: Command, fresh_name: str
) -> None:
    fill(shop, frazil)
    assert frazil("cut", "create", "month", "--pipeline", "shop").code == 0
    shop[0].register(WIDER)
    shop[0].send([shop[0].encode({"side": "BUY", "quantity": 99, "symbol": "Z", "note": "n"})])
    fill(shop, frazil)
    names = sorted((fresh_name, name) for *_, name in lake.catalog.list_tables(fresh_name))
    bucket = lake.catalog.load_table(names[0]).location().rpartition("/")[0]
    before = [looks(table) for table in lose(lake.catalog, names)]

    looked = frazil("rebuild-catalog", "--from", bucket, "--dry-run", "--json")
    refused = frazil("land", "--all")
    untouched = lake.catalog.list_tables(fresh_name)
    done = frazil("rebuild-catalog", "--from", bucket, "--json")
    again = frazil("rebuild-catalog", "--from", bucket, "--json")

    assert [each["outcome"] for each in looked.document["tables"]] == ["found"] * len(names)
    assert untouched == []
    assert (refused.code, "rebuild-catalog" in refused.err) == (3, True)
    assert (done.code, [each["outcome"] for each in done.document["tables"]]) == (0, ["rebuilt"] * len(names))
    doubts = {doubt for each in done.document["tables"] for doubt in each["unproven"]}
    assert len(doubts) == (lake.settings.catalog == "rest")  # SeaweedFS takes no old snapshot's time
    assert [each["outcome"] for each in again.document["tables"]] == ["there"] * len(names)
    assert [looks(lake.catalog.load_table(name)) for name in names] == before

    fill(shop, frazil)

    verified = frazil("verify", "--all", "--json")
    assert (verified.code, [each["sound"] for each in verified.document]) == (0, [True, True])
    assert verified.document[0]["rows"] == 31
    assert lake.catalog.load_table((fresh_name, "buys")).scan().to_arrow().num_rows == 31


@pytest.mark.nightly
@pytest.mark.parametrize("lake", ["glue"], indirect=True)
def test_tables_of_a_bucket_that_was_copied_elsewhere_come_back_there_and_landings_go_on(
    shop: list[Topic], lake: Connections, frazil: Command, fresh_name: str
) -> None:
    """SeaweedFS' own catalog takes no table in a folder of another depth."""
    fill(shop, frazil)
    fill(shop, frazil)
    customers = lake.catalog.load_table((fresh_name, shop[1].name))
    assert number(summary_of(customers.current_snapshot()), "total-position-deletes") == 2
    names = sorted((fresh_name, name) for *_, name in lake.catalog.list_tables(fresh_name))
    before = [looks(lake.catalog.load_table(name)) for name in names]
    old = customers.location().rpartition("/")[0]
    new = f"{old.rpartition('/')[0]}/moved_{fresh_name}/{old.rpartition('/')[2]}"
    for table in lose(lake.catalog, names):
        move_away(table, old, new)
    command = ("rebuild-catalog", "--from", new, "--moved", f"{old}={new}", "--json")

    unsaid = frazil("rebuild-catalog", "--from", new, "--json")
    looked, done = frazil(*command, "--dry-run"), frazil(*command)

    assert {each["outcome"] for each in unsaid.document["tables"]} == {"failed"}
    assert {each["outcome"] for each in looked.document["tables"]} == {"found"}
    assert {each["outcome"] for each in done.document["tables"]} == {"rebuilt"}
    for name, was in zip(names, before, strict=True):
        table = lake.catalog.load_table(name)
        assert table.location() == f"{new}/{name[1]}"
        assert {**looks(table), "snapshots": ()} == {**was, "snapshots": ()}  # their lists are new
        with duckdb_on(lake.settings) as duck:
            rows = duck.sql(f"FROM iceberg_scan('{table.metadata_location}')").fetchall()
        assert len(rows) == len(was["rows"])

    fill(shop, frazil)

    verified = frazil("verify", "--all", "--json")
    assert (verified.code, [each["sound"] for each in verified.document]) == (0, [True, True])
    assert lake.catalog.load_table((fresh_name, "buys")).scan().to_arrow().num_rows == 30


def move_away(table: Table, old: str, new: str) -> None:
    """Copies all files of a table to another folder, and deletes them where they were."""
    for path in files_under(table):
        content = _read(table, path)
        with table.io.new_output(path.replace(old, new)).create() as file:
            file.write(content)
        table.io.delete(path)


def test_a_rebuild_that_was_killed_between_its_two_steps_goes_on(
    connections: Connections, frazil: Command, fresh_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SeaweedFS makes an empty table first; this one is of format version 3, whose rows have ids."""
    create_topic(connections.admin, fresh_name, 1, {})
    topic = Topic(
        fresh_name, connections, TableSpec(topic=fresh_name, namespace=fresh_name, format_version=3)
    )
    for _ in range(2):
        topic.trades(3)
        land(topic.spec, topic.connections)
    name = topic.things.table.identifier
    (table,) = lose(connections.catalog, [name])
    command = ("rebuild-catalog", "--from", table.location().rpartition("/")[0])

    with monkeypatch.context() as patch:
        patch.setattr(type(connections.catalog), "commit_table", killed)
        stopped = frazil(*command)
    empty = connections.catalog.load_table(name)
    done = frazil(*command)
    topic.trades(3)
    land(topic.spec, topic.connections)

    assert (stopped.code, done.code) == (130, 0)
    assert empty.current_snapshot() is None
    times = [each.timestamp_ms for each in connections.catalog.load_table(name).metadata.snapshots]
    assert min(times) >= empty.metadata.last_updated_ms  # SeaweedFS refuses one that is a minute older
    assert [row["quantity"] for row in topic.rows()] == list(range(9))
    assert connections.catalog.load_table(name).metadata.table_uuid == table.metadata.table_uuid


def killed(*_: object) -> None:
    raise KeyboardInterrupt
