"""SELECTs in a DuckDB that can reach nothing but the rows of the tables that it was given."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import duckdb
import pyarrow as pa
import pytest
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.schema import Schema
from pyiceberg.table import StaticTable, Table
from pyiceberg.types import (
    DecimalType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    TimestamptzType,
    UUIDType,
)

from frazil.cli.views.sandbox import Answer, Rows, Sandbox, sandbox
from frazil.errors import FrazilError, RepairError, UsageError
from kit.tables.equality_deletes import with_equality_delete

SECONDS = 60.0


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory) -> Table:
    return two_files(tmp_path_factory.mktemp("orders"))


def two_files(tmp_path: Path) -> Table:
    catalog = InMemoryCatalog("memory", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("shop")
    fields = NestedField(1, "id", LongType()), NestedField(2, "Customer $", StringType())
    table = catalog.create_table(("shop", "orders"), Schema(*fields))
    for first in (0, 2):  # two snapshots, a file each
        columns = {"id": [first, first + 1], "Customer $": ["ann", None]}
        table.append(pa.table(columns, schema=table.schema().as_arrow()))
    return table


@pytest.fixture
def duck(orders: Table) -> Iterator[Sandbox]:
    with sandbox() as opened:
        opened.add(("shop", "orders"), Rows(orders))
        opened.add(("orders",), Rows(orders))
        yield opened


def ask(duck: Sandbox, sql: str, rows: int = 100) -> Answer:
    duck.tables_of(sql)
    return duck.select(sql, rows=rows, seconds=SECONDS)


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT 1", []),
        ("FROM orders", [("orders",)]),
        ('SELECT * FROM shop.orders AS o JOIN "a b"."c""d" ON true', [("a b", 'c"d'), ("shop", "orders")]),
        (
            "WITH c AS (SELECT * FROM one) SELECT * FROM c WHERE x IN (SELECT y FROM two)",
            [("one",), ("two",)],
        ),
        ("SELECT * FROM range(5)", []),
    ],
)
def test_the_tables_of_a_query_are_known_before_it_runs(
    duck: Sandbox, sql: str, names: list[tuple[str, ...]]
) -> None:
    assert duck.tables_of(sql) == names


def test_a_query_reads_every_file_as_often_as_it_needs(duck: Sandbox) -> None:
    both = ask(duck, "SELECT count(*), sum(a.id) FROM orders a JOIN shop.orders b USING (id)")
    twice = ask(duck, "WITH c AS (FROM orders) SELECT (SELECT max(id) FROM c), (SELECT count(*) FROM c)")

    assert both.rows == [(4, 6)]
    assert twice.rows == [(3, 4)]


def test_an_answer_has_names_types_and_the_first_rows(duck: Sandbox) -> None:
    answer = ask(duck, 'SELECT id, "Customer $" FROM orders ORDER BY id DESC', rows=3)

    assert answer == Answer(
        {"id": "BIGINT", "Customer $": "VARCHAR"}, [(3, None), (2, "ann"), (1, None)], True
    )


def test_a_table_is_read_as_it_was(orders: Table) -> None:
    first = orders.metadata.snapshots[0].snapshot_id
    with sandbox() as duck:
        duck.add(("orders",), Rows(orders, first))

        assert ask(duck, "SELECT id FROM orders ORDER BY id").rows == [(0,), (1,)]


def test_values_of_all_kinds_arrive(tmp_path: Path) -> None:
    catalog = InMemoryCatalog("memory", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("n")
    kinds = {
        "at": TimestamptzType(), "price": DecimalType(20, 2), "uid": UUIDType(),
        "tags": ListType(10, StringType()), "counts": MapType(11, StringType(), 12, LongType()),
    }  # fmt: skip
    fields = [NestedField(place, name, kind) for place, (name, kind) in enumerate(kinds.items(), 1)]
    table = catalog.create_table(("n", "t"), Schema(*fields))
    uid, moment = UUID(int=7), datetime(2026, 11, 22, 20, 0, tzinfo=UTC)
    row = {"at": moment, "price": Decimal("1.50"), "uid": uid.bytes, "tags": ["a"], "counts": {"x": 1}}
    table.append(pa.Table.from_pylist([row], schema=table.schema().as_arrow()))
    with sandbox() as duck:
        duck.add(("t",), Rows(table))

        assert ask(duck, "FROM t").rows == [(moment, Decimal("1.50"), str(uid), ["a"], [("x", 1)])]


@pytest.mark.parametrize(
    "sql",
    [
        "DROP VIEW orders",
        "INSERT INTO orders VALUES (1, 'x')",
        "SELECT 1; SELECT 2",
        "COPY (SELECT 1) TO '/tmp/frazil_sandbox.csv'",
        "ATTACH '/tmp/frazil_sandbox.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET memory_limit = '100GB'",
        "PRAGMA enable_profiling",
        "CALL enable_logging(storage = 'file', storage_path = '/tmp/frazil_sandbox')",
        "EXPORT DATABASE '/tmp/frazil_sandbox'",
        "EXPLAIN ANALYZE SELECT 1",
        "",
        "SELEC 1",
    ],
)
def test_what_is_not_one_select_is_refused(duck: Sandbox, sql: str) -> None:
    with pytest.raises(UsageError):
        duck.tables_of(sql)


@pytest.mark.parametrize(
    "source",
    [
        "read_text('{file}')",
        "read_blob('{file}')",
        "read_csv('{file}')",
        "read_json('{file}')",
        "read_parquet('{file}')",
        "parquet_metadata('{file}')",
        "sniff_csv('{file}')",
        "'{file}'",
        '"{file}"',
        "glob('{folder}/*')",
        "read_duckdb('{file}')",
        "read_parquet('http://127.0.0.1:{port}/x.parquet')",
        "read_csv('s3://bucket/x.csv')",
        "iceberg_scan('{folder}')",
        "query('FROM read_text(''{file}'')')",
        "query_table('{file}')",
        "duckdb_secrets()",
        "secret_of_this_test",
    ],
)
def test_no_file_no_network_and_no_variable_of_python_is_read(
    duck: Sandbox, source: str, tmp_path: Path
) -> None:
    secret_of_this_test = pa.table({"secret": ["hush"]})
    file = tmp_path / "secret.csv"
    file.write_text("secret\nhush\n")

    with pytest.raises(UsageError) as refused:
        ask(duck, f"SELECT * FROM {source.format(file=file, folder=tmp_path, port=9)}")

    assert secret_of_this_test.num_rows == 1
    assert "hush" not in str(refused.value)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM enable_logging(storage = 'file', storage_path = '{folder}')",
        "SELECT * FROM query('COPY (SELECT 1) TO ''{folder}/x.csv''')",
        "SELECT * FROM json_execute_serialized_sql('{{}}')",
        "SELECT (SELECT count(*) FROM enable_profiling(save_location = '{folder}/x.json'))",
    ],
)
def test_a_select_writes_no_file(duck: Sandbox, orders: Table, sql: str, tmp_path: Path) -> None:
    folder = tmp_path / "target"
    folder.mkdir()
    for again in (sql, "FROM orders", "SELECT write_log('x', level := 'ERROR')"):
        try:
            ask(duck, again.format(folder=folder))
        except UsageError:
            continue

    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT " + "(" * 900 + "1" + ")" * 900,
        "SELECT " + "(" * 100_000,
        "SELECT 1" + " UNION ALL SELECT 1" * 300,
        "SELECT " + "-" * 100_000 + "1",
        "FROM " + "(FROM " * 3_000 + "orders" + ")" * 3_000,
    ],
    ids=["deep", "open", "long", "a comment", "nested"],
)
def test_a_strange_statement_is_answered_or_refused(duck: Sandbox, sql: str) -> None:
    try:
        answer = ask(duck, sql)
    except UsageError:
        return
    assert answer.rows


ARGUMENTS = {
    "BIGINT": "3", "INTEGER": "3", "DOUBLE": "1.5", "BOOLEAN": "true", "DATE": "date '2020-01-01'",
    "TIMESTAMP": "timestamp '2020-01-01'", "INTERVAL": "interval 1 day",
}  # fmt: skip


def test_no_function_of_duckdb_reads_the_file_that_it_is_given(duck: Sandbox, tmp_path: Path) -> None:
    file = tmp_path / "secret.txt"
    file.write_text("hush")
    known = duckdb.execute(
        "SELECT DISTINCT function_name, parameter_types FROM duckdb_functions() "
        "WHERE function_type IN ('scalar', 'aggregate', 'macro') AND function_name SIMILAR TO '[a-z0-9_]+'"
    ).fetchall()
    path = f"'{file}'"
    calls = [f"{name}({', '.join(ARGUMENTS.get(str(k), path) for k in kinds)})" for name, kinds in known]

    assert len(calls) > 1000
    for call in calls:
        try:
            shown = str(duck.select(f"SELECT {call}", rows=1, seconds=SECONDS).rows)
        except UsageError as e:
            shown = str(e)
        assert "hush" not in shown, call


def test_settings_stay_as_they_are(duck: Sandbox) -> None:
    locked = "enable_external_access", "python_enable_replacements", "autoload_known_extensions"
    settings = ask(duck, f"SELECT {', '.join(f'current_setting({name!r})' for name in locked)}").rows

    assert settings == [(False, False, False)]


def test_a_query_that_takes_too_long_is_ended(duck: Sandbox) -> None:
    sql = "SELECT count(*) FROM range(1000000000) a, range(1000000000) b WHERE a.range * b.range % 7 = 3"

    with pytest.raises(FrazilError, match="took longer than 0") as raised:
        duck.select(sql, rows=1, seconds=0.2)
    assert raised.value.todo == "Ask for less, or give it more time by --seconds."

    less = sql.replace("1000000000", "10")
    assert duck.select(less, rows=1, seconds=SECONDS).rows


def test_a_file_that_is_gone_is_told_as_what_it_is(tmp_path: Path) -> None:
    table = two_files(tmp_path)
    for task in table.scan().plan_files():
        table.io.delete(task.file.file_path)
    with sandbox() as duck:
        duck.add(("orders",), Rows(table))

        with pytest.raises(FileNotFoundError):
            ask(duck, "SELECT sum(id) FROM orders")


def test_a_table_with_deletes_by_equality_is_named_with_what_applies_them(tmp_path: Path) -> None:
    table = StaticTable.from_metadata(with_equality_delete(two_files(tmp_path)))

    with sandbox() as duck:
        duck.add(("orders",), Rows(table))
        with pytest.raises(RepairError, match="deleted rows of this table by equality") as raised:
            duck.select("SELECT * FROM orders", rows=10, seconds=SECONDS)

    assert "frazil compact" in raised.value.todo


@pytest.mark.parametrize(
    ("sql", "todo", "mended"),
    [
        ("FROM read_csv('/etc/passwd')", "Read tables of pipelines.", "FROM orders"),
        ("DELETE FROM orders", "Write one SELECT.", "SELECT * FROM orders"),
        ("FROM orders; FROM orders", "Write one SELECT.", "FROM orders"),
        ("SELECT idd FROM orders", "Fix the query.", "SELECT id FROM orders"),
    ],
)
def test_a_query_that_is_written_as_told_is_answered(duck: Sandbox, sql: str, todo: str, mended: str) -> None:
    with pytest.raises(UsageError) as refused:
        ask(duck, sql)

    assert refused.value.todo == todo
    assert sorted(row[0] for row in ask(duck, mended).rows) == [0, 1, 2, 3]
