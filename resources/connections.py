"""The engine's connections as a Dagster resource."""

# No `from __future__ import annotations`: Dagster must see the type of a nested resource, not its name.
from typing import Any

import dagster as dg
from dagster_pyspark import LazyPySparkResource
from pydantic import PrivateAttr

from frazil.clients import Clients
from frazil.connections import Connections
from frazil.settings import Settings
from frazil.tables.spark import configure_session, spark_errors
from resources.snowflake import open_snowflake

__all__ = ["FrazilConnections"]


class FrazilConnections(dg.ConfigurableResource[Any]):
    """The outside systems of the profile in force; each opens when first used, once per run."""

    spark: dg.ResourceDependency[LazyPySparkResource]
    _connections: Connections | None = PrivateAttr(None)

    @property
    def connections(self) -> Connections:
        """What the engine's functions take."""
        if self._connections is None:
            self._connections = Clients(Settings.load(), self._open_spark, open_snowflake)
        return self._connections

    def _open_spark(self, settings: Settings) -> Any:
        with spark_errors(settings):
            return configure_session(self.spark.spark_session, settings)
