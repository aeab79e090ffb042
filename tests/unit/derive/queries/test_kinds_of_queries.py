from __future__ import annotations

from typing import Any

import pytest

from frazil.derive.queries.legality import refuse_unfit
from frazil.derive.queries.query import parse_query
from frazil.derive.queries.totals import merge_of
from frazil.errors import SpecError
from frazil.spec.derived import DerivedSpec

BY_MINUTE = "SELECT date_trunc('MINUTE', ts) AS minute, email, {} FROM t GROUP BY minute, email"
WINDOW = {"start": "minute", "length": "1m"}


def refusal(kind: str, text: str, **fields: Any) -> str:
    """What is wrong; empty where nothing is."""
    spec = DerivedSpec.model_validate({"table": "x", "sql": "q.sql", "kind": kind, **fields})
    try:
        refuse_unfit(parse_query(text, "q.sql"), spec)
    except SpecError as e:
        return e.what
    return ""


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a, b * 2 AS c FROM t WHERE ts > :now",
        "SELECT * FROM t",
        "SELECT a FROM t UNION ALL SELECT b FROM ns.u UNION ALL (SELECT c FROM t)",
        "WITH x AS (SELECT * FROM t) SELECT a FROM (SELECT a FROM x WHERE b) y",
        "SELECT k, v FROM t LATERAL VIEW explode(tags) e AS k, v",
        "SELECT transform(m, x -> x + 1) AS b, exists(m, x -> x > 1) AS c, array_max(m) AS d FROM t",
        "SELECT a, `$$error` FROM (SELECT a, 'bad' AS `$$error` FROM t)",
    ],
)
def test_rows_that_follow_from_one_row_each_can_be_appended(text: str) -> None:
    assert refusal("rows", text) == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT DISTINCT a FROM t", "q.sql:1:17: DISTINCT is of all rows"),
        ("SELECT a FROM t ORDER BY a", "q.sql:1:26: ORDER BY is of all rows"),
        ("SELECT a FROM t LIMIT 3", "q.sql:1:23: LIMIT is of all rows"),
        ("SELECT a FROM t GROUP BY a", "q.sql:1:26: GROUP BY is of all rows"),
        ("SELECT sum(a) AS b FROM t", "q.sql:1:8: sum is of many rows"),
        ("SELECT some(a) AS b FROM t", "q.sql:1:8: some is of many rows"),
        ("SELECT kll_sketch_agg_double(a) AS b FROM t", "q.sql:1:8: kll_sketch_agg_double is of many rows"),
        ("SELECT theta_union_agg(a) AS b FROM t", "q.sql:1:8: theta_union_agg is of many rows"),
        ("SELECT lag(a) OVER (ORDER BY b) AS c FROM t", "q.sql:1:8: a window function"),
        ("SELECT a FROM t\nJOIN u USING (a)", "q.sql:2:6: a join needs old rows"),
        ("SELECT a FROM t, u", "q.sql:1:18: a join needs old rows"),
        ("SELECT a FROM t WHERE a IN (SELECT b FROM u)", "q.sql:1:36: a SELECT within an expression"),
        ("SELECT a FROM t WHERE EXISTS (SELECT b FROM u)", "q.sql:1:38: a SELECT within an expression"),
        ("SELECT (SELECT b FROM u) AS a FROM t", "q.sql:1:16: a SELECT within an expression"),
        ("WITH x AS (SELECT max(a) AS a FROM t) SELECT a FROM x", "q.sql:1:19: max is of many rows"),
        ("SELECT a FROM t UNION SELECT a FROM u", "q.sql:1:30: UNION compares with all rows"),
        ("SELECT a FROM t EXCEPT SELECT a FROM u", "q.sql:1:31: EXCEPT compares with all rows"),
        ("SELECT a FROM t UNION ALL SELECT 1", "q.sql:1:34: a SELECT without FROM"),
        ("SELECT a FROM t UNION ALL SELECT id FROM range(3)", "q.sql:1:42: this is no table"),
    ],
)
def test_rows_that_need_other_rows_can_not_be_appended(text: str, expected: str) -> None:
    assert refusal("rows", text).startswith(expected)
    assert refusal("full", text) == ""


@pytest.mark.parametrize("kind", ["rows", "full"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT now() AS a FROM t", "q.sql:1:8: now: write :now"),
        ("SELECT current_date AS a FROM t", "q.sql:1:24: current_date: write :now"),
        ("SELECT CAST('now' AS timestamp) AS a FROM t", "q.sql:1:13: 'now': write :now"),
        ("SELECT date 'Today' AS a FROM t", "q.sql:1:13: 'Today': write :now"),
        ("SELECT CAST(('now') AS date) AS a FROM t", "q.sql:1:14: ('now'): write :now"),
        ("SELECT to_date('today') AS a FROM t", "q.sql:1:8: to_date: write :now"),
        ("SELECT try_to_timestamp('now') AS a FROM t", "q.sql:1:8: try_to_timestamp: write :now"),
        ("SELECT date_add('today', 1) AS a FROM t", "q.sql:1:8: date_add: write :now"),
        ("SELECT current_user() AS a FROM t", "q.sql:1:8: current_user: may differ each time"),
        ("SELECT uuid() AS a FROM t", "q.sql:1:8: uuid: may differ each time"),
        ("SELECT reflect('java.util.UUID', 'randomUUID') AS a FROM t", "q.sql:1:8: reflect: may differ"),
        ("SELECT java_method('a', 'b') AS a FROM t", "q.sql:1:8: java_method: may differ each time"),
        ("SELECT a FROM (SELECT a FROM t) TABLESAMPLE (10 PERCENT)", "q.sql:1:"),
    ],
)
def test_rows_that_nobody_could_make_again_are_refused_for_every_kind(
    kind: str, text: str, expected: str
) -> None:
    assert refusal(kind, text).startswith(expected)


@pytest.mark.parametrize("kind", ["rows", "full"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT a FROM t WHERE IDENTIFIER('reflect')('a', 'b') = 1", "q.sql:1:"),
        ("SELECT IDENTIFIER('b') AS a FROM t", "q.sql:1:8: IDENTIFIER: write the name itself"),
        ("SELECT a FROM t JOIN IDENTIFIER('text.`/etc/passwd`') u", "q.sql:1:22: IDENTIFIER: write the name"),
        ("SELECT a FROM t JOIN read_files('/etc/passwd') u", "q.sql:1:22: read_files: its rows come from no"),
        ("SELECT a FROM t, LATERAL read_kafka('b') u", "q.sql:1:26: read_kafka: its rows come from no input"),
        ("SELECT a + " * 300 + "1 AS a FROM t", "q.sql:1:"),
        ("SELECT " + "a + " * 300 + "a AS a FROM t", "q.sql:1: it is nested more than 200 levels deep"),
        ("SELECT " + "(" * 5000, "q.sql:1: it is nested too deeply to be read"),
        ("SELECT " + "(" * 150 + "a" + ")" * 150 + " AS a FROM t", "q.sql:1: it is nested too deeply to be"),
        ("SELECT a\ud800 FROM t x JOIN IDENTIFIER('b')", "q.sql:1:"),
    ],
)
def test_nothing_is_read_or_called_that_the_text_does_not_name(kind: str, text: str, expected: str) -> None:
    assert expected in refusal(kind, text)


@pytest.mark.parametrize(
    "text", ["CAST('2026-11-22' AS date)", "CAST('epoch' AS date)", "'now'", "to_date('2026-11-22')"]
)
def test_a_text_that_means_the_same_each_day_is_no_clock(text: str) -> None:
    assert refusal("full", f"SELECT {text} AS a FROM t") == ""


@pytest.mark.parametrize(
    ("item", "function"),
    [
        ("count(*)", "sum"),
        ("count(a)", "sum"),
        ("count_if(a > 1)", "sum"),
        ("sum(a * b)", "sum"),
        ("sum(a) FILTER (WHERE b > 1)", "sum"),
        ("min(a)", "min"),
        ("max(a)", "max"),
        ("bool_and(a)", "bool_and"),
        ("every(a)", "bool_and"),
        ("any(a)", "bool_or"),
        ("some(a)", "bool_or"),
    ],
)
def test_totals_that_merge(item: str, function: str) -> None:
    query = parse_query(BY_MINUTE.format(f"{item} AS total"), "q.sql")

    assert merge_of(query).functions == {"total": function}
    assert merge_of(query).keys == ("minute", "email")


@pytest.mark.parametrize(
    ("items", "subtracts"),
    [
        ("count(*) AS n, sum(a) AS s, count(a) AS k", True),
        ("count(1) AS n, sum(coalesce(a, 0)) AS s, sum(2) AS t, count_if(a > 1) AS i", True),
        ("count(*) AS n, sum(a) FILTER (WHERE b > 1) AS s, count(a) FILTER (WHERE b > 1) AS k", True),
        ("count(*) AS n, count(a, b) AS k", True),
        ("count(*) AS n, sum(a) AS s", False),
        ("count(*) AS n, sum(a) AS s, count(b) AS k", False),
        ("count(*) AS n, sum(coalesce(a, b)) AS s", False),
        ("count(*) AS n, sum(a) FILTER (WHERE b = 'x') AS s, count(a) FILTER (WHERE b = 'X') AS k", False),
        ("count(*) AS n, sum(1) FILTER (WHERE b > 1) AS s", False),
        ("count(*) FILTER (WHERE b > 1) AS n", False),
        ("count(a) AS k, sum(a) AS s", False),
        ("count(*) AS n, min(a) AS m", False),
    ],
)
def test_totals_are_subtracted_where_counts_tell_what_is_left(items: str, subtracts: bool) -> None:
    assert merge_of(parse_query(BY_MINUTE.format(items), "q.sql")).subtracts is subtracts


@pytest.mark.parametrize(
    "grouped",
    [
        "symbol, date_trunc('MINUTE', ts)",
        "SYMBOL, date_trunc('minute', t.ts)",
        "t.symbol, minute",
        "1, 2",
        "ALL",
    ],
)
def test_keys_may_be_said_in_each_way_of_spark(grouped: str) -> None:
    text = f"SELECT symbol, date_trunc('MINUTE', ts) AS minute, count(*) AS n FROM t GROUP BY {grouped}"

    assert refusal("totals", text) == ""
    assert merge_of(parse_query(text, "q.sql")).keys == ("symbol", "minute")


@pytest.mark.parametrize("start", ["window.start", "window(ts, '1 minute').start"])
@pytest.mark.parametrize("grouped", ["window(ts, '1 minute')", "window(ts, '1 minute').start", "1", "s"])
def test_sparks_own_windows_are_keys(start: str, grouped: str) -> None:
    text = f"SELECT {start} AS s, email, count(*) AS n FROM t GROUP BY {grouped}, email"

    assert refusal("windows", text, window={"start": "s", "length": "1m"}) == ""
    assert merge_of(parse_query(text, "q.sql")).keys == ("s", "email")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "SELECT session_window.start AS s, count(*) AS n FROM t GROUP BY session_window(ts, '5 minutes')",
            "q.sql:1:65: session_window: new rows may make one session of two old ones",
        ),
        ("SELECT a, avg(b) AS c FROM t GROUP BY a", "q.sql:1:11: avg: can't be merged"),
        ("SELECT a, max_by(b, c) AS c FROM t GROUP BY a", "q.sql:1:18: max_by: can't be merged"),
        ("SELECT a, count(DISTINCT b) AS c FROM t GROUP BY a", "q.sql:1:11: count(DISTINCT ...)"),
        ("SELECT a, sum(b) / count(*) AS c FROM t GROUP BY a", "q.sql:1:11: a total stands alone"),
        ("SELECT a, b, count(*) AS n FROM t GROUP BY a", "q.sql:1:11: b: neither a total nor in GROUP BY"),
        ("SELECT a, count(*) AS n FROM t GROUP BY a, b", "q.sql:1:44: it is grouped by what is no column"),
        ("SELECT a, count(*) AS n FROM t GROUP BY ROLLUP(a)", "q.sql:1:48: GROUPING SETS, CUBE and ROLLUP"),
        ("SELECT *, count(*) AS n FROM t GROUP BY ALL", "q.sql:1:8: *: name the columns"),
        ("SELECT count(*) AS n FROM t", "q.sql:1:8: totals are those of one SELECT with GROUP BY"),
        ("SELECT a, count(*) AS n FROM t GROUP BY a HAVING n > 1", "q.sql:1:50: HAVING is of all rows"),
        ("SELECT a, count(*) AS n FROM t JOIN u USING (a) GROUP BY a", "q.sql:1:37: a join needs"),
        (
            "SELECT a, sum(n) AS n FROM (SELECT a, count(*) AS n FROM t GROUP BY a) GROUP BY a",
            "q.sql:1:39: count is of many rows",
        ),
    ],
)
def test_totals_that_do_not_merge_are_refused(text: str, expected: str) -> None:
    assert refusal("totals", text).startswith(expected)


@pytest.mark.parametrize(
    ("total", "fields", "expected"),
    [
        ("max(a) AS m", {"window": WINDOW}, ""),
        ("sum(a) AS s", {"window": WINDOW, "cumulative_by": ["email"]}, ""),
        ("sum(a) AS s", {"window": {**WINDOW, "start": "minut"}}, "window.start: minut is none of GROUP BY"),
        ("sum(a) AS s", {"window": {**WINDOW, "start": "s"}}, "window.start: s is none of GROUP BY"),
        ("max(a) AS m", {"window": WINDOW, "cumulative_by": ["email"]}, "cumulative_by: m is a max"),
        ("sum(a) AS s", {"window": WINDOW, "cumulative_by": ["emial"]}, "did you mean email?"),
        ("sum(a) AS s", {"window": WINDOW, "cumulative_by": ["minute"]}, "cumulative_by: name email, too"),
    ],
)
def test_windows_and_running_totals_are_by_the_keys(
    total: str, fields: dict[str, Any], expected: str
) -> None:
    refused = refusal("windows", BY_MINUTE.format(total), **fields)

    assert expected in refused
    assert bool(expected) == bool(refused)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT userid, ts, name FROM users", ""),
        ("SELECT * FROM users", ""),
        (
            "SELECT user_id, ts FROM users",
            "key: userid is none of the query's columns; did you mean user_id?",
        ),
        ("SELECT userid FROM users", "latest_by: ts is none of the query's columns"),
        ("SELECT userid, max(ts) AS ts FROM users GROUP BY userid", "max is of many rows"),
        ("SELECT userid, ts, 'x' AS `$$error` FROM users", "keeps no bad rows apart"),
    ],
)
def test_the_newest_row_of_a_key_needs_the_key_and_the_order(text: str, expected: str) -> None:
    refused = refusal("latest", text, key=["userid"], latest_by=["ts"])

    assert expected in refused
    assert bool(expected) == bool(refused)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"parameters": {"large": 4000}}, ""),
        ({"parameters": {"larg": 4000}}, "q.sql:1:29: :large: no such parameter; did you mean larg?"),
        ({"parameters": {"large": 1, "small": 2}}, "parameters: small is nowhere in the query"),
        ({"parameters": {"large": 1}, "partition_by": ["day(tss)"]}, "partition_by: tss is none of"),
        ({"parameters": {"large": 1}, "sort_by": ["b desc"]}, "sort_by: b is none of"),
        ({"parameters": {"large": 1}, "feeds": {"topic": "x", "key": ["aa"]}}, "feeds.key: aa is none of"),
    ],
)
def test_what_the_spec_names_is_in_the_query(fields: dict[str, Any], expected: str) -> None:
    refused = refusal("rows", "SELECT a FROM t WHERE b >   :large AND ts < :now", **fields)

    assert expected in refused
    assert bool(expected) == bool(refused)
