"""A real PostgreSQL and a real Debezium, in a stack of their own that is started `--with northwind`."""

from __future__ import annotations

import os
import random
import urllib.error
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, get_args

import psutil
import psycopg
import pytest

from frazil.checks.run import run_check
from frazil.clients import Clients
from frazil.kafka.clients import admin_client
from frazil.kafka.facts import topic_facts
from frazil.kafka.provisioning import ensure_topic
from frazil.landing.land import land
from frazil.pipelines.folder import load_pipelines
from frazil.settings.profile import Settings
from frazil_local.home import Home, secret
from frazil_local.northwind.connect import connector_states
from frazil_local.northwind.database import DATABASE
from frazil_local.northwind.postgres import open_database
from frazil_local.northwind.rows import COUNTS
from frazil_local.ports import LOOPBACK, recall, url
from frazil_local.server import get
from kit.derived.made import Made
from kit.records.topics import Topic
from kit.runs.processes import kill
from kit.runs.waiting import wait_for
from kit.stack.database import Written, database, drain
from kit.stack.own_stack import Own
from kit.stack.shared_stack import free_offset

SEEDS = int(os.environ.get("FRAZIL_TEST_CDC", "1"))
SEED = int(os.environ.get("FRAZIL_TEST_SEED", "0")) or random.randrange(1, 2**31)
WRITTEN: tuple[Written, ...] = get_args(Written)[::-1]
"""Of one seed the frame is embedded: the changes of the last test are plain."""
KEYS = {
    table: f"{key} = {key} WHERE ctid = (SELECT min(ctid) FROM {table})"
    for table, key in {
        "categories": "category_id", "region": "region_id", "territories": "territory_id",
        "us_states": "state_id", "shippers": "shipper_id", "suppliers": "supplier_id",
        "customers": "customer_id", "employees": "employee_id", "employee_territories": "employee_id",
        "products": "product_id", "orders": "order_id", "order_details": "order_id",
    }.items()
}  # fmt: skip
"""What changes a row of each table, and leaves it as it is."""
MADE = {
    "northwind_stock_to_reorder": "SELECT product_id, product_name, supplier_id, units_in_stock, "
    "units_on_order, reorder_level FROM products "
    "WHERE discontinued = 0 AND units_in_stock + units_on_order <= reorder_level",
    "northwind_orders_open": "SELECT customer_id, count(*), min(order_date), min(required_date) FROM orders "
    "WHERE shipped_date IS NULL GROUP BY 1",
    "northwind_sales": "SELECT date_trunc('month', order_date)::date, category_name, "
    "count(DISTINCT order_id), sum(quantity), "
    "sum(d.unit_price::numeric(10, 2) * quantity * (1 - discount::numeric(4, 2)))::numeric(14, 2) "
    "FROM order_details d JOIN orders USING (order_id) JOIN products USING (product_id) "
    "JOIN categories USING (category_id) GROUP BY 1, 2",
}
"""The tables that are made of those, as PostgreSQL makes them."""
EACH_ROW = {table: count for table, count in COUNTS.items() if count}
"""Records that Debezium sends of a database that nobody has changed, by table."""
PARTS = ("kafka", "postgres", "connect")
ONLY = [word for part in PARTS for word in ("--only", part)]


@pytest.fixture(scope="module")
def own(stack_home: Home, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Own]:
    """The parts that a database's changes pass through."""
    own = Own(Home(tmp_path_factory.mktemp("northwind")))
    try:
        own.up("--with", "northwind", "--port-offset", str(free_offset()), *ONLY)
        yield own
    finally:
        own.frazil("down", "--wipe")


@pytest.fixture(scope="module")
def through_it(stack: Settings, own: Own) -> Clients:
    """The shared stack, with this Kafka in the place of its own."""
    kafka = {"bootstrap_servers": own.settings.kafka.bootstrap_servers}
    return Clients(stack.with_changes(kafka=kafka))


def sent(own: Own) -> dict[str, int]:
    """Records by table: those that Debezium sent."""
    names = [f"{DATABASE}.public.{table}" for table in COUNTS]
    facts = topic_facts(admin_client(own.settings), names)
    return {name.rpartition(".")[2]: sum(topic.end.values()) for name, topic in facts.items()}


def test_the_parts_come_up_and_send_the_rows_that_are_there(own: Own) -> None:
    assert {part: own.parts[part].state for part in PARTS} == dict.fromkeys(PARTS, "up")

    wait_for(lambda: sent(own) == EACH_ROW)


def test_nobody_gets_in_without_the_password_and_nobody_reads_it(own: Own) -> None:
    ports = recall(own.home.ports)
    listening = [
        each.laddr.ip
        for process in own.processes
        for each in process.net_connections("inet")
        if each.status == psutil.CONN_LISTEN
    ]
    keys = [secret(own.home, part) for part in ("postgres", "connect")]
    texts = [*own.commands, *(log.read_text(errors="replace") for log in own.home.logs.iterdir())]

    assert set(listening) <= {LOOPBACK, f"::ffff:{LOOPBACK}"}
    assert not [key for key in keys for text in texts if key in text]
    with pytest.raises(urllib.error.HTTPError, match="401"):
        get(f"{url(ports, 'connect')}/connectors")


@pytest.mark.nightly
def test_after_a_crash_of_both_what_changed_meanwhile_is_sent(own: Own) -> None:
    ports = recall(own.home.ports)
    wait_for(lambda: sent(own) == EACH_ROW)
    kill([psutil.Process(own.pids["connect"])])
    with open_database(own.home, ports, DATABASE) as connection:
        connection.execute("UPDATE shippers SET phone = '1' WHERE shipper_id = 1")
    database = [each for each in own.processes if each.name() == "postgres"]
    kill(database)
    # To PostgreSQL one that ended lives as long as it is in the list.
    wait_for(lambda: not any(psutil.pid_exists(each.pid) for each in database))
    assert own.parts["postgres"].state == "dead"

    own.up(*ONLY)

    assert connector_states(own.home, ports, DATABASE) == ["RUNNING", "RUNNING"]
    wait_for(lambda: sent(own)["shippers"] > EACH_ROW["shippers"])


@pytest.mark.nightly
def test_after_months_of_business_the_tables_are_those_of_the_database_and_so_is_what_is_made_of_them(
    own: Own, through_it: Clients
) -> None:
    (pipeline,) = (p for p in load_pipelines(settings=own.settings).sound if p.name == DATABASE)
    specs = {spec.topic.rpartition(".")[2]: spec for spec in pipeline.tables}

    def landed(table: str) -> list[dict[str, Any]]:
        ensure_topic(specs[table], through_it)
        land(specs[table], through_it)
        rows = Topic(specs[table].topic, through_it, specs[table]).rows()
        return sorted(({n: v for n, v in row.items() if "$$" not in n} for row in rows), key=repr)

    def made() -> dict[str, Made]:
        tables = {spec.table: Made(through_it, spec) for spec in pipeline.derived}
        for table in tables.values():
            table.derive()
        return tables

    for count in ("30", "20"):
        assert own.frazil("generate", "northwind", "--count", count, "--seed", str(SEED)).returncode == 0
        if count == "30":
            assert all(map(landed, ("categories", "products", "orders", "order_details")))
            made()
    with open_database(own.home, recall(own.home.ports), DATABASE) as connection:
        assert connection.execute("SELECT steps FROM generator.position").fetchall() == [(50,)]
        touched = {
            specs[table].topic: f"UPDATE {table} SET {KEYS[table]}" for table in COUNTS if COUNTS[table]
        }
        drain(own.settings, connection, touched)
        theirs = {table: rows_of(connection, table) for table in COUNTS}
        answers = {table: sorted(connection.execute(sql).fetchall(), key=repr) for table, sql in MADE.items()}

    with ThreadPoolExecutor(3) as threads:
        ours = dict(zip(COUNTS, threads.map(landed, COUNTS), strict=True))

    assert [table for table in COUNTS if ours[table] != theirs[table]] == []
    assert len(theirs["orders"]) != COUNTS["orders"]
    assert {table: tables.rows() for table, tables in made().items()} == answers


def rows_of(connection: psycopg.Connection[Any], table: str) -> list[dict[str, Any]]:
    """Each row by its columns' names; binary, for as text a real is rounded."""
    rows_read = connection.execute(f"SELECT * FROM {table}", binary=True)
    names = [column.name for column in rows_read.description or ()]
    return sorted((dict(zip(names, row, strict=True)) for row in rows_read), key=repr)


@pytest.mark.nightly
@pytest.mark.parametrize("number", range(SEEDS))
def test_after_random_changes_the_table_has_the_rows_that_the_database_has(
    own: Own, through_it: Clients, fresh_name: str, number: int
) -> None:
    seed, written = SEED + number, WRITTEN[number % 2]
    print(f"FRAZIL_TEST_SEED={seed}, {written}")
    with database(own, through_it, fresh_name, seed, written, before=40) as source:
        spec = source.topic.spec
        for turn in ("snapshot", "stream"):
            if turn == "stream":
                source.live(40)
                source.restart()
                source.live(20)
            source.drain()
            land(spec, through_it)
            assert source.differences() == []
        results = [run_check(check, spec, through_it) for check in ("row_count", "row_count_deep", "schema")]
        assert [f.text for f in results if not f.passed] == []


@pytest.mark.nightly
def test_a_truncate_is_followed_and_a_long_value_that_debezium_lacks_is_a_bad_record(
    own: Own, through_it: Clients, fresh_name: str
) -> None:
    """PostgreSQL does not log a long value that an update left alone, unless REPLICA IDENTITY is FULL."""
    long = random.Random(0).randbytes(10_000)
    update = ("UPDATE things SET small = small + 1", ())
    with database(own, through_it, fresh_name, config={"skipped.operations": "none"}) as source:
        topic = source.topic
        spec = topic.spec.model_copy(update={"on_bad_record": "dead_letter"})
        put = "INSERT INTO things (id, kind, small, note, photo) VALUES (%s, 'a', 1, %s, %s)"
        source.execute((put, (1, long.hex(), None)), (put, (2, "short", long)), (put, (3, "short", b"short")))
        source.execute(update)
        source.execute(("ALTER TABLE things REPLICA IDENTITY FULL", ()), update)
        source.drain()

        assert land(spec, through_it).dead_letters == 2
        assert source.differences() == []

        source.execute(("TRUNCATE things", ()))
        source.drain()
        assert land(spec, through_it).dead_letters == 0
        assert source.differences() == []
        letters = through_it.catalog.load_table(topic.things.table.dead_letters.identifier)
        rows = letters.scan().to_arrow()["reason_code"].to_pylist()
        assert rows == ["unavailable_value", "unavailable_value"]
        assert run_check("row_count_deep", spec, through_it).passed
