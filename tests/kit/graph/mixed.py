"""A folder of several teams' pipelines: some are sound, the others each hold another kind of mistake."""

from __future__ import annotations

from pathlib import Path

__all__ = ["BROKEN", "TABLES", "write_mixed"]

TOPICS = "type: assets.topic_tables.TopicTables\nattributes:\n  tables:\n"
DERIVED = "type: assets.derived_tables.DerivedTables\nattributes:\n  tables:\n"
SCHEMA = '{"type": "record", "name": "R", "fields": [{"name": "id", "type": "string"}]}'

_READERS = ("own", "late", "later", "maybe")

_FILES = {
    "shop": {"defs.yaml": f"{TOPICS}    - {{topic: orders, publish: []}}\n"},
    "no_yaml": {"defs.yaml": f"{TOPICS}    - {{topic: a\n"},
    "key": {"defs.yaml": f"{TOPICS}    - topic: b\n      freshnes: 1m\n"},
    "value": {"defs.yaml": f"{TOPICS}    - topic: c\n      partitions: many\n"},
    "no_file": {"defs.yaml": f"{TOPICS}    - {{topic: d, value_schema: d.avsc}}\n"},
    "schema": {
        "defs.yaml": f"{TOPICS}    - {{topic: e, value_schema: e.avsc}}\n",
        "e.avsc": SCHEMA.replace("string", "strnig"),
    },
    "query": {
        "defs.yaml": f"{TOPICS}    - {{topic: f, value_schema: f.avsc}}\n---\n"
        f"{DERIVED}    - {{table: few, sql: f.sql}}\n",
        "f.avsc": SCHEMA,
        "f.sql": "SELECT idd FROM f",
    },
    "ring": {
        "defs.yaml": f"{DERIVED}    - {{table: x, sql: x.sql}}\n    - {{table: y, sql: y.sql}}\n",
        "x.sql": "SELECT id FROM y",
        "y.sql": "SELECT id FROM x",
    },
    "twice": {"defs.yaml": f"{TOPICS}    - {{topic: orders, table: other}}\n"},
    "reader": {
        "defs.yaml": f"{TOPICS}    - {{topic: g, publish: []}}\n---\n{DERIVED}"
        + "".join(
            f"    - {{table: {t}, sql: {t}.sql, publish: []}}\n" for t in ("own", "late", "later", "maybe")
        ),
        "own.sql": "SELECT id FROM g",
        "late.sql": "SELECT id FROM few",
        "later.sql": "SELECT id FROM late",
        "maybe.sql": "SELECT id FROM b",
    },
    "wrong_type": {"defs.yaml": "type: somewhere.Else\nattributes: {}\n"},
}

BROKEN = {
    "no_yaml": ["no_yaml/defs.yaml:5: this is no YAML"],
    "key": ["key/defs.yaml:5: tables[0].freshnes: unknown name; did you mean 'freshness'?"],
    "value": ["value/defs.yaml:5: tables[0].partitions: "],
    "no_file": ["no_file/defs.yaml:4: tables[0].value_schema: there is no file"],
    "schema": ["schema/e.avsc: this is no Avro schema"],
    "query": ["query/f.sql:1:8: idd: no column of f; did you mean id?"],
    "ring": ["ring/defs.yaml:4: local.x is made of local.y", "ring/defs.yaml:5: local.y is made of local.x"],
    "twice": ["twice/defs.yaml:4: kafka/orders is there already, in "],
    "reader": [
        "late.sql:1:16: few: waits for pipeline query (",
        "later.sql:1:16: late: waits for pipeline query (",
        "maybe.sql:1:16: b: no pipeline makes a table local.b, unless pipeline key (",
    ],
}
"""What is told of each broken pipeline. Of `reader` only three tables wait; the others are sound."""

TABLES = ["local.g", "local.orders", "local.own"]
"""What can be made."""


def write_mixed(root: Path, *names: str) -> Path:
    """Writes the folder, or some pipelines of it; gives it."""
    for name in names or _FILES:
        (root / name).mkdir(parents=True)
        for file, text in _FILES[name].items():
            (root / name / file).write_text(text)
    return root
