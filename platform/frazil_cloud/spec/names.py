"""What the objects of a deployment are called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from frazil_cloud.spec.aws import AwsPart
from frazil_cloud.spec.confluent import KeyUse

Duty = Literal["app_manager", "app_producer", "app_consumer", "app_connector", "schema_registry", "flink"]
"""What a service account is for; one account per duty."""


@dataclass(frozen=True, slots=True)
class Names:
    """The names of a deployment's objects: those of the source systems, where the prefix is `tableflow`.

    Args:
        name: The deployment's.
        prefix: Start of the names that do not hold it.
        aws: Which may name roles.
        warehouse_name: Snowflake's warehouse, where the user named it.
    """

    name: str
    prefix: str
    aws: AwsPart
    warehouse_name: str = ""

    def account(self, duty: Duty) -> str:
        """A service account."""
        named = {
            "schema_registry": f"{self.name}_schema_registry_cluster_api",
            "flink": f"{self.name}_flink_sql_statements_runner",
        }
        return named.get(duty, f"{self.prefix}_{duty}")

    @property
    def pool(self) -> str:
        """The Flink pool."""
        return f"{self.prefix}_flink_statement_runner"

    @property
    def provider_integration(self) -> str:
        """Confluent's way to AWS."""
        return f"{self.prefix}_aws_integration"

    @property
    def glue_sync(self) -> str:
        """Confluent's way to Glue."""
        return f"{self.prefix}_aws_glue_catalog_sync"

    @property
    def writer_role(self) -> str:
        """Who writes tables."""
        return self.aws.writer_role or f"{self.prefix}_s3_glue_role"

    @property
    def writer_policy(self) -> str:
        """What the writer may."""
        return f"{self.prefix}_s3_glue_access_policy"

    @property
    def reader_role(self) -> str:
        """Whom Snowflake becomes."""
        return self.aws.reader_role or f"{self.prefix}_snowflake_s3_glue_role"

    @property
    def reader_policy(self) -> str:
        """What Snowflake may."""
        return f"{self.reader_role}_access_policy"

    @property
    def glue_database(self) -> str:
        """Where Frazil's own tables are; Tableflow's are in one named as the cluster's id."""
        return self.name

    @property
    def log_group(self) -> str:
        """Where runs write their logs."""
        return f"/frazil/{self.name}"

    @property
    def parameters(self) -> str:
        """The path of the clients' parameters, and of the secrets of Confluent's keys."""
        return f"/confluent_cloud_resource/{self.name}"

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
        return f"/snowflake_resource/{self.name}"

    def snowflake(self, thing: str) -> str:
        """An object of Snowflake, such as `USER`, `DATABASE`, `SECURITY_ADMIN_ROLE`."""
        if thing == "WAREHOUSE" and self.warehouse_name:
            return self.warehouse_name
        return f"{self.name}_{thing}".upper()

    def view(self, table: str) -> str:
        """The view of a table that leaves out Kafka's metadata columns."""
        return f"{table}_WITHOUT_METADATA".upper()
