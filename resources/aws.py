"""AWS for a team's own assets: the resources of dagster-aws, with the identity that the settings tell."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import dagster as dg

from frazil.settings.identity import aws_session, keys_of_now
from frazil.settings.profile import Settings
from frazil.settings.secret import revealed
from frazil.settings.systems.aws import AwsSettings

_RESOURCES = {
    "frazil_s3": ("dagster_aws.s3", "S3Resource"),
    "frazil_secretsmanager": ("dagster_aws.secretsmanager", "SecretsManagerResource"),
    "frazil_ssm": ("dagster_aws.ssm", "SSMResource"),
}


def aws_resources(settings: Settings) -> dict[str, dg.ResourceDefinition]:
    """S3, Secrets Manager and Parameter Store, each opened by the run that asks for it.

    An asset asks by name: `frazil_s3: dg.ResourceParam[S3Resource]`.
    """
    return {name: _resource(settings, *where) for name, where in _RESOURCES.items()}


def _resource(settings: Settings, module: str, name: str) -> dg.ResourceDefinition:
    place = {"endpoint_url": settings.s3.endpoint} if name == "S3Resource" else {}

    def opened(_: dg.InitResourceContext) -> Any:
        # Not at the top: dagster_aws takes half a second to import, which only runs that need it may pay.
        kind = getattr(import_module(module), name)
        return kind(region_name=settings.aws.region, **_identity(settings.aws), **place)

    return dg.ResourceDefinition(opened)


def _identity(aws: AwsSettings) -> dict[str, str | None]:
    """Who asks. A role is taken on anew by each run: its keys hold for an hour."""
    if aws.role_arn:
        keys = keys_of_now(aws_session(aws))
        return {
            "aws_access_key_id": keys.access_key,
            "aws_secret_access_key": keys.secret_key,
            "aws_session_token": keys.token,
        }
    return {
        "profile_name": aws.profile,
        "aws_access_key_id": revealed(aws.access_key),
        "aws_secret_access_key": revealed(aws.secret_key),
        "aws_session_token": revealed(aws.session_token),
    }
