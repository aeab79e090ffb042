"""What a user says of a deployment's Kafka environment."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal, Self

from pydantic import Field, model_validator

from frazil.spec.values import Duration, Part

KeyUse = Literal["app_manager", "app_producer", "app_consumer", "schema_registry", "flink", "tableflow"]
"""What an API key is for."""


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
