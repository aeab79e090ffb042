"""A named connection: what it tells otherwise than the profile, for several clusters or catalogs at once."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from frazil.settings.systems.aws import AwsSettings, GlueSettings, S3Settings
from frazil.settings.systems.kafka import KafkaSettings
from frazil.settings.systems.registry import RegistrySettings
from frazil.settings.systems.rest import RestSettings
from frazil.settings.systems.snowflake import SnowflakeSettings
from frazil.settings.systems.spark import SparkSettings
from frazil.settings.systems.system import SystemSettings


class ConnectionSettings(SystemSettings):
    """One connection. What it leaves out is as in the profile; `cluster` is the connection's name."""

    cluster: str | None = Field(None, description="Default: the connection's name.")
    catalog: Literal["rest", "glue"] | None = None
    kafka: KafkaSettings | None = None
    registry: RegistrySettings | None = None
    aws: AwsSettings | None = None
    s3: S3Settings | None = None
    glue: GlueSettings | None = None
    rest: RestSettings | None = None
    snowflake: SnowflakeSettings | None = None
    spark: SparkSettings | None = None

    @property
    def changes(self) -> dict[str, Any]:
        """What it changes, as `Settings.with_changes` takes it."""
        return {name: _plain(getattr(self, name)) for name in self.model_fields_set}


def _plain(value: Any) -> Any:
    if isinstance(value, SystemSettings):
        return {name: getattr(value, name) for name in value.model_fields_set}
    return value
