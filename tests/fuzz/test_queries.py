"""A query is understood or refused before any server hears of it."""

from __future__ import annotations

from pathlib import Path

from frazil.derive.queries.columns import lineage, typed
from frazil.derive.queries.legality import refuse_unfit
from frazil.derive.queries.query import parse_query
from frazil.derive.queries.syntax import words_of
from frazil.derive.queries.totals import merge_of
from frazil.errors import SpecError
from frazil.spec.derived import DerivedSpec, Window
from kit.derived.query_cases import PARAMETERS, RIGHT, TABLES
from kit.drawn.fuzzing import fuzz
from kit.drawn.mutation import Mutator

_SPECS = (
    DerivedSpec(table="t", kind="rows", sql=Path("t.sql")),
    DerivedSpec(table="t", kind="totals", sql=Path("t.sql")),
    DerivedSpec(table="t", kind="full", sql=Path("t.sql")),
    DerivedSpec(table="t", kind="windows", sql=Path("t.sql"), window=Window(start="at", length="1m")),
)
_CALLS = (
    "reflect('java.lang.Runtime', 'getRuntime')",
    "java_method('java.lang.System', 'exit', 1)",
    "try_reflect('java.lang.System', 'getenv')",
    "assert_true(false)",
    "raise_error('x')",
    "(SELECT max(value) FROM text.`/etc/passwd`)",
    "(SELECT 1 FROM csv.`file:///etc/passwd`)",
    "(SELECT 1 FROM parquet.`s3://other/owned`)",
    "(SELECT 1 FROM read_files('/etc/passwd'))",
    "(SELECT 1 FROM jdbc.`jdbc:h2:mem:x`)",
    "(SELECT 1 FROM range(1000000000000))",
    "(SELECT 1 FROM iceberg.`s3://other/owned`)",
    "(SELECT 1 FROM trades.snapshots)",
    "(SELECT 1 FROM trades VERSION AS OF 1)",
    "(SELECT 1 FROM IDENTIFIER('other'))",
    "(VALUES (1))",
    "${env:HOME}",
    "from_json('{', 'a INT')",
    "transform(array(1), x -> x)",
)
_STATEMENTS = (
    "DROP TABLE trades",
    "COPY INTO x FROM trades",
    "INSERT OVERWRITE DIRECTORY '/owned' SELECT 1",
    "CREATE TABLE owned AS SELECT 1",
    "ADD JAR '/owned.jar'",
    "SET spark.sql.x = 1",
    "CALL system.remove_orphan_files('x')",
    "CACHE TABLE trades",
    "FROM trades SELECT TRANSFORM (symbol) USING 'sh' AS (a)",
    "SELECT TRANSFORM (symbol) USING 'sh -c id' AS (a) FROM trades",
    "EXECUTE IMMEDIATE 'DROP TABLE trades'",
    "CREATE TEMPORARY FUNCTION f AS 'owned.F' USING JAR '/owned.jar'",
    "LOAD DATA INPATH '/etc/passwd' INTO TABLE trades",
)


def query(mutator: Mutator) -> str:
    """A broken query, with calls in it that no query may make."""
    dice = mutator.random
    text = dice.choice([case.sql if hasattr(case, "sql") else case[0] for case in RIGHT])
    if dice.random() < 0.3:
        words = text.split(" ")
        words[dice.randrange(len(words))] = dice.choice((*_CALLS, mutator.word(), "(", ")", ",", "NULL"))
        text = " ".join(words)
    if dice.random() < 0.05:
        text = dice.choice((dice.choice(_STATEMENTS), f"{text}; {dice.choice(_STATEMENTS)}"))
    return mutator.text(text)


def read(text: str) -> None:
    """All that is done with a query before Spark gets it; each kind of table judges it for itself."""
    parsed = parse_query(text, "t.sql")
    typed(parsed, TABLES, PARAMETERS)
    lineage(parsed, TABLES)
    words_of(text)
    parsed.sql_over(dict.fromkeys(parsed.inputs, "frazil_view"))
    for spec in _SPECS:
        try:
            refuse_unfit(parsed, spec)
            merge_of(parsed)
        except SpecError:
            continue


def test_any_query_is_understood_or_refused() -> None:
    assert fuzz("query", query, read)
