from __future__ import annotations

from pathlib import Path

import pytest

from frazil.derive.queries.query import Query, parse_query, read_query
from frazil.errors import SpecError
from frazil.spec.derived import DerivedSpec

FLAGS = """-- What is odd about a trade; `other` is no table here
SELECT t.price, `$$timestamp` AS ts, /* FROM nowhere */ 'FROM stock_trades :no' AS word,
  CASE WHEN quantity > :large THEN 'LARGE' ELSE 'é😀' END AS flag, CAST(userid AS INT)
FROM `stock_trades` t WHERE `$$timestamp` < :now
UNION ALL
SELECT * FROM crm . other
"""


def parsed(text: str) -> Query:
    return parse_query(text, "q.sql")


def refusal(text: str) -> list[str]:
    with pytest.raises(SpecError) as refused:
        parsed(text)
    return refused.value.what.splitlines()


def test_a_query_says_what_it_reads_and_makes() -> None:
    query = parsed(FLAGS)

    assert query.inputs == ("stock_trades", "crm.other")
    assert query.columns == ("price", "ts", "word", "flag", "userid")
    assert query.parameters == ("large",)
    assert query.uses_now


@pytest.mark.parametrize(
    ("text", "inputs"),
    [
        ("SELECT a FROM t JOIN u USING (k)", ("t", "u")),
        ("SELECT a FROM t, (SELECT b FROM v) x WHERE a IN (SELECT c FROM w)", ("t", "v", "w")),
        ("WITH x AS (SELECT a FROM t), y AS (SELECT a FROM x) SELECT a FROM y", ("t",)),
        ("WITH t AS (SELECT a FROM t) SELECT a FROM t", ("t",)),
        ("WITH x AS (SELECT a FROM t) SELECT a FROM ns.x", ("t", "ns.x")),
        ("SELECT a FROM t UNION ALL SELECT a FROM t", ("t",)),
        ("SELECT a FROM t CROSS JOIN range(3)", ("t",)),
    ],
)
def test_inputs_are_tables_and_no_part_of_the_query_itself(text: str, inputs: tuple[str, ...]) -> None:
    assert set(parsed(text).inputs) == set(inputs)


@pytest.mark.parametrize(
    ("item", "name"),
    [
        ("price", "price"),
        ("t.price", "price"),
        ("address.geo.lat", "lat"),
        ("1 AS one", "one"),
        ("`$$offset`", "$$offset"),
        ("CAST(price AS BIGINT)", "price"),
        ("*", "*"),
        ("t.*", "*"),
    ],
)
def test_columns_are_named_as_spark_names_them(item: str, name: str) -> None:
    assert parsed(f"SELECT {item} FROM t").columns == (name,)


def test_upon_other_views_only_the_inputs_change() -> None:
    text = parsed(FLAGS).sql_over({"stock_trades": "v1", "crm.other": "v2"})

    assert text == FLAGS.replace("FROM `stock_trades`", "FROM v1").replace("crm . other", "v2 AS `other`")


def test_an_input_without_an_alias_keeps_its_name() -> None:
    query = parsed("WITH x AS (SELECT t.a FROM t) SELECT x.a FROM x JOIN t ON x.a = t.a")

    assert query.sql_over({"t": "v"}) == (
        "WITH x AS (SELECT t.a FROM v AS `t`) SELECT x.a FROM x JOIN v AS `t` ON x.a = t.a"
    )


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        ("SELECT a FROM t", "select\n  A -- as it is\nfrom t", True),
        ("SELECT a FROM t WHERE b = 'x'", "SELECT a FROM t WHERE b = 'X'", False),
        ("SELECT a FROM t", "SELECT `a` FROM t", False),
        ("SELECT a FROM t WHERE b > 1", "SELECT a FROM t WHERE b > 2", False),
    ],
)
def test_blanks_and_comments_do_not_change_a_query(one: str, two: str, same: bool) -> None:
    assert (parsed(one).fingerprint == parsed(two).fingerprint) == same


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT a FROM t WHERE (", "q.sql:1:23: something is missing"),
        ("SELECT a FROM", "q.sql:1:13: Expected table name"),
        ("SELECT 'a FROM t", "q.sql:1: this is no SQL"),
        ("SELECT date_trunc() AS a FROM t", "q.sql:1: this is no SQL"),
        ("DELETE FROM t", "q.sql:1: one SELECT is expected"),
        ("SELECT a FROM t; SELECT b FROM t", "q.sql:1: one SELECT is expected"),
        ("", "q.sql:1: one SELECT is expected"),
        ("SELECT 1 AS one", "q.sql:1:1: it reads no table"),
        ("SELECT a,\n  b + 1 FROM t", "q.sql:2:3: a column without a name"),
        ("SELECT tags['a'] FROM t", "q.sql:1:8: a column without a name"),
        ("SELECT items[0].sku FROM t", "q.sql:1:8: a column without a name"),
        ("SELECT a, b AS _pos FROM t", "q.sql:1:11: _pos: Iceberg in Spark keeps that name for itself"),
        ("SELECT a, b AS A FROM t", "q.sql:1:11: A: there is a column of that name already"),
        ("SELECT a FROM lake.ns.t", "q.sql:1:15: lake.ns.t: write table, or namespace.table"),
        ("SELECT ns.t.a FROM ns.t", "q.sql:1:8: ns.t: write t.a"),
        ("SELECT a FROM t VERSION AS OF 3", "q.sql:1:15: t: Frazil says which of its rows are read"),
        ("SELECT a FROM t TABLESAMPLE (5 ROWS)", "q.sql:1:15: t: Frazil says which of its rows are read"),
        ("SELECT FROM t", "q.sql:1:13: a SELECT of no column"),
    ],
)
def test_what_is_no_query_is_refused_with_its_place(text: str, expected: str) -> None:
    assert refusal(text)[0].startswith(expected)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "text",
    [
        "WITH x(a, NOT b) AS (SELECT a FROM t) SELECT b FROM x",
        f"SELECT {'STRUCT(' * 30}a{')' * 30} AS s FROM t",
        f"SELECT a FROM t{' UNION ALL SELECT a FROM t' * 1500}",
        "SELECT a FROM t; " + "SELECT a FROM t UNION " * 1500 + "SELECT a FROM t",
    ],
)
def test_a_query_that_takes_too_long_to_read_is_refused(text: str) -> None:
    with pytest.raises(SpecError, match=r"q.sql:1"):
        parse_query(text, "q.sql")


def test_many_unions_and_long_lists_are_read() -> None:
    columns = ", ".join(f"c{n} + {n} * coalesce(d{n}, (SELECT max(e) FROM u)) AS c{n}" for n in range(1_000))

    assert len(parse_query(f"SELECT {columns} FROM t", "q.sql").columns) == 1_000
    assert parse_query(f"SELECT a FROM t{' UNION ALL SELECT a FROM t' * 150}", "q.sql").columns == ("a",)


def test_all_mistakes_are_told_at_once() -> None:
    assert [line.split(": ")[0] for line in refusal("SELECT a + 1,\n b, b\nFROM x.y.z")] == [
        "q.sql:1:8",
        "q.sql:2:5",
        "q.sql:3:6",
    ]


def test_a_query_is_read_from_its_file(tmp_path: Path) -> None:
    file = tmp_path / "t.sql"
    file.write_text("SELECT a FROM u")

    assert read_query(DerivedSpec(table="t", sql=file)).where == str(file)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "t.sql"
    file.write_bytes(b"SELECT a FROM \xff")

    with pytest.raises(SpecError, match=r"t\.sql: can't be read"):
        read_query(DerivedSpec(table="t", sql=file))


def test_a_query_that_is_mended_where_it_is_told_makes_its_columns() -> None:
    with pytest.raises(SpecError) as refused:
        parsed("SELECT price + 1 FROM trades")

    assert refused.value.todo == "Fix the query; nothing was started."
    assert parsed("SELECT price + 1 AS more FROM trades").columns == ("more",)
