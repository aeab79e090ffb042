"""Where things are: brokers, registry, catalogs, Spark, warehouse, secrets. One profile, one environment.

A value is looked for in this order: the environment (`FRAZIL_<NAME>`), the profile file
(`$FRAZIL_PROFILE`, by default `$FRAZIL_HOME/profile.json`, which `frazil up` writes), the defaults below.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    JsonConfigSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from frazil.access import KafkaAccess, RegistryAccess, RestAccess, Secret
from frazil.alarm_access import AlarmAccess
from frazil.errors import ConfigureError


def frazil_home() -> Path:
    """The folder that holds everything of one stack: `$FRAZIL_HOME`, or `.frazil` in the user's home."""
    return Path(os.environ.get("FRAZIL_HOME") or Path.home() / ".frazil").absolute()


def profile_path() -> Path:
    """The profile in force: `$FRAZIL_PROFILE`, or `profile.json` in `frazil_home()`."""
    return Path(os.environ.get("FRAZIL_PROFILE") or frazil_home() / "profile.json")


class Settings(BaseSettings):
    """One environment. Read it with `Settings.load()`."""

    model_config = SettingsConfigDict(
        env_prefix="FRAZIL_", env_nested_delimiter="__", frozen=True, extra="ignore"
    )

    cluster: str = Field("local", description="Name of the Kafka cluster; default namespace of tables.")
    bootstrap_servers: str = Field("127.0.0.1:9092", description="Kafka brokers, host:port,...")
    kafka: KafkaAccess = Field(KafkaAccess(), description="How Kafka is reached, see docs/connect.md.")
    kafka_client: dict[str, str] = Field(
        default_factory=dict,
        description="Further client settings that Java and librdkafka share; no secrets.",
    )
    schema_registry_url: str = Field(
        "http://127.0.0.1:8081/apis/ccompat/v7", description="Confluent's, or one that speaks its protocol."
    )
    schema_registry_user_info: Secret | None = Field(None, description="`user:password`.")

    registry: RegistryAccess = Field(
        RegistryAccess(), description="How the registry is reached, see docs/connect.md."
    )

    s3_endpoint: str | None = Field(None, description="Only for S3 that is not AWS.")
    s3_access_key: Secret | None = Field(None, description="Default: the AWS credential chain.")
    s3_secret_key: Secret | None = Field(None, description="Of that access key.")
    s3_region: str = Field("us-east-1", description="Region of buckets, Glue and SigV4.")

    catalog: Literal["rest", "glue"] = Field("rest", description="Which catalog owns the tables.")
    warehouse: str = Field("warehouse", description="Warehouse of the REST catalog, as it knows it.")
    rest_uri: str = Field("http://127.0.0.1:8181", description="The REST catalog.")
    rest: RestAccess = Field(RestAccess(), description="How it is reached, see docs/connect.md.")
    rest_signing_name: str | None = Field(
        "s3tables", description="SigV4 service; empty, or with a token: no SigV4."
    )

    glue_endpoint: str | None = Field(None, description="Only for a Glue that is not AWS.")
    glue_warehouse: str = Field("s3://lake/warehouse", description="Bucket and prefix of Glue-owned tables.")
    glue_database: str | None = Field(None, description="Glue database; default: the namespace.")

    snowflake_account: str | None = Field(None, description="Account identifier.")
    snowflake_host: str | None = Field(None, description="Only for the stand-in.")
    snowflake_port: int = Field(443, description="Other than 443 only for the stand-in.")
    snowflake_protocol: Literal["http", "https"] = Field("https", description="Plain only for the stand-in.")
    snowflake_user: str = Field("FRAZIL", description="Logs in with a key pair.")
    snowflake_private_key_path: Path | None = Field(None, description="Its private key, PEM (PKCS8).")
    snowflake_role: str | None = Field(None, description="May read the tables: granted by Frazil.")
    snowflake_warehouse: str | None = Field(None, description="Runs the queries of checks.")
    snowflake_database: str = Field("FRAZIL", description="Tables and views are made in it.")
    snowflake_external_volume: str | None = Field(
        None, description="Default: FRAZIL_VOLUME, or FRAZIL_GLUE_VOLUME where Glue owns the tables."
    )
    snowflake_catalog_integration: str = Field("FRAZIL_GLUE", description="The integration with Glue.")
    snowflake_storage_base_url: str | None = Field(
        None, description="What the volume may read; default: the warehouse of the owning catalog."
    )
    snowflake_aws_role_arn: str | None = Field(
        None, description="The role by which Snowflake reads S3 and Glue."
    )

    spark_remote: str = Field("sc://127.0.0.1:15002", description="Spark Connect, or local[*].")
    upkeep_spark_remote: str | None = Field(
        None, description="Spark of upkeep's own; default: landings', where its jobs take what is left over."
    )
    spark_parallelism: int = Field(2, ge=1, description="Cores that one landing may keep busy.")

    alarms: AlarmAccess = Field(AlarmAccess(), description="Who is told what fails, see docs/monitoring.md.")

    dagster_home: Path | None = Field(
        None, description="Dagster's instance, which hears of work from a shell."
    )
    pipelines: str = Field("", description="Folders of pipelines, separated like PATH.")

    @field_validator("kafka_client")
    @classmethod
    def _holds_no_secret(cls, given: dict[str, str]) -> dict[str, str]:
        if secrets := [
            name for name in given if name.endswith((".password", ".secret", ".jaas.config", ".key"))
        ]:
            raise ValueError(
                f"{', '.join(secrets)}: a secret belongs into FRAZIL_KAFKA__..., see docs/connect.md"
            )
        return given

    @property
    def of_upkeep(self) -> Settings:
        """The same environment as upkeep sees it: Spark is upkeep's, where it has one of its own."""
        remote = self.upkeep_spark_remote or self.spark_remote
        return self.model_copy(update={"spark_remote": remote})

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Environment before profile file, both under what the caller gives."""
        profile = InitSettingsSource(settings_cls, read_profile(profile_path()))
        return init_settings, env_settings, profile

    @classmethod
    def of_profile(cls, file: Path) -> Settings:
        """The settings of one profile file, whatever the environment says."""
        return cls.load(**read_profile(file))

    @classmethod
    def load(cls, **overrides: Any) -> Settings:
        """The settings of the profile in force."""
        try:
            return cls(**overrides)
        except ValidationError as e:
            problems = "; ".join(f"{'.'.join(map(str, p['loc']))}: {p['msg']}" for p in e.errors())
            raise ConfigureError(
                "The settings can't be read.",
                where=problems,
                todo=f"Mend the variable FRAZIL_<NAME>, or {profile_path()}.",
            ) from None


def read_profile(file: Path) -> dict[str, Any]:
    """What a profile file says, by the names of `Settings`; nothing where there is no such file."""
    try:
        return JsonConfigSettingsSource(Settings, file)()
    except (ValueError, TypeError) as e:
        raise ConfigureError(
            "The profile is not a JSON object.",
            where=f"{file}: {e}",
            todo="Mend it, or delete it: `frazil up` writes that of the embedded stack anew.",
        ) from None
