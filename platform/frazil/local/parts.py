"""The composition of a stack: which parts it has, and what each is given."""

from __future__ import annotations

from collections.abc import Mapping

from frazil.errors import ConfigureError
from frazil.local.cloud import aws, snowflake, storage
from frazil.local.home import Home
from frazil.local.jars import Jars, cache_folder, java_home, read_lock
from frazil.local.kafka import kafka, registry
from frazil.local.keys import s3_credentials, snowflake_keys
from frazil.local.ports import Ports, choose, recall, remember
from frazil.local.profile import SNOWFLAKE_USER, make_dagster_home, write_profile
from frazil.local.server import Server
from frazil.local.spark import Spark
from frazil.local.stack import Stack

__all__ = ["known_stack", "prepared_stack"]


def known_stack(home: Home) -> Stack:
    """The stack as it was last started."""
    home.make()
    ports = recall(home.ports)
    return Stack(home, ports, _servers(home, ports))


def prepared_stack(home: Home, chosen: Mapping[str, int], offset: int | None = None) -> Stack:
    """The stack as it shall be started: ports and profile are written.

    Args:
        home: Where it lives.
        chosen: Ports given one by one.
        offset: Added to every default port.

    Raises:
        ConfigureError: Other ports are wanted while it runs.
    """
    known = known_stack(home)
    ports = choose(home.ports, chosen, offset)
    if dict(ports) != dict(known.ports) and known.is_running():
        raise ConfigureError(
            "The stack runs with other ports.", where=str(home.ports), todo="`frazil down` first."
        )
    remember(home.ports, ports)
    write_profile(home, ports, s3_credentials(home), snowflake_keys(home))
    make_dagster_home(home)
    return Stack(home, ports, _servers(home, ports))


def _servers(home: Home, ports: Ports) -> list[Server]:
    java = java_home(home.root / "java")
    jars = Jars(cache_folder(), read_lock())
    credentials = s3_credentials(home)
    spark = Spark(home, ports, java, jars, credentials)
    return [
        storage(home, ports, credentials),
        aws(home, ports),
        kafka(home, ports, java, jars),
        registry(home, ports, java, jars),
        spark.of_landings,
        spark.of_upkeep,
        snowflake(home, ports, credentials, SNOWFLAKE_USER, snowflake_keys(home).public),
    ]
