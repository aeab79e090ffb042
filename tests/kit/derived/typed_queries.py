"""What Spark's analysis says of a query upon empty views: no table is needed, and no job runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from pyspark.sql import SparkSession

from frazil.derive.queries.columns import Column
from frazil.derive.queries.query import NOW, Query
from frazil.quoting import quoted
from frazil.spec.derived import Parameter

__all__ = ["by_spark"]


def by_spark(
    spark: SparkSession,
    query: Query,
    tables: Mapping[str, Sequence[Column]],
    parameters: Mapping[str, Parameter],
    prefix: str,
) -> tuple[Column, ...]:
    """The columns of a query's output; views are named by a prefix that no other test has."""
    views = {name: f"{prefix}_{i}" for i, name in enumerate(query.inputs)}
    for name, view in views.items():
        nulls = (f"CAST(NULL AS {kind}) AS {quoted(column)}" for column, kind in tables[name])
        spark.sql(f"SELECT {', '.join(nulls)}").createOrReplaceTempView(view)
    try:
        values = {**parameters, **({NOW: datetime.now(UTC)} if query.uses_now else {})}
        return tuple(spark.sql(query.sql_over(views), args=values).dtypes)
    finally:
        for view in views.values():
            spark.catalog.dropTempView(view)
