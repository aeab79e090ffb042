"""Tables whose rows follow from new rows alone: each counts once, and bad ones are kept apart."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyiceberg.types import StringType

from frazil.checks.run import run_check
from frazil.connections import Connections
from frazil.derive import write
from frazil.derive.derive import derive
from frazil.derive.positions.inputs import increment
from frazil.derive.positions.rows import rows_of
from frazil.errors import (
    AuditFailedError,
    DifferentError,
    MissingError,
    QueryChangedError,
    RepairError,
    SchemaRefusedError,
    SpecError,
)
from frazil.formats.logical import Field, Primitive, Struct
from frazil.spec.derived import DerivedSpec
from frazil.tables.spark.session import spark_name
from kit.derived.made import NAMESPACE, Made, MakeSource, MakeTable, Source


def doubled(source: Source) -> str:
    """The query of most of these tests."""
    return f"SELECT symbol, quantity * :times AS twice FROM {source.name.table} WHERE quantity > 0"


@pytest.fixture
def made(source: Source, make_table: MakeTable) -> Made:
    """A table of three trades, one of which the query leaves out."""
    source.trades(1, 2, -1)
    table = make_table(doubled(source), parameters={"times": 2})
    table.derive()
    return table


def test_the_first_derivation_reads_all_and_the_next_ones_what_is_new(source: Source, made: Made) -> None:
    source.trades(3)
    source.trades(4, -4)

    report = made.derive(run_id="a run")

    assert (report.done, report.whole, report.input_rows, report.rows) == (True, False, 3, 2)
    assert (report.total_rows, made.rows("twice")) == (4, [(2,), (4,), (6,), (8,)])
    ledger = made.ledger
    assert (ledger.rows, ledger.total_rows, ledger.run_id) == (2, 4, "a run")
    assert {n: p.snapshot for n, p in ledger.inputs.items()} == {str(source.name): source.head}
    assert made.table.properties["comment"] == f"Made of {source.name} by Frazil."
    assert list(made.table.metadata.refs) == ["main"]


@pytest.mark.each_time("rows-by tasks", "full-by Spark's writer")
@pytest.mark.parametrize("first", [True, False], ids=["by Spark's writer", "by tasks"])
@pytest.mark.parametrize("kind", ["rows", "full"])
def test_a_column_that_is_lost_where_columns_are_matched_is_not_published(
    source: Source, make_table: MakeTable, monkeypatch: pytest.MonkeyPatch, kind: str, first: bool
) -> None:
    table, right = make_table(doubled(source), parameters={"times": 2}, kind=kind), write.cast
    source.trades(1, 2, -1)
    if not first:
        table.derive()
        source.trades(7)
    monkeypatch.setattr(
        write, "cast", lambda rows, types: right(rows.drop("twice") if "twice" in types else rows, types)
    )

    with pytest.raises(AuditFailedError, match=f"A derivation of {table.name} does not add up") as raised:
        table.derive()

    assert "column twice has 0 values in the files, and " in raised.value.where
    assert table.rows("twice") == ([] if first else [(2,), (4,)])


EVERY_TYPE = """
SELECT quantity, CAST(quantity AS decimal(20, 3)) AS money, CAST(quantity AS double) / 3 AS third,
  CAST(quantity AS float) AS small, quantity > 1 AS flag, at, CAST(at AS date) AS day,
  CAST(at AS timestamp_ntz) AS here, encode(symbol, 'utf-8') AS raw, IF(quantity = 2, NULL, symbol) AS maybe,
  array(symbol, NULL) AS tags, map('all', quantity) AS counts,
  named_struct('x', quantity, 'y', named_struct('z', symbol)) AS place
FROM """


def test_rows_of_every_type_are_those_that_spark_computes(
    connections: Connections, source: Source, make_table: MakeTable
) -> None:
    made, steps = make_table(EVERY_TYPE + source.name.table), list[str]()
    at = datetime(2026, 1, 2, 3, 4, 5, 678901, UTC)
    source.append([{"symbol": "ZTEST", "quantity": 1, "at": at}])
    made.derive()
    source.append([{"symbol": "ZÄST", "quantity": n, "at": at - timedelta(days=n)} for n in (2, 3)])
    source.append([{"symbol": None, "quantity": 4, "at": None}])

    report = made.derive(on_step=steps.append)

    assert (report.rows, report.total_rows) == (3, 4)
    assert steps == ["planned", "written", "published"]
    assert list(made.table.metadata.refs) == ["main"]
    computed = connections.spark.sql(EVERY_TYPE + spark_name(source.name)).orderBy("quantity").collect()
    stored = connections.spark.table(spark_name(made.name)).orderBy("quantity").collect()
    assert stored == computed
    made.derive(rebuild=True)
    assert connections.spark.table(spark_name(made.name)).orderBy("quantity").collect() == computed


def test_where_nothing_is_new_nothing_is_written(made: Made) -> None:
    before = made.table.metadata_location

    report = made.derive()

    assert (report.done, report.rows, report.total_rows) == (False, 0, 2)
    assert made.table.metadata_location == before


def test_only_files_with_new_rows_are_read(source: Source, made: Made) -> None:
    source.append([{"symbol": "OLD" * 50, "quantity": n} for n in range(20_000)])
    first = made.derive()
    source.trades(7)
    news = increment(source.table, made.ledger.inputs[str(source.name)])
    scan = rows_of(made.connections.spark, source.table, news)
    read = {row["_file"] for row in scan.select("_file").collect()}
    sizes = {task.file.file_path: task.file.file_size_in_bytes for task in source.table.scan().plan_files()}

    report = made.derive()

    assert len(read) == 1
    assert report.input_bytes == sum(sizes[path] for path in read)
    assert report.input_bytes * 20 < first.input_bytes
    assert report.input_rows == report.rows == 1


def test_a_union_takes_what_is_new_of_each_input(make_input: MakeSource, make_table: MakeTable) -> None:
    one, two = make_input(), make_input()
    one.trades(1)
    sql = f"SELECT quantity, 'one' AS side FROM {one.name} UNION ALL SELECT quantity, 'two' FROM {two.name}"
    made = make_table(sql)
    made.derive()
    two.trades(2)
    made.derive()
    one.trades(3)
    two.trades(4)
    made.derive()

    assert made.rows("quantity", "side") == [(1, "one"), (2, "two"), (3, "one"), (4, "two")]


def test_rows_that_the_query_calls_bad_are_kept_apart_once(source: Source, make_table: MakeTable) -> None:
    source.trades(1, 0)
    made = make_table(
        f"SELECT quantity, IF(quantity = 0, 'no quantity', NULL) AS `$$error` FROM {source.name.table}"
    )
    made.derive()
    source.trades(0, 2)
    report = made.derive()
    source.trades(3)
    made.derive()

    assert made.rows("quantity") == [(1,), (2,), (3,)]
    assert made.dead_letters() == [("no quantity", '{"quantity":0}')] * 2
    assert (report.bad, made.ledger.total_bad, made.ledger.total_rows) == (1, 2, 3)

    rebuilt = made.derive(rebuild=True)

    assert (rebuilt.rows, rebuilt.bad, made.ledger.total_bad) == (3, 2, 2)
    assert made.dead_letters() == [("no quantity", '{"quantity":0}')] * 2


def test_a_function_makes_rows_as_a_query_does(
    connections: Connections, source: Source, fresh_name: str, tmp_path: Path
) -> None:
    file = tmp_path / "tripled.py"
    file.write_text(
        "def derive(inputs, parameters):\n"
        f"    return inputs['{source.name}'].selectExpr(f\"quantity * {{parameters['times']}} AS n\")\n"
    )
    source.trades(1)
    spec = DerivedSpec(
        namespace=NAMESPACE, table=f"{fresh_name}_f", python=file, inputs=(str(source.name),),
        parameters={"times": 3},
    )  # fmt: skip
    made = Made(connections, spec)
    made.derive()
    source.trades(2)
    made.derive()

    assert made.rows() == [(3,), (6,)]


def test_a_column_that_comes_with_the_input_comes_to_the_table(source: Source, make_table: MakeTable) -> None:
    source.trades(1)
    made = make_table(f"SELECT * FROM {source.name.table}")
    made.derive()
    with source.table.update_schema() as update:
        update.add_column("venue", StringType())
    assert not made.derive().done
    source.append([{"symbol": "ZTEST", "quantity": 2, "venue": "X"}])
    made.derive()

    assert made.rows("quantity", "venue") == [(1, None), (2, "X")]
    assert made.derive(rebuild=True).rows == 2
    assert made.rows("quantity", "venue") == [(1, None), (2, "X")]


def test_another_query_or_parameter_is_refused_until_all_is_made_anew(source: Source, made: Made) -> None:
    source.trades(3)
    threefold = Made(made.connections, made.spec.model_copy(update={"parameters": {"times": 3}}))
    with pytest.raises(QueryChangedError, match="another query"):
        threefold.derive()
    assert made.rows("twice") == [(2,), (4,)]

    report = threefold.derive(rebuild=True)

    assert (report.whole, report.rows, report.total_rows) == (True, 3, 3)
    assert made.rows("twice") == [(3,), (6,), (9,)]


def test_another_query_may_go_on_from_here_beside_the_rows_that_are_there(source: Source, made: Made) -> None:
    threefold = Made(made.connections, made.spec.model_copy(update={"parameters": {"times": 3}}))
    taken_over = threefold.derive(from_here=True)
    source.trades(5)
    threefold.derive()

    assert (taken_over.rows, taken_over.total_rows) == (0, 2)
    assert made.rows("twice") == [(15,), (2,), (4,)]
    agrees = run_check("query_agrees", threefold.spec, threefold.connections)
    assert (agrees.status, "an earlier query" in agrees.text) == ("skipped", True)
    assert threefold.derive(rebuild=True).total_rows == 3
    assert run_check("query_agrees", threefold.spec, threefold.connections).status == "passed"


@pytest.mark.nightly
def test_another_query_that_reads_another_table_can_not_go_on_from_here(
    source: Source, make_input: MakeSource, made: Made
) -> None:
    other = make_input()
    other.trades(1)
    both = f"{doubled(source)} UNION ALL {doubled(other)}"

    with pytest.raises(QueryChangedError, match="of which nothing was read so far"):
        made.ask(both).derive(from_here=True)


def test_a_type_that_the_table_can_not_take_is_refused(source: Source, made: Made) -> None:
    changed = made.ask(doubled(source).replace("quantity * :times", "'text'"), parameters={})

    with pytest.raises(SchemaRefusedError, match="no longer fits"):
        changed.derive(rebuild=True)
    assert made.rows("twice") == [(2,), (4,)]
    again = made.ask(doubled(source).replace("quantity * :times", "CAST('6' AS INT)"), parameters={})
    again.derive(rebuild=True)
    assert made.rows("twice") == [(6,), (6,)]


def test_a_wider_type_and_a_new_column_come_with_a_rebuild(source: Source, made: Made) -> None:
    wider = f"SELECT symbol, CAST(quantity AS BIGINT) AS twice, 1 AS one FROM {source.name.table}"
    made.ask(wider, parameters={}).derive(rebuild=True)

    assert made.rows("twice", "one") == [(-1, 1), (1, 1), (2, 1)]


def test_mistakes_are_told_without_a_trace_of_java(
    source: Source, make_input: MakeSource, make_table: MakeTable
) -> None:
    source.trades(1)
    with pytest.raises(SpecError, match="does not fit its inputs"):
        make_table(f"SELECT quantitty FROM {source.name.table}").derive()
    with pytest.raises(RepairError, match="fails on a row"):
        make_table(f"SELECT quantity / (quantity - 1) AS q FROM {source.name.table}").derive()
    tried = f"SELECT try_divide(quantity, quantity - 1) AS q FROM {source.name.table}"
    assert make_table(tried).derive().rows == source.table.scan().count()
    with pytest.raises(MissingError, match="no table"):
        make_table("SELECT quantity FROM nowhere").derive()
    other = make_input((Field("n", Primitive("int"), optional=True),))
    other.append([{"n": 1}])
    taken = make_table(doubled(source), parameters={"times": 2})
    named = taken.spec.model_copy(update={"table": other.name.table})
    with pytest.raises(DifferentError, match="no derivation made"):
        derive(named, taken.connections)


def test_names_may_hold_any_sign(make_input: MakeSource, make_table: MakeTable) -> None:
    """Other engines make tables whose columns are called so; what they hold is data, never SQL."""
    names = ("back`tick", "it's", "back\\slash", 'quo"te', "a b", "c,d:e", "<f>", "--g", "`:int>)", "{h}")
    inner = Struct(tuple(Field(name, Primitive("string"), optional=True) for name in names))
    fields = tuple(Field(name, Primitive("long"), optional=True) for name in names)
    source = make_input((*fields, Field("inner", inner, optional=True)))
    made = make_table(f"SELECT * FROM {source.name.table}")
    row = {**dict.fromkeys(names, 1), "inner": dict.fromkeys(names, "x")}
    source.append([row])
    made.derive()
    with source.table.update_schema() as update:
        update.add_column("later", StringType())
    source.append([{**row, "later": "y"}])
    made.derive()

    ones, inside = [1] * len(names), dict.fromkeys(names, "x")
    assert made.rows(*names, "inner", "later") == [(*ones, inside, "y"), (*ones, inside, None)]
    assert made.derive(rebuild=True).rows == 2


@pytest.mark.nightly
def test_rows_that_are_sorted_as_they_are_written_are_counted_once(
    source: Source, make_table: MakeTable
) -> None:
    sql = "SELECT quantity, IF(quantity = 0, 'none', NULL) AS `$$error` FROM {}"
    made = make_table(sql.format(source.name.table), sort_by=["quantity"], write={"distribution": "range"})
    source.trades(*range(50), 0)

    report = made.derive()

    assert (report.rows, report.bad, len(made.dead_letters())) == (49, 2, 2)


@pytest.mark.parametrize("partition_by", [["bucket(4, quantity)"], ["symbol", "day(at)"]], ids=str)
@pytest.mark.parametrize("distribution", ["none", "hash", "range"])
@pytest.mark.each_time("hash-['bucket(4, quantity)']")
def test_rows_go_to_their_partitions_in_order(
    source: Source, make_table: MakeTable, partition_by: list[str], distribution: str
) -> None:
    made = make_table(
        f"SELECT * FROM {source.name.table}",
        partition_by=partition_by,
        sort_by=["quantity desc"],
        write={"distribution": distribution},
    )
    source.trades(*range(20))
    made.derive()
    source.trades(*range(20, 60))

    assert made.derive().rows == 40

    files = [task.file for task in made.table.scan().plan_files()]
    assert sorted(made.rows("quantity")) == [(n,) for n in range(60)]
    assert list(made.table.metadata.refs) == ["main"]
    assert all(file.partition[0] is not None for file in files)
    if distribution != "none":
        for file in files:
            with made.table.io.new_input(file.file_path).open() as opened:
                rows = pq.read_table(opened)["quantity"].to_pylist()
            assert rows == sorted(rows, reverse=True)


def test_a_table_that_asks_for_files_that_no_task_writes_is_told_and_mended(
    connections: Connections, source: Source, make_table: MakeTable
) -> None:
    made = make_table(f"SELECT * FROM {source.name.table}")
    source.trades(1)
    made.derive()
    with made.table.transaction() as tx:
        tx.set_properties({"write.format.default": "orc"})
    source.trades(2)

    with pytest.raises(DifferentError, match="asks something of its data files") as refused:
        made.derive()

    assert made.rows("quantity") == [(1,)]
    (statement,) = re.findall("`(ALTER TABLE .*)`", refused.value.todo)
    connections.spark.sql(statement.replace(".".join(made.table.name()), spark_name(made.name)))
    made.derive()
    assert made.rows("quantity") == [(1,), (2,)]
