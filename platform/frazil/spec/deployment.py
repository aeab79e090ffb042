"""What a user says of a deployment: the cloud objects that its pipelines live in."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal, Self

from pydantic import Field, model_validator

from frazil.spec.values import Duration, Part

Duty = Literal["app_manager", "app_producer", "app_consumer", "app_connector", "schema_registry", "flink"]
"""What a service account is for; one account per duty."""

KeyUse = Literal["app_manager", "app_producer", "app_consumer", "schema_registry", "flink", "tableflow"]
"""What an API key is for."""

RETENTION_DAYS = (1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1827, 3653)
"""Days that CloudWatch keeps logs: an enumeration (PutRetentionPolicy)."""


class CloudTopic(Part):
    """A topic of the cluster."""

    name: str = Field(min_length=1, max_length=249, pattern=r"^[A-Za-z0-9._-]+$", description="Its name.")
    partitions: int = Field(6, ge=1, description="How many partitions it has.")
    config: dict[str, str] = Field(default_factory=dict, description="Its settings, such as retention.ms.")


class Connector(Part):
    """A managed Datagen source, which makes up records."""

    name: str = Field(min_length=1, description="Its name.")
    topic: str = Field(min_length=1, description="Where its records go.")
    quickstart: Literal["STOCK_TRADES", "USERS"] = Field("STOCK_TRADES", description="What it makes up.")
    tasks: int = Field(1, ge=1, description="How many tasks it runs.")
    config: dict[str, str] = Field(default_factory=dict, description="Further settings of the connector.")


class Statement(Part):
    """A named statement of Flink SQL."""

    name: str = Field(max_length=100, pattern=r"^[a-z0-9][a-z0-9.-]*$", description="Its name.")
    sql: str = Field(min_length=1, description="The statement.")
    after: tuple[str, ...] = Field((), description="Statements that must have ended or run before it.")
    makes: str = Field("", description="The topic that it makes, if any.")


class Tableflow(Part):
    """How Tableflow materializes topics (https://docs.confluent.io/cloud/current/api.html, tableflow/v1)."""

    retention: Duration | None = Field(
        None, description="How long old snapshots stay, 1 day at least. Default: Confluent's."
    )
    on_bad_record: Literal["suspend", "skip", "log"] = Field(
        "suspend", description="What a record that can't be materialized does: `log` writes it to a topic."
    )
    log_topic: str = Field("", description="Where `log` writes bad records. Default: Confluent's.")
    formats: tuple[Literal["ICEBERG", "DELTA"], ...] = Field(
        ("ICEBERG",), min_length=1, description="Formats of the tables. Frazil and Snowflake read ICEBERG."
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.retention is not None and self.retention < timedelta(days=1):
            raise ValueError("retention is 1d at least")
        if self.log_topic and self.on_bad_record != "log":
            raise ValueError("log_topic goes with on_bad_record: log")
        if "ICEBERG" not in self.formats:
            raise ValueError("formats have ICEBERG among them: nothing here reads DELTA")
        return self


class ConfluentPart(Part):
    """The Kafka environment."""

    kind: Literal["Standard", "Basic"] = Field("Standard", description="The cluster's kind.")
    governance: Literal["ESSENTIALS", "ADVANCED"] = Field("ESSENTIALS", description="The registry's package.")
    topics: tuple[CloudTopic, ...] = Field((), description="Topics to make.")
    connectors: tuple[Connector, ...] = Field((), description="Datagen sources.")
    max_cfu: Literal[0, 5, 10, 20, 30, 40, 50] = Field(0, description="Size of the Flink pool. 0: no pool.")
    statements: tuple[Statement, ...] = Field((), description="Flink SQL, run in the pool.")
    tableflow: tuple[str, ...] = Field((), description="Topics that Tableflow materializes into the bucket.")
    tableflow_settings: Tableflow = Field(default_factory=Tableflow, description="How it does that.")

    @model_validator(mode="after")
    def _complete(self) -> Self:
        names = [statement.name for statement in self.statements]
        if self.statements and not self.max_cfu:
            raise ValueError("statements need a pool: set max_cfu to 5 or more")
        if unknown := sorted({name for each in self.statements for name in each.after} - set(names)):
            raise ValueError(f"statements name {', '.join(unknown)} in `after`, which is no statement here")
        made = {topic.name for topic in self.topics} | {each.makes for each in self.statements}
        if missing := sorted({*self.tableflow, *(c.topic for c in self.connectors)} - made):
            raise ValueError(f"nothing makes the topic {', '.join(missing)}: add it to topics")
        return self

    @property
    def key_uses(self) -> tuple[KeyUse, ...]:
        """What it has API keys for: none for what it does not run."""
        always: tuple[KeyUse, ...] = ("app_manager", "app_producer", "app_consumer", "schema_registry")
        flink: tuple[KeyUse, ...] = ("flink",) if self.max_cfu else ()
        return (*always, *flink, *(("tableflow",) if self.tableflow else ()))


class AwsPart(Part):
    """Bucket, roles, secrets and parameters."""

    bucket: str = Field(
        min_length=3, max_length=63, pattern=r"^[a-z0-9][a-z0-9-]+[a-z0-9]$",
        description="The bucket's name, which must be unique in the world. Snowflake takes no dots.",
    )  # fmt: skip
    folder: str = Field(
        "warehouse", pattern=r"^[A-Za-z0-9_-]+$", description="The folder of Frazil's own tables."
    )
    writer_role: str = Field("", description="Name of the writer's role. Default: `<prefix>_s3_glue_role`.")
    reader_role: str = Field(
        "", description="Name of Snowflake's role. Default: `<prefix>_snowflake_s3_glue_role`."
    )
    auto_offset_reset: Literal["earliest", "latest"] = Field(
        "latest", description="Where consumers that read the parameters start."
    )
    log_retention_days: int = Field(7, description="Days that logs are kept, one of CloudWatch's numbers.")

    @model_validator(mode="after")
    def _enumerated(self) -> Self:
        if self.log_retention_days not in RETENTION_DAYS:
            raise ValueError(f"log_retention_days is one of {', '.join(map(str, RETENTION_DAYS))}")
        return self


class RestCatalogPart(Part):
    """Another Iceberg REST catalog, which gives tokens (OAuth), such as Polaris."""

    uri: str = Field(pattern=r"^https?://", description="Where it is.")
    warehouse: str = Field(min_length=1, description="The warehouse, by the catalog's name.")
    namespace: str = Field(min_length=1, description="Namespace of the tables.")
    secret: str = Field(min_length=1, description="The secret with client_id and client_secret.")
    scopes: tuple[str, ...] = Field(("PRINCIPAL_ROLE:ALL",), description="Scopes that the client asks for.")


class SnowflakePart(Part):
    """User, roles, warehouse, database, and what shows the tables."""

    warehouse: str = Field("", description="Name of the warehouse. Default: `<NAME>_WAREHOUSE`.")
    size: Literal["XSMALL", "SMALL", "MEDIUM", "LARGE", "XLARGE"] = Field(
        "XSMALL", description="Size of the warehouse."
    )
    auto_suspend: Duration = Field(
        timedelta(seconds=60), description="Idle time after which the warehouse suspends itself."
    )
    catalog: Literal["glue", "glue_rest"] = Field("glue", description="How Snowflake finds the tables.")
    rest: RestCatalogPart | None = Field(None, description="Another catalog that Snowflake can read.")
    tables: tuple[str, ...] = Field((), description="Tables of Glue that Snowflake shows.")
    views: bool = Field(True, description="Whether each table has a view without metadata columns.")
    refresh: Duration = Field(
        timedelta(seconds=60), description="How often Snowflake looks for new snapshots: 30s to 1d."
    )

    @model_validator(mode="after")
    def _refreshes(self) -> Self:
        if not timedelta(seconds=30) <= self.refresh <= timedelta(days=1):
            raise ValueError("refresh is 30s to 1d (REFRESH_INTERVAL_SECONDS)")
        return self


class RotationPart(Part):
    """How keys are replaced."""

    every: Duration = Field(timedelta(days=30), description="Age at which a key is replaced.")
    keep: int = Field(2, ge=2, description="How many API keys for one use work at the same time.")
    rest: Duration = Field(
        timedelta(hours=1),
        description="How long a key may still be used after a new one replaced it.",
    )


class DeploymentSpec(Part):
    """One deployment. All of its objects carry its name, its prefix or its mark."""

    name: str = Field(
        pattern=r"^[a-z][a-z0-9_]{0,40}$", description="The name, which is part of its objects' names."
    )
    prefix: str = Field(
        "", pattern=r"^([a-z][a-z0-9_]{0,30})?$",
        description="Start of the names that do not hold the deployment's name. Default: the name.",
    )  # fmt: skip
    region: str = Field("us-east-1", pattern=r"^[a-z]{2}(-[a-z]+)+-\d$", description="Region of AWS.")
    pipelines: tuple[str, ...] = Field((), description="Pipelines whose topics and tables live in it.")
    confluent: ConfluentPart | None = Field(
        None, description="The Kafka environment. Without it, Kafka is yours."
    )
    aws: AwsPart = Field(description="Bucket, roles, secrets and parameters.")
    snowflake: SnowflakePart | None = Field(
        None, description="Snowflake's objects. Without it, tables are not shown there."
    )
    rotation: RotationPart = Field(default_factory=RotationPart, description="How keys are replaced.")

    @property
    def names(self) -> Names:
        """What its objects are called."""
        return Names(self)

    @property
    def mark(self) -> str:
        """Stands in tags, comments and descriptions of all that is its own."""
        return f"frazil:{self.name}"


class Names:
    """The names of a deployment's objects: those of the source systems, where the prefix is `tableflow`."""

    def __init__(self, spec: DeploymentSpec) -> None:
        self._spec = spec
        self._prefix = spec.prefix or spec.name

    def account(self, duty: Duty) -> str:
        """A service account."""
        named = {
            "schema_registry": f"{self._spec.name}_schema_registry_cluster_api",
            "flink": f"{self._spec.name}_flink_sql_statements_runner",
        }
        return named.get(duty, f"{self._prefix}_{duty}")

    @property
    def pool(self) -> str:
        """The Flink pool."""
        return f"{self._prefix}_flink_statement_runner"

    @property
    def provider_integration(self) -> str:
        """Confluent's way to AWS."""
        return f"{self._prefix}_aws_integration"

    @property
    def glue_sync(self) -> str:
        """Confluent's way to Glue."""
        return f"{self._prefix}_aws_glue_catalog_sync"

    @property
    def writer_role(self) -> str:
        """Who writes tables."""
        return self._spec.aws.writer_role or f"{self._prefix}_s3_glue_role"

    @property
    def writer_policy(self) -> str:
        """What the writer may."""
        return f"{self._prefix}_s3_glue_access_policy"

    @property
    def reader_role(self) -> str:
        """Whom Snowflake becomes."""
        return self._spec.aws.reader_role or f"{self._prefix}_snowflake_s3_glue_role"

    @property
    def reader_policy(self) -> str:
        """What Snowflake may."""
        return f"{self.reader_role}_access_policy"

    @property
    def glue_database(self) -> str:
        """Where Frazil's own tables are; Tableflow's are in one named as the cluster's id."""
        return self._spec.name

    @property
    def log_group(self) -> str:
        """Where runs write their logs."""
        return f"/frazil/{self._spec.name}"

    @property
    def parameters(self) -> str:
        """The path of the clients' parameters, and of the secrets of Confluent's keys."""
        return f"/confluent_cloud_resource/{self._spec.name}"

    def secret(self, use: KeyUse) -> str:
        """The secret of an API key."""
        places = {
            "schema_registry": "schema_registry_cluster/python_client",
            "flink": "flink",
            "tableflow": "tableflow",
        }
        return f"{self.parameters}/{places.get(use, f'kafka_cluster/{use}/python_client')}"

    def twin(self, use: KeyUse) -> str:
        """The same secret as Java clients and the Flink application read it; empty: they read none."""
        if use == "flink":
            return f"{self.parameters}/flink_compute_pool"
        return "" if use == "tableflow" else self.secret(use).replace("python_client", "java_client")

    @property
    def snowflake_secret(self) -> str:
        """The secret of Snowflake's service user."""
        return f"/snowflake_resource/{self._spec.name}"

    def snowflake(self, thing: str) -> str:
        """An object of Snowflake, such as `USER`, `DATABASE`, `SECURITY_ADMIN_ROLE`."""
        if thing == "WAREHOUSE" and self._spec.snowflake and self._spec.snowflake.warehouse:
            return self._spec.snowflake.warehouse
        return f"{self._spec.name}_{thing}".upper()

    def view(self, table: str) -> str:
        """The view of a table that leaves out Kafka's metadata columns."""
        return f"{table}_WITHOUT_METADATA".upper()
