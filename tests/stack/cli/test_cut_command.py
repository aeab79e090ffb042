"""`frazil cut`: two tables of a pipeline as of one moment, read by their tags."""

from __future__ import annotations

import pytest

from frazil.connections import Connections
from frazil.spec.topic import TableSpec
from frazil.tables.spark.session import spark_name
from kit.records.topics import Topic, create_topic
from kit.runs.shell import NAMESPACE, Command, Shell


@pytest.mark.nightly
def test_tables_of_a_pipeline_are_read_as_of_one_moment_until_the_cut_is_dropped(
    frazil: Command, shell: Shell, connections: Connections, fresh_name: str
) -> None:
    orders, payments = (made(connections, f"{fresh_name}_{n}") for n in (1, 2))
    shell.write({"topic": orders.name}, {"topic": payments.name}, name="shop")
    early = frazil("cut", "create", "month", "--pipeline", "shop")
    frazil("land", "--all")
    orders.trades(3)

    created = shell("cut", "create", "month", "--pipeline", "shop", "--keep", "30d", "--json")
    for topic in (orders, payments):
        topic.trades(2)
    frazil("land", "--all")
    listed = frazil("cut", "list", "--json").document
    again = frazil("cut", "create", "month", "--pipeline", "shop")
    counts = [by_tag(topic) for topic in (orders, payments)]
    dropped = frazil("cut", "drop", "month")
    unknown = frazil("cut", "describe", "month")

    assert (early.code, early.is_clear) == (1, True)
    assert (created.code, created.document["state"]) == (0, "complete")
    assert [(cut["name"], cut["state"], len(cut["tables"])) for cut in listed] == [("month", "complete", 2)]
    assert counts == [5 + 3, 5]
    assert [len(topic.rows()) for topic in (orders, payments)] == [5 + 3 + 2, 5 + 2]
    assert (again.code, dropped.code, unknown.code) == (2, 0, 2)
    assert frazil("cut", "list", "--json").document == []


def made(connections: Connections, name: str) -> Topic:
    create_topic(connections.admin, name, 2, {})
    topic = Topic(name, connections, TableSpec(topic=name, namespace=NAMESPACE))
    topic.trades(5)
    return topic


def by_tag(topic: Topic) -> int:
    """Rows that Spark reads by the tag."""
    name = spark_name(topic.things.table)
    return int(
        topic.connections.spark.sql(f"SELECT count(*) FROM {name} VERSION AS OF 'cut_month'").first()[0]
    )
