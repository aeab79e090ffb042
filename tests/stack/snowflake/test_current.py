"""A table that changes are appended to has a view of what holds now."""

from __future__ import annotations

from frazil.connections import Connections
from frazil.landing.land import land
from frazil.publishing.snowflake.tables import Snowflake
from frazil.publishing.views.queries import current_sql
from frazil.quoting import quoted
from frazil.tables.spark.session import spark_name
from kit.readers.opened import table_of
from kit.readers.targets import sync_glue
from kit.records.topics import topic_maker
from kit.records.upserts import Upserts, by_key


def test_snowflake_has_a_view_of_the_newest_record_of_each_key_and_spark_takes_its_query(
    connections: Connections, fresh_name: str
) -> None:
    make_one = topic_maker(connections, fresh_name, "landing_tests")
    made = Upserts(
        make_one(partitions=2, trades=False, key_format="string", on_null_value="keep", current_by=["key"])
    )
    topic, spec = made.topic, made.topic.spec
    target = Snowflake(spec, connections.settings)
    made.send([("a", 1), ("b", 1), ("c", 1), ("a", 2)])

    for changes in ([], [("b", None), ("c", 3), ("d", 4)]):
        made.send(changes)
        land(spec, connections)
        sync_glue(connections, topic.things)
        target.sync(connections)

        with connections.snowflake() as snowflake:
            view = f"{target.relations[0]}_CURRENT"
            rows = snowflake.cursor().execute(f"select key, quantity from {view}").fetchall()
        assert by_key((str(key), int(quantity)) for key, quantity in rows) == made.rows
        columns = [field.name for field in table_of(topic).schema().fields]
        query = current_sql(spec, spark_name(topic.things.table), columns, quoted)
        by_spark = connections.spark.sql(query).collect()
        assert by_key((row["key"], row["quantity"]) for row in by_spark) == made.rows
