"""What requests may say: a body of another shape is refused with 400."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from frazil_local.cloud.confluent.refusals import Refusal


class Body(BaseModel):
    """A request's body, or a part of it; names that the API does not have are refused."""

    model_config = ConfigDict(extra="forbid")


class Reference(Body):
    """Another object."""

    id: str
    environment: str | None = None
    api_version: str | None = None
    kind: str | None = None


class Governance(Body):
    """The package of an environment's registry."""

    package: Literal["ESSENTIALS", "ADVANCED"]


class EnvironmentBody(Body):
    """`/org/v2/environments`."""

    display_name: Annotated[str, Field(min_length=1, max_length=60)]
    stream_governance_config: Governance = Governance(package="ESSENTIALS")


class ClusterConfig(Body):
    """The kind of a cluster."""

    kind: Literal["Basic", "Standard", "Dedicated", "Enterprise", "Freight"]


class ClusterSpec(Body):
    """The `spec` of a cluster."""

    display_name: str
    availability: Literal["SINGLE_ZONE", "MULTI_ZONE", "LOW", "HIGH"]
    cloud: Literal["AWS", "AZURE", "GCP"]
    region: str
    config: ClusterConfig
    environment: Reference
    deletion_protection: bool = False


class ClusterBody(Body):
    """`/cmk/v2/clusters`."""

    spec: ClusterSpec


class AccountBody(Body):
    """`/iam/v2/service-accounts`."""

    display_name: Annotated[str, Field(min_length=1, max_length=64)]
    description: Annotated[str, Field(max_length=128)] = ""


class BindingBody(Body):
    """`/iam/v2/role-bindings`."""

    principal: Annotated[str, Field(pattern=r"^(User|Group):.+$")]
    role_name: str
    crn_pattern: Annotated[str, Field(pattern=r"^crn://.+$")]


class KeySpec(Body):
    """The `spec` of an API key."""

    display_name: str = ""
    description: str = ""
    owner: Reference
    resource: Reference | None = None


class KeyBody(Body):
    """`/iam/v2/api-keys`."""

    spec: KeySpec


class PoolSpec(Body):
    """The `spec` of a compute pool."""

    display_name: Annotated[str, Field(pattern=r"^(?:[0-9A-Za-z\-])[\w\.-]{0,63}$")]
    cloud: Literal["AWS", "AZURE", "GCP"]
    region: str
    max_cfu: Literal[5, 10, 20, 30, 40, 50]
    environment: Reference


class PoolBody(Body):
    """`/fcpm/v2/compute-pools`."""

    spec: PoolSpec


class AwsRole(Body):
    """The customer's side of an integration."""

    kind: Literal["AwsIntegrationConfig"]
    customer_iam_role_arn: Annotated[str, Field(pattern=r"^arn:aws:iam::\d{12}:role/.+$")]


class IntegrationBody(Body):
    """`/pim/v1/integrations`."""

    display_name: Annotated[str, Field(min_length=1, max_length=60)]
    provider: Literal["AWS"]
    environment: Reference
    config: AwsRole


class OwnBucket(Body):
    """Storage of the customer's own."""

    kind: Literal["ByobAws"]
    bucket_name: str
    provider_integration_id: str


class ErrorHandling(Body):
    """What a record that can't be materialized does."""

    mode: Literal["SUSPEND", "SKIP", "LOG"]
    target: str | None = None


class TopicConfig(Body):
    """The settings of a Tableflow topic."""

    retention_ms: Annotated[str, Field(pattern=r"^\d+$")] = "604800000"
    data_retention_ms: Annotated[str, Field(pattern=r"^\d+$")] | None = None
    record_failure_strategy: Literal["SUSPEND", "SKIP"] = "SUSPEND"
    error_handling: ErrorHandling = ErrorHandling(mode="SUSPEND")
    metadata_column_naming_scheme: Literal["DEFAULT", "PORTABLE"] = "DEFAULT"


class TopicFormats(Body):
    """The formats of a Tableflow topic."""

    table_formats: list[Literal["ICEBERG", "DELTA"]] = ["ICEBERG"]


class TopicSpec(TopicFormats):
    """The `spec` of a Tableflow topic."""

    display_name: str
    environment: Reference
    kafka_cluster: Reference
    storage: OwnBucket
    config: TopicConfig = TopicConfig()
    suspended: bool = False


class TopicBody(Body):
    """`/tableflow/v1/tableflow-topics`."""

    spec: TopicSpec


class GlueDatabase(Body):
    """What can change of a catalog of AWS Glue."""

    kind: Literal["AwsGlue"]
    custom_database: str | None = None


class CatalogChange(Body):
    """What can change of the `spec` of a catalog integration."""

    config: GlueDatabase


class GlueCatalog(GlueDatabase):
    """A catalog of AWS Glue."""

    provider_integration_id: str


class CatalogSpec(Body):
    """The `spec` of a catalog integration."""

    display_name: str
    environment: Reference
    kafka_cluster: Reference
    config: GlueCatalog
    suspended: bool = False


class CatalogBody(Body):
    """`/tableflow/v1/catalog-integrations`."""

    spec: CatalogSpec


class NameValue(Body):
    """A setting of a topic."""

    name: str
    value: str | None = None


class NewTopicBody(Body):
    """`/kafka/v3/clusters/../topics`."""

    topic_name: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,249}$")]
    partitions_count: Annotated[int, Field(ge=1)] = 6
    replication_factor: int = 3
    configs: list[NameValue] = []


class AclBody(Body):
    """`/kafka/v3/clusters/../acls`."""

    resource_type: Literal["TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID"]
    resource_name: str
    pattern_type: Literal["LITERAL", "PREFIXED"]
    principal: Annotated[str, Field(pattern=r"^User:.+$")]
    host: str
    operation: Literal[
        "ALL", "READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "CLUSTER_ACTION",
        "DESCRIBE_CONFIGS", "ALTER_CONFIGS", "IDEMPOTENT_WRITE",
    ]  # fmt: skip
    permission: Literal["ALLOW", "DENY"]


class ConnectorBody(Body):
    """`/connect/v1/../connectors`."""

    name: str
    config: dict[str, str]


class StatementSpec(Body):
    """The `spec` of a statement."""

    statement: str
    compute_pool_id: str
    principal: str
    properties: dict[str, str] = {}
    stopped: bool = False


class StatementBody(Body):
    """`/sql/v1/../statements`."""

    name: Annotated[
        str,
        Field(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$", max_length=100),
    ]
    organization_id: str | None = None
    environment_id: str | None = None
    spec: StatementSpec


Model = TypeVar("Model", bound=Body)
_OF_THE_SERVER = ("api_version", "kind", "id", "metadata", "status")


def judged(model: type[Model], body: dict[str, Any]) -> Model:
    """The body, if it is one."""
    try:
        return model.model_validate({k: v for k, v in body.items() if k not in _OF_THE_SERVER})
    except ValidationError as e:
        first = e.errors()[0]
        raise Refusal(400, f"{'/'.join(map(str, first['loc']))}: {first['msg']}") from None
