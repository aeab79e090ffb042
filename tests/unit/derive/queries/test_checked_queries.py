from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from frazil.derive.tables import KnownTables, known_tables
from frazil.errors import SpecError
from frazil.pipelines.folder import load_pipelines, pipeline_folders
from frazil.settings.profile import Settings
from frazil.spec.names import TableName

SETTINGS = Settings()
TRADES = """{"type": "record", "name": "Trade", "fields": [
  {"name": "symbol", "type": "string"},
  {"name": "price", "type": "int"},
  {"name": "amount", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}},
  {"name": "placed", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}]}]}"""

MINUTES = "SELECT date_trunc('MINUTE', `$$timestamp`) AS m, count(*) AS n FROM trades GROUP BY ALL"

Write = Callable[..., Path]


@pytest.fixture
def pipeline(tmp_path: Path) -> Write:
    """Writes a pipeline of the topics `trades`, whose schema is known, and `events`, whose schema is not."""

    def write(**tables: tuple[str, str]) -> Path:
        folder = tmp_path / "market"
        folder.mkdir()
        (folder / "trades.avsc").write_text(TRADES)
        lines = ["type: assets.topic_tables.TopicTables", "attributes:", "  tables:"]
        lines += ["    - {topic: trades, value_schema: trades.avsc}", "    - {topic: events}", "---"]
        lines += ["type: assets.derived_tables.DerivedTables", "attributes:", "  tables:"]
        for table, (fields, sql) in tables.items():
            (folder / f"{table}.sql").write_text(sql)
            lines.append(f"    - {{table: {table}, sql: {table}.sql{fields}}}")
        (folder / "defs.yaml").write_text("\n".join(lines))
        return folder

    return write


def tables_of(folder: Path) -> KnownTables:
    """All tables of a folder that holds no mistake."""
    tables = known_tables(load_pipelines([folder], SETTINGS), SETTINGS)
    tables.pipelines.all()
    return tables


def refusal(folder: Path) -> list[str]:
    """What is wrong, without the folder's name."""
    with pytest.raises(SpecError) as refused:
        tables_of(folder)
    return refused.value.what.replace(f"{folder}/", "").splitlines()


def known(folder: Path, table: str) -> list[tuple[str, str]] | None:
    columns = tables_of(folder).columns[TableName("local", table)]
    return None if columns is None else list(columns)


def test_the_pipelines_of_the_checkout_hold_no_mistake() -> None:
    tables = known_tables(load_pipelines(pipeline_folders(SETTINGS), SETTINGS), SETTINGS)

    assert any(pipeline.derived for pipeline in tables.pipelines.all())
    assert all(columns for columns in tables.columns.values())


def test_a_wrong_column_in_a_pipeline_of_the_checkout_is_found(tmp_path: Path) -> None:
    (shipped,) = (folder for folder in pipeline_folders(SETTINGS))
    shutil.copytree(shipped / "trading", tmp_path / "trading")
    file = tmp_path / "trading" / "flagged_stock_trades.sql"
    file.write_text(file.read_text().replace("quantity >", "quantty >"))

    (line,) = refusal(tmp_path / "trading")

    assert line.startswith("flagged_stock_trades.sql:")
    assert line.endswith("quantty: no column of stock_trades; did you mean quantity?")


def test_tables_come_after_those_that_they_are_made_of(pipeline: Write) -> None:
    folder = pipeline(
        last=("", "SELECT symbol FROM middle UNION ALL SELECT symbol FROM first"),
        middle=("", "SELECT symbol FROM local.first"),
        first=("", "SELECT symbol FROM trades"),
    )

    assert [s.table for s in tables_of(folder).derived] == [
        "first", "middle", "last",
    ]  # fmt: skip


def test_columns_are_known_through_several_tables(pipeline: Write) -> None:
    folder = pipeline(
        costs=("", "SELECT symbol, amount * price AS cost, placed, CAST(price AS SMALLINT) AS p FROM trades"),
        days=(", kind: totals", "SELECT date(placed) AS day, sum(cost) AS cost FROM costs GROUP BY ALL"),
        all_days=(", kind: full", "SELECT * FROM days"),
    )

    assert known(folder, "costs") == [
        ("symbol", "string"), ("cost", "decimal(21,2)"), ("placed", "timestamp"), ("p", "int"),
    ]  # fmt: skip
    assert known(folder, "all_days") == [("day", "date"), ("cost", "decimal(31,2)")]


def test_what_only_the_registry_knows_is_left_to_the_first_run(pipeline: Write) -> None:
    folder = pipeline(
        named=("", "SELECT id, upper(name) AS name FROM events"),
        everything=("", "SELECT *, 1 AS one FROM events"),
        after=("", "SELECT whatever FROM everything"),
    )

    tables_of(folder)

    assert known(folder, "named") == [("id", "unknown"), ("name", "string")]
    assert known(folder, "everything") is None


def test_rows_that_are_bad_are_no_column_of_the_table(pipeline: Write) -> None:
    folder = pipeline(good=("", "SELECT symbol, 'no' AS `$$error` FROM trades"))

    assert known(folder, "good") == [("symbol", "string")]


@pytest.mark.parametrize(
    ("fields", "sql", "expected"),
    [
        ("", "SELECT symbl FROM trades", "t.sql:1:8: symbl: no column of trades; did you mean symbol?"),
        (
            "",
            "SELECT x FROM trade",
            "t.sql:1:15: trade: no pipeline makes a table local.trade; did you mean trades",
        ),
        (
            "",
            "SELECT x FROM crm.trades",
            "t.sql:1:15: crm.trades: no pipeline makes a table crm.trades; did you",
        ),
        (
            "",
            "SELECT n, :now AS at FROM counts",
            "t.sql:1:27: counts: rows of a table of kind totals change, and :now",
        ),
        ("", "SELECT DISTINCT symbol FROM trades", "t.sql:1:17: DISTINCT is of all rows"),
        ("", "SELECT symbol FROM trades WHERE price > :most", "t.sql:1:41: :most: no such parameter"),
        (", parameters: {most: 1}", "SELECT symbol FROM trades", "defs.yaml:11: parameters: most is nowhere"),
        (", partition_by: [day(day)]", "SELECT * FROM trades", "defs.yaml:11: partition_by: day is none of"),
        (
            ", kind: latest, key: [id], latest_by: [price]",
            "SELECT * FROM trades",
            "defs.yaml:11: key: id is none of",
        ),
        ("", "SELECT price AS `$$error`, symbol FROM trades", "defs.yaml:11: `$$error` is of type int"),
        (
            ", kind: windows, window: {start: symbol, length: 1m}",
            "SELECT symbol, count(*) AS n FROM trades GROUP BY symbol",
            "defs.yaml:11: window.start: symbol is of type string",
        ),
        (
            ", kind: totals",
            "SELECT upper(symbol) AS symbol, count(*) AS n FROM trades GROUP BY symbol",
            "t.sql:1:68: symbol: a column of the input, by which Spark groups, and of the SELECT",
        ),
        ("", "SELECT symbol FROM t", "defs.yaml:11: local.t is made of local.t"),
        ("", "SELECT symbol FRM trades", "t.sql:1:"),
    ],
)
def test_mistakes_are_found_before_anything_runs(
    pipeline: Write, fields: str, sql: str, expected: str
) -> None:
    counts = (", kind: totals", "SELECT symbol, count(*) AS n FROM trades GROUP BY symbol")

    (line,) = refusal(pipeline(counts=counts, t=(fields, sql)))

    assert line.startswith(expected)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT upper(symbol) AS name, count(*) AS n FROM trades GROUP BY name",
        "SELECT upper(symbol) AS symbol, count(*) AS n FROM trades GROUP BY 1",
        "SELECT upper(symbol) AS symbol, count(*) AS n FROM trades GROUP BY upper(symbol)",
        "SELECT trades.symbol AS symbol, count(*) AS n FROM trades GROUP BY symbol",
    ],
)
def test_an_alias_that_hides_no_column_of_the_input_may_be_grouped_by(pipeline: Write, sql: str) -> None:
    tables_of(pipeline(t=(", kind: totals", sql)))


def test_a_table_may_be_read_whole_whatever_its_kind(pipeline: Write) -> None:
    folder = pipeline(
        counts=(", kind: totals", "SELECT symbol, count(*) AS n FROM trades GROUP BY symbol"),
        best=(", kind: full", "SELECT symbol FROM counts WHERE n = (SELECT max(n) FROM counts)"),
    )

    tables_of(folder)


def test_tables_that_wait_for_each_other_are_refused(pipeline: Write) -> None:
    folder = pipeline(
        a=("", "SELECT symbol FROM c"), b=("", "SELECT symbol FROM a"), c=("", "SELECT symbol FROM b")
    )

    assert sorted(refusal(folder)) == [
        "defs.yaml:10: local.a is made of local.c: a circle of tables",
        "defs.yaml:11: local.b is made of local.a: a circle of tables",
        "defs.yaml:12: local.c is made of local.b: a circle of tables",
    ]


def test_mistakes_of_all_tables_are_told_at_once(pipeline: Write) -> None:
    folder = pipeline(
        a=("", "SELECT pric FROM trades"),
        b=("", "SELECT x FROM"),
        c=("", "SELECT nothing FROM b WHERE now() > x"),
    )

    assert [line.split(":")[0] for line in refusal(folder)] == ["b.sql", "a.sql", "c.sql"]


def changing(folder: Path) -> Path:
    """The same pipeline with an input whose rows change by a key."""
    text = (folder / "defs.yaml").read_text()
    (folder / "defs.yaml").write_text(text.replace("{topic: trades,", "{topic: trades, mode: upsert,"))
    return folder


def test_rows_that_change_by_a_key_are_followed_by_tables_that_can_take_back_what_they_made(
    pipeline: Write,
) -> None:
    tables_of(
        changing(
            pipeline(
                a=("", "SELECT price FROM trades"),
                b=(", kind: totals", "SELECT symbol, max(price) AS most FROM trades GROUP BY symbol"),
                c=(", kind: latest, key: [symbol], latest_by: [price]", "SELECT symbol, price FROM trades"),
                d=(", kind: windows, window: {start: m, length: 1m}", MINUTES),
                e=(", kind: full", "SELECT price FROM a"),
                f=("", "SELECT price FROM a UNION ALL SELECT most FROM b"),
                g=(", kind: totals", "SELECT price, count(*) AS n FROM e GROUP BY price"),
                h=(", kind: latest, key: [n], latest_by: [m]", "SELECT m, n FROM d"),
            )
        )
    )


def test_rows_that_change_are_refused_where_nobody_could_tell_what_they_had_made(pipeline: Write) -> None:
    window = "window: {start: m, length: 1m, late_rows: drop}, cumulative_by: [symbol]"
    folder = changing(
        pipeline(
            a=(f", kind: windows, {window}", MINUTES.replace("count", "symbol, count")),
            b=("", "SELECT price, :now AS at FROM trades"),
            c=(", feeds: {topic: c}", "SELECT price FROM trades"),
            d=("", "SELECT price FROM trades"),
            e=("", "SELECT price, :now AS at FROM d"),
        )
    )
    (folder / "aged.py").write_text("def derive(inputs, parameters):\n    return age(parameters['now'])\n")
    with (folder / "defs.yaml").open("a") as file:
        file.write("\n    - {table: aged, python: aged.py, inputs: [trades]}")

    message = refusal(folder)

    change = "trades: rows of a table of mode upsert change, and"
    made = "d: rows of a table of kind rows that is made of local.trades change, and"
    clock = ":now was another time when they were read; kind: full may read it"
    running = "running totals go on from windows that are closed; late_rows: update changes these, too"
    assert sorted(line.partition(": ")[2] for line in message) == sorted(
        [
            f"{change} {running}",
            f"{change} {clock}",
            f"{change} {clock}",
            f"{change} a topic that it feeds takes no record back; leave out feeds",
            f"{made} {clock}",
        ]
    )


def test_a_table_made_by_a_function_names_its_inputs_in_the_spec(pipeline: Write) -> None:
    folder = pipeline(a=("", "SELECT symbol FROM trades"))
    (folder / "score.py").write_text("def derive(inputs, parameters):\n    return inputs['tradez']\n")
    with (folder / "defs.yaml").open("a") as file:
        file.write("\n    - {table: scores, python: score.py, inputs: [tradez]}")

    assert refusal(folder) == [
        "defs.yaml:11: tradez: no pipeline makes a table local.tradez; did you mean trades?"
    ]
