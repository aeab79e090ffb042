"""A deployment's objects at AWS alone, and what makes them; the other clouds are simply there."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

from frazil.errors import FrazilError
from frazil_cloud.aws.client import Aws
from frazil_cloud.aws.objects import objects
from frazil_cloud.aws.removal import former
from frazil_cloud.aws.rights.lateness import Lateness
from frazil_cloud.aws.rights.role import Role
from frazil_cloud.aws.secrets import SecretsManager
from frazil_cloud.clouds import Clouds
from frazil_cloud.reconciler import Reconciler
from frazil_cloud.resource import Known, Resource
from frazil_cloud.spec.deployment import DeploymentSpec
from kit.clouds.cloud_aws import CloudAws, allow
from kit.clouds.cloud_confluent import Given

LAB: dict[str, Any] = {"name": "lab", "aws": {"bucket": "lab-lake"}, "snowflake": {}}
"""Frazil lands itself, and Snowflake reads."""

TABLEFLOW: dict[str, Any] = {
    **LAB, "confluent": {"topics": [{"name": "stock_trades"}], "tableflow": ["stock_trades"]},
}  # fmt: skip
"""Confluent's Tableflow writes, and Snowflake reads."""

FOREIGN = "222222222222"
"""The account of Confluent and Snowflake."""

PATH = "s3://lab-lake/10110110/10101001/org/env-1/lkc-1/v1/a-table"


@dataclass
class MadeAtAws:
    """Three parties with users of their own trust each other through the deployment; nobody makes secrets."""

    cloud: CloudAws
    document: dict[str, Any] = field(default_factory=lambda: dict(LAB))
    late: float = 0.0
    """Seconds for which a refusal is taken for lateness."""

    def __post_init__(self) -> None:
        may = allow(["sts:AssumeRole", "sts:TagSession"])
        theirs = CloudAws(self.cloud.url, FOREIGN, "test")
        self.parties = {name: theirs.user(name, may) for name in ("confluent", "volume", "integration")}
        self.administrator = self.cloud.user("administrator", allow("*"))
        self.aws = Aws(self.administrator.settings)

    @property
    def spec(self) -> DeploymentSpec:
        return DeploymentSpec.model_validate(self.document)

    @property
    def resources(self) -> list[Resource]:
        clouds = Clouds(self.aws, None, None, SecretsManager(self.aws))
        made = [each for each in objects(self.spec, clouds) if each.address != "aws/secret_policies"]
        patient = [
            replace(each, lateness=Lateness(self.late)) if isinstance(each, Role) else each for each in made
        ]
        return [*cast("list[Resource]", self._given()), *cast("list[Resource]", patient)]

    def _given(self) -> list[Given]:
        user = f"arn:aws:iam::{FOREIGN}:user"
        trusted = {"role_arn": f"{user}/confluent", "external_id": "ext-c"}
        snowflake = [
            Given("snowflake/volume", facts={"iam_user_arn": f"{user}/volume", "external_id": "ext-v"}),
            Given(
                "snowflake/catalog_integration",
                facts={"iam_user_arn": f"{user}/integration", "external_id": "ext-i"},
            ),
        ]
        confluent = [
            Given("confluent/provider_integration", facts=trusted),
            Given("confluent/cluster", facts={"id": "lkc-1"}),
            Given("confluent/tableflow/stock_trades", facts={"table_path": PATH}),
        ]
        return [*snowflake, *(confluent if self.spec.confluent else [])]

    def reconciler(self, patience: float = 30.0, *, removes_data: bool = False) -> Reconciler:
        had = partial(former, self.spec, Clouds(self.aws, None, None, SecretsManager(self.aws)))
        times = {"patience": patience, "margin": 0.3, "pause": 0.1}
        return Reconciler(self.resources, former=had, removes_data=removes_data, **times)

    def create(self) -> Known:
        reconciler = self.reconciler()
        return reconciler.apply(reconciler.plan())

    def destroy(self) -> None:
        reconciler = self.reconciler()
        reconciler.destroy(reconciler.removal())

    def drift(self) -> dict[str, list[str]]:
        """The fields that differ, by address."""
        return {s.address: sorted(c.field for c in s.changes) for s in self.reconciler().plan().news}

    def failures(self, patience: float = 5.0) -> dict[str, FrazilError]:
        """What does not work, by address."""
        return {a: e for a, e in self.reconciler(patience).verify().items() if e}

    def everything(self) -> dict[str, list[str]]:
        """What the account holds, listed without Frazil's own client."""
        ask = self.cloud.client
        resources = {
            "buckets": [each["Name"] for each in ask("s3").list_buckets()["Buckets"]],
            "roles": [each["RoleName"] for each in ask("iam").list_roles()["Roles"]],
            "policies": [each["Arn"] for each in ask("iam").list_policies(Scope="Local")["Policies"]],
            "databases": [each["Name"] for each in ask("glue").get_databases()["DatabaseList"]],
            "parameters": [each["Name"] for each in ask("ssm").describe_parameters()["Parameters"]],
            "secrets": [each["Name"] for each in ask("secretsmanager").list_secrets()["SecretList"]],
            "logs": [each["logGroupName"] for each in ask("logs").describe_log_groups()["logGroups"]],
        }
        return {kind: names for kind, names in resources.items() if names}
