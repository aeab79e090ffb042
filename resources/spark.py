"""Spark for Dagster: a session of the run's own, opened when a landing first asks for it."""

from __future__ import annotations

from typing import Any

from dagster_pyspark import LazyPySparkResource
from pydantic import PrivateAttr

from frazil.settings import Settings

__all__ = ["OwnSparkSession", "spark_resource"]


class OwnSparkSession(LazyPySparkResource):
    """A session that nobody else in the process works in.

    Dagster's own takes whatever session was opened last (`getOrCreate`), if there is any: upkeep's,
    on another server, or one that has another profile's catalog under the same name.
    """

    _own: Any = PrivateAttr(None)

    @property
    def spark_session(self) -> Any:
        """Opened when first asked for."""
        from pyspark.sql import SparkSession

        remote: str | None = self.spark_config.get("spark.remote")
        if self._own is None and remote:
            self._own = SparkSession.builder.remote(remote).create()
        elif self._own is None:
            self._own = super().spark_session.newSession()
        return self._own


def spark_resource(settings: Settings) -> OwnSparkSession:
    """A session on the profile's Spark Connect server, or on a master such as `local[2]`."""
    remote = settings.spark_remote
    where = "spark.remote" if remote.startswith("sc://") else "spark.master"
    return OwnSparkSession(spark_config={where: remote})
