"""Spark for Dagster: one session per process, opened when a landing first asks for it."""

from __future__ import annotations

from dagster_pyspark import LazyPySparkResource

from frazil.settings import Settings

__all__ = ["spark_resource"]


def spark_resource(settings: Settings) -> LazyPySparkResource:
    """A session on the profile's Spark Connect server, or on a master such as `local[2]`."""
    remote = settings.spark_remote
    where = "spark.remote" if remote.startswith("sc://") else "spark.master"
    return LazyPySparkResource(spark_config={where: remote})
