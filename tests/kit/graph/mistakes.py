"""Mistakes of a newcomer with a part of each answer: tests read the answers, `make bench` what they cost."""

from __future__ import annotations

from kit.runs.shell import TOPICS

__all__ = ["ARGUMENTS", "FILES", "SETTINGS", "TOPIC"]

ARGUMENTS = [
    ("lnad orders", "Did you mean 'land'?"),
    ("land", "Name tables, or give --all.\n"),
    ("land orders --all", "not both"),
    ("land ordrs", "Did you mean local.orders?"),
    ("lag ordrs", "Did you mean local.orders?"),
    ("describe ''", "Write namespace.table."),
    ("derive orders", "`frazil land local.orders`"),
    ("land orders --max-records x", "should be a valid integer"),
    ("land orders --accept-loss 0:5", "write PARTITION:FROM-TO"),
    ("land orders --accept-loss 0:9-5", "write PARTITION:FROM-TO"),
    ("resume orders --past 0-12", "write PARTITION:OFFSET"),
    ("rollback orders --to yesterday", "is neither a snapshot's id nor a time"),
    ("accept orders --snapshot x --because y", "should be a valid integer"),
    ("redrive orders --with nosuch:function", "No module named 'nosuch'"),
    ("redrive orders --with os", "write --with MODULE:FUNCTION"),
    ("metrics --port 99999", "less than or equal to 65535"),
    ("graph --out picture.pdf", ".svg or .png"),
    ("doctor --pipeline nosuch", "Known are shop."),
    ("rotate nosuch", "There is no deployment nosuch."),
    ("generate nosuch", "is not one of"),
    ("up --port kafka=x", "--port NAME=NUMBER"),
    ("down --only zookeeper", "Its parts are storage"),
    ("logs zookeeper", "Its parts are storage"),
    ("schema diff orders --candidate nosuch.avsc", "nosuch.avsc"),
    ("schema diff orders --candidate pyproject.toml", "pyproject.toml"),
]
"""What is typed after `frazil`, where a pipeline lands the topic orders."""

SETTINGS = [
    ("FRAZIL_REST__URI", "nonsense", "this is no address; write http://HOST:PORT"),
    ("FRAZIL_REST__URI", "http://[::1", "this is no address"),
    ("FRAZIL_REST__URI", "http://host:port", "this is no address"),
    ("FRAZIL_REGISTRY__URL", "ftp://host", "this is no address"),
    ("FRAZIL_GLUE__ENDPOINT", "localhost:5557", "this is no address"),
    ("FRAZIL_S3__ENDPOINT", "http:// host", "this is no address"),
    ("FRAZIL_KAFKA__BOOTSTRAP_SERVERS", "http://host:9092", "write each broker as HOST:PORT"),
    ("FRAZIL_KAFKA__BOOTSTRAP_SERVERS", "host", "write each broker as HOST:PORT"),
    ("FRAZIL_KAFKA__CLIENT", "{bad", "is no JSON: Expecting property name"),
    ("FRAZIL_CONNECTIONS", "[1]", "Input should be a valid dictionary"),
    ("FRAZIL_KAFKA__TLS", "yess", "Input should be a valid boolean"),
    ("FRAZIL_CATALOG", "gleu", "Input should be 'rest' or 'glue'"),
    ("FRAZIL_SPARK__REMOTE", "localhost:15002", "write sc://HOST:PORT"),
    ("FRAZIL_REGISTRY__USER_INFO", "me", "write user:password"),
    ("FRAZIL_KAFKA__PASWORD", "x", "is it FRAZIL_KAFKA__PASSWORD?"),
    ("FRAZIL_PIPELINES", "/nowhere", "there is no such folder of pipelines"),
    ("FRAZIL_PIPELINES", "~nobody-here/pipelines", "this machine knows no user of that name"),
    ("FRAZIL_PROFILE", "/nowhere.json", "There is no such profile."),
]
"""A variable and its value."""

TOPIC = f"type: {TOPICS}\nattributes:\n  tables:\n    - topic: orders\n"

FILES = [
    ("", "defs.yaml:1: it is empty"),
    ("attributes: {}\n", "defs.yaml:1: type: missing; it ends with TopicTables or DerivedTables"),
    (TOPIC.replace("TopicTables", "TopicsTables"), "did you mean assets.topic_tables.TopicTables?"),
    (TOPIC + "     table: x\n", "defs.yaml:5: this is no YAML"),
    (TOPIC + "      freshnes: 1m\n", "tables[0].freshnes: unknown name; did you mean 'freshness'?"),
    (TOPIC + "      freshness: soon\n", "write a number and s, m, h or d, such as 15m"),
    (TOPIC + "      on_bad_record: drop\n", "should be 'suspend', 'skip' or 'dead_letter'"),
    (TOPIC + "      partition_by: [dya(id)]\n", "write a column, year|month|day|hour(column)"),
    (TOPIC + "      value_schema: orders.avcs\n", "defs.yaml:5: tables[0].value_schema"),
    (TOPIC + "      value_schema: no.avsc\n", "there is no file"),
    (TOPIC + "      connection: eu\n", "defs.yaml:5: tables[0].connection"),
]  # fmt: skip
"""What a pipeline's file holds."""
