"""What `frazil query` is asked and what `frazil discover` meets: answered or refused, and nothing else."""

from __future__ import annotations

from pathlib import Path

import yaml
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from frazil.cli.views.sandbox import Rows, sandbox
from frazil.discovery.proposal import propose
from frazil.discovery.sample import Sample
from kit.drawn.fuzzing import fuzz
from kit.drawn.mutation import Mutator

STATEMENTS = (
    "SELECT name, count(*) FROM orders GROUP BY ALL ORDER BY 2 DESC LIMIT 3",
    "WITH c AS (FROM shop.orders WHERE id > 1) SELECT * FROM c JOIN orders USING (id)",
    "SELECT * EXCLUDE (id), id::VARCHAR || name FROM orders, range(3) AS r(x), unnest([1, 2])",
    "SELECT * FROM read_text('/etc/passwd') UNION ALL SELECT content FROM glob('*')",
    "COPY (SELECT 1) TO 'x'; ATTACH 'y.db'; SET threads = 8; INSTALL httpfs",
    "SELECT x.name[1:2], struct_pack(a := id), [n + 1 FOR n IN [id]] FROM orders x",
    "DESCRIBE orders",
    "SELECT sum(id) OVER (PARTITION BY name ORDER BY id ROWS 1 PRECEDING) FROM orders QUALIFY id > 0",
    "SELECT * FROM query('SELECT 1'), query_table('orders'), enable_logging()",
)


def statement(mutator: Mutator) -> str:
    return mutator.text(mutator.random.choice(STATEMENTS))


def test_any_statement_is_answered_or_refused(tmp_path: Path) -> None:
    catalog = InMemoryCatalog("memory", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("shop")
    fields = NestedField(1, "id", LongType()), NestedField(2, "name", StringType())
    table = catalog.create_table(("shop", "orders"), Schema(*fields))

    def ask(sql: str) -> None:
        with sandbox() as duck:
            names = duck.tables_of(sql)
            for parts in {("orders",), ("shop", "orders")} & set(names):
                duck.add(parts, Rows(table))
            duck.select(sql, rows=10, seconds=2)

    assert fuzz("statements for duckdb", statement, ask)


def test_any_record_makes_a_proposal_or_none() -> None:
    def look(record: bytes) -> None:
        proposal, _ = propose("orders", Sample((record, None), (record, record)), 10**9, {})
        if proposal:
            assert yaml.safe_load(yaml.safe_dump(proposal.table)) == proposal.table

    assert fuzz("records of topics", lambda m: m.raw(b'{"a": {"b": [1, "x"]}}'), look)
