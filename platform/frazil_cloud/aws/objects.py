"""The objects that a deployment has at AWS."""

from __future__ import annotations

from frazil_cloud.aws.bucket import Bucket
from frazil_cloud.aws.glue import GlueDatabase
from frazil_cloud.aws.logs import LogGroup
from frazil_cloud.aws.parameters import Parameters
from frazil_cloud.aws.rights.reader import ReaderRole
from frazil_cloud.aws.rights.secret_policies import SecretPolicies
from frazil_cloud.aws.rights.writer import WriterRole
from frazil_cloud.clouds import Clouds
from frazil_cloud.resource import Resource
from frazil_cloud.spec.deployment import DeploymentSpec


def objects(spec: DeploymentSpec, clouds: Clouds) -> list[Resource]:
    """All of them. A secret is put into the store by the object that makes its value."""
    aws = clouds.aws
    resources: list[Resource] = [
        Bucket(aws, spec),
        GlueDatabase(aws, spec),
        WriterRole(aws, spec),
        Parameters(aws, spec),
        LogGroup(aws, spec),
    ]
    if spec.confluent or spec.snowflake:
        resources.append(SecretPolicies(aws, spec))
    return [*resources, ReaderRole(aws, spec)] if spec.snowflake else resources
