"""What the engine needs of the outside systems; `frazil.clients` opens them."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from frazil.formats.registry import RegistryClient
from frazil.settings.profile import Settings

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient
    from pyiceberg.catalog import Catalog
    from pyspark.sql import SparkSession


class Connections(Protocol):
    """Clients of one environment, each opened when first used."""

    settings: Settings

    @property
    def admin(self) -> AdminClient:
        """Kafka's admin client."""

    @property
    def registry(self) -> RegistryClient:
        """The schema registry's client."""

    @property
    def catalog(self) -> Catalog:
        """The Iceberg catalog that owns the tables."""

    @property
    def glue(self) -> Any:
        """Glue's boto3 client."""

    @property
    def spark(self) -> SparkSession:
        """The Spark session of landings and derivations."""

    @property
    def background_spark(self) -> SparkSession:
        """The Spark session of upkeep."""

    def snowflake(self) -> AbstractContextManager[Any]:
        """A connection to Snowflake that closes with the context."""
