"""One environment: the settings of all systems, from variables, a profile file and defaults.

A value is looked for in this order: the environment (`FRAZIL_<NAME>`, `FRAZIL_<SYSTEM>__<NAME>`), the profile
file (`$FRAZIL_PROFILE`, by default `$FRAZIL_HOME/profile.json`, which `frazil up` writes), the defaults.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, get_args, get_origin

from pydantic import BaseModel, Field, ModelWrapValidatorHandler, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from frazil.errors import MALFORMED, UsageError
from frazil.settings.connection import ConnectionSettings
from frazil.settings.files import File
from frazil.settings.identity import aws_session
from frazil.settings.profile_file import profile_in_force, profile_path, read_profile
from frazil.settings.reference import KEEP, Keep
from frazil.settings.secret import Secret
from frazil.settings.systems.alarms import AlarmSettings
from frazil.settings.systems.aws import AwsSettings, GlueSettings, S3Settings
from frazil.settings.systems.confluent import ConfluentSettings
from frazil.settings.systems.kafka import KafkaSettings
from frazil.settings.systems.registry import RegistrySettings
from frazil.settings.systems.rest import RestSettings
from frazil.settings.systems.snowflake import SnowflakeSettings
from frazil.settings.systems.spark import SparkSettings
from frazil.settings.systems.system import SystemSettings
from frazil.settings.systems.telemetry import LineageSettings, LogSettings, TracingSettings

if TYPE_CHECKING:
    from botocore.session import Session

_NO_SETTINGS = ("FRAZIL_HOME", "FRAZIL_PROFILE", "FRAZIL_CACHE", "FRAZIL_DEBUG")
_OF_TESTS = "FRAZIL_TEST_"
_CONNECTION = re.compile(r"[a-z0-9][a-z0-9_-]*")


class Settings(BaseSettings):
    """One environment. Read it with `Settings.load()`."""

    model_config = SettingsConfigDict(
        env_prefix="FRAZIL_", env_nested_delimiter="__", frozen=True, extra="forbid"
    )

    cluster: str = Field(
        "local", description="Name of the Kafka cluster, and the tables' namespace if they name none."
    )
    catalog: Literal["rest", "glue"] = Field("rest", description="Which catalog owns the tables.")
    dagster_home: File | None = Field(
        None, description="Folder of the Dagster instance that shows what was done in a shell."
    )
    pipelines: str = Field("", description="Folders of pipelines, separated like PATH.")
    deployments: str = Field(
        "", description="Folders of deployments that become assets, separated like PATH. Default: none."
    )
    small_landings: Literal["run", "sensor"] = Field(
        "run",
        description="Who lands what is small in Dagster: a run, or the arrivals sensor by itself.",
    )
    prices: File | None = Field(
        None, description="A file of your own prices for `frazil cost`; see docs/cost.md."
    )
    strict: bool = Field(
        False, description="For CI: a mistake in one pipeline stops everything, not only that pipeline."
    )

    kafka: KafkaSettings = KafkaSettings()
    registry: RegistrySettings = RegistrySettings()
    aws: AwsSettings = Field(default_factory=AwsSettings)
    s3: S3Settings = S3Settings()
    glue: GlueSettings = GlueSettings()
    rest: RestSettings = RestSettings()
    confluent: ConfluentSettings = ConfluentSettings()
    snowflake: SnowflakeSettings = SnowflakeSettings()
    spark: SparkSettings = SparkSettings()
    alarms: AlarmSettings = AlarmSettings()
    log: LogSettings = LogSettings()
    tracing: TracingSettings = TracingSettings()
    lineage: LineageSettings = LineageSettings()
    named_keys: dict[str, Secret] = Field(
        default_factory=dict,
        description="Keys by name, as JSON, of 16 characters or more, by which masks hash and dead letters "
        "are encrypted; see docs/masks.md.",
    )
    table_defaults: dict[str, Any] = Field(
        default_factory=dict,
        description="Fields of tables that neither they nor their pipeline's `defaults` write, as JSON; see "
        "docs/spec.md#defaults.",
    )
    connections: dict[str, ConnectionSettings] = Field(
        default_factory=dict,
        description="Other clusters, registries and catalogs by name, as JSON; see docs/connect.md.",
    )

    @model_validator(mode="after")
    def _can_be_used(self) -> Self:
        for name in self.connections:
            if not _CONNECTION.fullmatch(name):
                raise ValueError(f"connections.{name}: use lower-case letters, digits, - and _ in its name")
            try:
                self.of(name)
            except ValidationError as e:
                raise ValueError(f"connections.{name}: {e.errors()[0]['msg']}") from None
        return self

    @model_validator(mode="wrap")
    @classmethod
    def _asks_for_secrets_as_itself(cls, values: Any, read: ModelWrapValidatorHandler[Self]) -> Self:
        before = KEEP.set(Keep(partial(_session_of_secrets, values.get("aws", {}))))
        try:
            return read(values)
        finally:
            KEEP.reset(before)

    @property
    def s3_endpoint(self) -> str | None:
        """Where S3 is, if that is not AWS."""
        return self.s3.endpoint or self.aws.endpoint

    @property
    def glue_endpoint(self) -> str | None:
        """Where Glue is, if that is not AWS."""
        return self.glue.endpoint or self.aws.endpoint

    @property
    def lf_endpoint(self) -> str | None:
        """Where Lake Formation is, if that is not AWS."""
        return self.glue.lf_endpoint or self.aws.endpoint

    @property
    def of_upkeep(self) -> Settings:
        """The same environment as upkeep sees it: Spark is upkeep's, where it has one of its own."""
        return self.with_changes(spark={"remote": self.spark.upkeep_remote or self.spark.remote})

    def of(self, connection: str) -> Settings:
        """The settings of a named connection; these, where the name is empty."""
        if not connection:
            return self
        if connection not in self.connections:
            raise UsageError(
                f"The profile has no connection {connection}{_nearest(connection, self.connections)}.",
                todo=f"Add it to `connections` in {profile_path()}.",
            )
        return self.with_changes(**{"cluster": connection, **self.connections[connection].changes})

    def with_changes(self, **changes: Any) -> Settings:
        """A copy with other values; `kafka={"tls": True}` leaves Kafka's other settings as they are."""
        return self.model_copy(
            update={n: _changed(getattr(self, n), change) for n, change in changes.items()}
        )

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
        _check_variables()
        profile = InitSettingsSource(settings_cls, profile_in_force())
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
            where = "; ".join(_problem(each) for each in e.errors())
        except (SettingsError, *MALFORMED) as e:
            where = "; ".join(_no_json()) or type(e).__name__
        raise UsageError(
            "The settings can't be read.",
            where=where,
            todo=f"Fix the variable FRAZIL_<NAME> or FRAZIL_<SYSTEM>__<NAME>, or {profile_path()}.",
        )


def _session_of_secrets(values: Any) -> Session:
    return aws_session(AwsSettings.model_validate(values).of_secrets)


def log_settings() -> LogSettings:
    """How to log, before the settings are read: whatever is wrong with those is told as a line, too."""
    named = {name: variable(("log", name)) for name in LogSettings.model_fields}
    values = {name: os.environ[at] for name, at in named.items() if at in os.environ}
    try:
        return LogSettings.model_validate(read_profile(profile_path()).get("log", {}) | values)
    except (UsageError, ValidationError, TypeError):
        return LogSettings()  # reading all of them says what is wrong


def fields(
    model: type[BaseModel] = Settings, above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], FieldInfo]]:
    """All settings: the path of each, such as `kafka` and `tls`, and what is known of it."""
    for name, field in model.model_fields.items():
        path = (*above, name)
        kinds = (
            () if get_origin(field.annotation) is dict else (field.annotation, *get_args(field.annotation))
        )
        systems = [k for k in kinds if isinstance(k, type) and issubclass(k, SystemSettings)]
        if systems:
            yield from fields(systems[0], path)
        else:
            yield path, field


def variable(path: Iterable[str]) -> str:
    """The environment variable of a setting, such as `FRAZIL_KAFKA__TLS`."""
    return "FRAZIL_" + "__".join(path).upper()


def _changed(value: Any, change: Any) -> Any:
    if isinstance(value, BaseModel) and isinstance(change, dict):
        return type(value).model_validate(dict(value) | change)
    return change


def _check_variables() -> None:
    """A variable that is misspelt would leave a default in force, such as a Kafka on this machine."""
    known = {variable(path[:depth]) for path, _ in fields() for depth in (1, 2, 3)}.union(_NO_SETTINGS)
    named = {name.upper() for name in os.environ if name.upper().startswith("FRAZIL_")}
    unknown = sorted(name for name in named - known if not name.startswith(_OF_TESTS))
    if unknown:
        raise UsageError(
            "An environment variable is no setting.",
            where="; ".join(f"{name}{_nearest(name, known)}" for name in unknown),
            todo="Fix its name, or unset it: docs/settings.md names all settings.",
        )


def _problem(detail: ErrorDetails) -> str:
    path = ".".join(map(str, detail["loc"]))
    if detail["type"] != "extra_forbidden":
        name = variable(map(str, detail["loc"]))
        return f"{name if name in os.environ else path}: {detail['msg'].removeprefix('Value error, ')}"
    return f"{path}: there is no such setting{_nearest(path, ['.'.join(p) for p, _ in fields()])}"


def _no_json() -> Iterator[str]:
    """The variables that should hold a JSON object, and do not."""
    objects = {path[:depth] for path, _ in fields() for depth in range(1, len(path))}
    objects |= {path for path, field in fields() if get_origin(field.annotation) is dict}
    for name in sorted(map(variable, objects)):
        try:
            value = json.loads(os.environ.get(name, "{}"))
        except MALFORMED as e:
            yield f"{name} is no JSON: {e}"
        else:
            if not isinstance(value, dict):
                yield f"{name} holds a JSON {type(value).__name__}, not an object"


def _nearest(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, known, 1)
    return f", is it {near[0]}?" if near else ""
