"""Snowflake for Dagster: `dagster_snowflake.SnowflakeResource` with the profile's key-pair login."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from frazil.settings import Settings

if TYPE_CHECKING:
    from dagster_snowflake import SnowflakeResource

__all__ = ["open_snowflake", "snowflake_resource"]


def snowflake_resource(settings: Settings) -> SnowflakeResource:
    """The resource, its own fields filled in first, the connector's other arguments behind."""
    # Not at the top: it costs 5 s (snowpark, snowflake.core), which only runs that need it may pay.
    from dagster_snowflake import SnowflakeResource

    from frazil.publishing.snowflake.connection import connection_arguments

    arguments = connection_arguments(settings)
    arguments["private_key_path"] = arguments.pop("private_key_file")
    own = {k: v for k, v in arguments.items() if k in SnowflakeResource.model_fields}
    further = {k: v for k, v in arguments.items() if k not in own}
    return SnowflakeResource(**own, additional_snowflake_connection_args=further)


@contextmanager
def open_snowflake(settings: Settings) -> Iterator[Any]:
    """A connection that closes with the context."""
    with snowflake_resource(settings).get_connection() as connection:
        yield connection
