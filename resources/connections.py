"""The engine's connections as Dagster resources: one that holds all of them, and Dagster's own for Spark."""

# No `from __future__ import annotations`: Dagster must see the type of a nested resource, not its name.
from collections.abc import Iterable
from typing import Any

import dagster as dg
from dagster_pyspark import LazyPySparkResource
from pydantic import PrivateAttr

from frazil.clients import Clients
from frazil.connections import Connections
from frazil.reporting import Done, Failure, WorkKind, is_news
from frazil.settings.profile import Settings
from frazil.spec.names import AssetPath
from frazil.spec.table import AnyTable
from frazil.tables.spark.session import configure_session, is_connect, is_spent, spark_errors
from frazil_lineage.parent import Parent
from frazil_lineage.reporter import LineageReporter


class FrazilConnections(dg.ConfigurableResource[Any]):
    """The outside systems of the profile in force; each opens when first used, once per run.

    Snowflake opens as it does in a shell, for what dagster-snowflake's resource costs each run that opens it:
    see `resources.snowflake`, which has it for a team's own assets.
    """

    spark: dg.ResourceDependency[LazyPySparkResource]
    _connections: Connections | None = PrivateAttr(None)
    _lineage: LineageReporter | None = PrivateAttr(None)

    @property
    def connections(self) -> Connections:
        """The connections that the engine's functions take."""
        if self._connections is None:
            self._connections = Clients(Settings.load(), self._open_spark)
        return self._connections

    def of(self, spec: AnyTable) -> Connections:
        """The clients of the connection that a spec names; the profile's own, if it names none."""
        return self.connections.of(spec)

    def send_lineage(self, run: dg.DagsterRun, news: Iterable[tuple[AnyTable, Done]]) -> None:
        """Sends what a step did to tables as OpenLineage events, of which its run is the parent."""
        if self._lineage is None:
            parent = Parent(run.run_id, run.job_name)
            self._lineage = LineageReporter(self.connections.settings, self.connections, parent)
        self._lineage.tell_all(one for one in news if is_news(one[1]))

    def send_failure(
        self, run: dg.DagsterRun, spec: AnyTable, kind: WorkKind, error: Exception, target: AssetPath = ()
    ) -> None:
        """Sends that work on a table failed, as a run of OpenLineage that failed."""
        if failure := Failure.of(kind, error, target):
            self.send_lineage(run, [(spec, failure)])

    def _open_spark(self, settings: Settings) -> Any:
        with spark_errors(settings):
            return configure_session(self.spark.spark_session, settings)


class OwnSparkSession(LazyPySparkResource):
    """A session that nobody else in the process works in.

    Dagster's own takes whatever session was opened last (`getOrCreate`), if there is any: upkeep's,
    on another server, or one that has another profile's catalog under the same name.
    """

    _own: Any = PrivateAttr(None)

    @property
    def spark_session(self) -> Any:
        """Opened when first asked for."""
        from frazil.tables.spark.connect import connect_session

        remote: str | None = self.spark_config.get("spark.remote")
        if self._own is not None and is_spent(self._own):
            self._own = None  # its server was started again
        if self._own is None and remote:
            # The token is no part of the resource's configuration, which Dagster shows.
            self._own = connect_session(Settings.load().with_changes(spark={"remote": remote}))
        elif self._own is None:
            self._own = super().spark_session.newSession()
        return self._own


def spark_resource(settings: Settings) -> OwnSparkSession:
    """A session on the profile's Spark Connect server, or on a master such as `local[2]`."""
    remote = settings.spark.remote
    where = "spark.remote" if is_connect(remote) else "spark.master"
    return OwnSparkSession(spark_config={where: remote})
