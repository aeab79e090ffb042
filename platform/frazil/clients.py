"""The outside systems of one profile, opened when first used and shared by all that runs in a process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from frazil.publishing.snowflake.session import SharedSessions
from frazil.settings.profile import Settings
from frazil.spec.table import AnyTable

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient
    from pyiceberg.catalog import Catalog
    from pyspark.sql import SparkSession

    from frazil.formats.registry.client import RegistryClient


OpenSpark = Callable[[Settings], "SparkSession"]


class Clients:
    """Clients of one environment. Dagster says how to open Spark: its own resource does.

    Args:
        settings: Where all is, and who Frazil is there.
        open_spark: Opens Spark in the place of the engine.
        keeps_snowflake: Whether logins to Snowflake are kept for who asks next, as long as the process lives.
    """

    def __init__(
        self, settings: Settings, open_spark: OpenSpark | None = None, *, keeps_snowflake: bool = False
    ) -> None:
        self.settings = settings
        self._open_spark = open_spark
        self._opening = threading.Lock()
        self._named: dict[str, Clients] = {"": self}
        self._keeps_snowflake = keeps_snowflake
        self._snowflake = SharedSessions(settings) if keeps_snowflake else None

    def of(self, spec: AnyTable) -> Clients:
        """The clients of the connection that a spec names, opened once; these clients, if it names none.

        Spark is opened by the engine: a session keeps a catalog as it first found it, so each has its own.
        """
        name = spec.connection
        with self._opening:
            if name not in self._named:
                own = type(self)(self.settings.of(name), keeps_snowflake=self._keeps_snowflake)
                self._named[name] = own._named[name] = own
            return self._named[name]

    @cached_property
    def admin(self) -> AdminClient:
        """Kafka's admin client."""
        from frazil.kafka.clients import admin_client

        return admin_client(self.settings)

    @cached_property
    def registry(self) -> RegistryClient:
        """The schema registry's client."""
        if self.settings.registry.kind == "glue":
            from frazil.formats.registry.glue import glue_registry

            return glue_registry(self.settings)
        if self.settings.registry.kind == "azure":
            from frazil.formats.registry.azure import azure_registry

            return azure_registry(self.settings)
        from frazil.formats.registry.client import registry_client

        return registry_client(self.settings)

    @cached_property
    def catalog(self) -> Catalog:
        """The Iceberg catalog that owns the tables."""
        from frazil.tables.catalogs.catalog import open_catalog

        return open_catalog(self.settings)

    @cached_property
    def glue(self) -> Any:
        """Glue's boto3 client."""
        from frazil.tables.catalogs.catalog import glue_client

        return glue_client(self.settings)

    @cached_property
    def lake_formation(self) -> Any:
        """Lake Formation's boto3 client."""
        from frazil.tables.catalogs.catalog import lake_formation_client

        return lake_formation_client(self.settings)

    @cached_property
    def _session(self) -> SparkSession:
        from frazil.tables.spark.session import open_spark

        return (self._open_spark or open_spark)(self.settings)

    @property
    def spark(self) -> SparkSession:
        """The Spark session; opened once, though several landings may ask at the same time.

        Once it is spent, as all are of a server that is started again, another one is opened.
        """
        with self._opening:
            self._drop_spent("_session")
            return self._session

    @cached_property
    def _background_session(self) -> SparkSession:
        from frazil.tables.spark.session import in_background, open_spark

        shared = None if self.settings.spark.upkeep_remote else self._open_spark
        return in_background((shared or open_spark)(self.settings.of_upkeep))

    @property
    def background_spark(self) -> SparkSession:
        """For upkeep: on a Spark of its own, or on the pool of landings' that gets what they leave over."""
        with self._opening:
            self._drop_spent("_background_session")
            return self._background_session

    def _drop_spent(self, name: str) -> None:
        from frazil.tables.spark.session import is_spent

        session = self.__dict__.get(name)
        if session is not None and is_spent(session):
            del self.__dict__[name]

    def snowflake(self) -> AbstractContextManager[Any]:
        """A connection to Snowflake that closes with the context, or the one that is shared."""
        from frazil.publishing.snowflake.connection import open_snowflake

        return self._snowflake.lent() if self._snowflake else open_snowflake(self.settings)

    @contextmanager
    def one_snowflake(self) -> Iterator[None]:
        """While it lasts, what is done one after the other shares a login to Snowflake."""
        if self._keeps_snowflake:
            yield
            return
        self._snowflake = SharedSessions(self.settings)
        try:
            yield
        finally:
            sessions, self._snowflake = self._snowflake, None
            sessions.close()
