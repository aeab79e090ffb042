"""Rows that Spark changes by deletion vectors."""

from __future__ import annotations

from frazil.tables.spark.session import spark_name
from kit.readers.opened import table_of
from kit.records.topics import Topic

__all__ = ["change_by_vectors"]

_MODES = ", ".join(f"'write.{word}.mode' = 'merge-on-read'" for word in ("delete", "update", "merge"))


def change_by_vectors(topic: Topic, statement: str) -> None:
    """Runs a DELETE, UPDATE or MERGE; `{t}` in it is the table.

    Its vectors go to a folder where SeaweedFS takes files with such names.
    """
    name, spark = spark_name(topic.things.table), topic.connections.spark
    folder = f"{table_of(topic).location()}/_vectors"
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ({_MODES}, 'write.data.path' = '{folder}')").collect()
    spark.sql(statement.format(t=name)).collect()
    spark.sql(f"ALTER TABLE {name} UNSET TBLPROPERTIES ('write.data.path')").collect()
