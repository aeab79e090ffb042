"""What the engine needs of the outside systems; `frazil.clients` opens them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from frazil.settings.profile import Settings
from frazil.spec.table import AnyTable

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient
    from pyiceberg.catalog import Catalog
    from pyspark.sql import SparkSession

    from frazil.formats.registry.client import RegistryClient

S = TypeVar("S", bound=AnyTable)


class Connections(Protocol):
    """Clients of one environment, each opened when first used."""

    settings: Settings

    def of(self, spec: AnyTable) -> Connections:
        """The connections that a spec names, or these if it names none."""

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
    def lake_formation(self) -> Any:
        """Lake Formation's boto3 client."""

    @property
    def spark(self) -> SparkSession:
        """The Spark session of landings and derivations."""

    @property
    def background_spark(self) -> SparkSession:
        """The Spark session of upkeep."""

    def snowflake(self) -> AbstractContextManager[Any]:
        """A connection to Snowflake that closes with the context, or the one that is shared."""

    def one_snowflake(self) -> AbstractContextManager[None]:
        """While it lasts, what is done one after the other shares a login to Snowflake."""


def apart(specs: Iterable[S], connections: Connections) -> Iterator[tuple[list[S], Connections]]:
    """The specs of each connection, with its clients."""
    by_name: dict[str, list[S]] = {}
    for spec in specs:
        by_name.setdefault(spec.connection, []).append(spec)
    for own in by_name.values():
        yield own, connections.of(own[0])
