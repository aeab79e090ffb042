"""Confluent at AWS: it has a role for each provider integration, and takes the customer's from there."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from frazil_local.cloud.confluent.organization import Json, Organization

INTEGRATIONS = "/pim/v1/integrations"

_ACCOUNT = "333333333333"
"""Confluent's own at AWS: not the customer's."""


def own_role(organization: Organization, integration: str) -> str:
    """The role in which Confluent comes, made where it is missing; its ARN."""
    role = f"confluent-{integration}"
    if organization.places.aws:
        trust = _policy({"Principal": {"AWS": f"arn:aws:iam::{_ACCOUNT}:root"}, "Action": "sts:AssumeRole"})
        rights = _policy({"Action": ["sts:AssumeRole", "sts:TagSession"], "Resource": "*"})
        iam = _aws(organization, "iam", _ACCOUNT, "test")
        with suppress(iam.exceptions.EntityAlreadyExistsException):  # by a try without an answer
            iam.create_role(RoleName=role, AssumeRolePolicyDocument=trust)
        iam.put_role_policy(RoleName=role, PolicyName="assume", PolicyDocument=rights)
    return f"arn:aws:iam::{_ACCOUNT}:role/{role}"


def drop_own_role(organization: Organization, integration: str) -> None:
    """Removes it; an answer to that may have been lost before."""
    if organization.places.aws:
        iam = _aws(organization, "iam", _ACCOUNT, "test")
        role = f"confluent-{integration}"
        with suppress(iam.exceptions.NoSuchEntityException):
            iam.delete_role_policy(RoleName=role, PolicyName="assume")
        with suppress(iam.exceptions.NoSuchEntityException):
            iam.delete_role(RoleName=role)


def keys_of_customer(organization: Organization, config: Json) -> Json:
    """Keys of the customer's role, as STS gives them: first Confluent's own role is taken.

    Args:
        organization: Says where AWS is.
        config: Of a provider integration.
    """
    sts = _aws(organization, "sts", _ACCOUNT, "test")
    own = sts.assume_role(RoleArn=config["iam_role_arn"], RoleSessionName="tableflow")["Credentials"]
    taken = _session(organization, "sts", own).assume_role(
        RoleArn=config["customer_iam_role_arn"], RoleSessionName="tableflow",
        ExternalId=config["external_id"], Tags=[{"Key": "org", "Value": organization.id}],
    )  # fmt: skip
    credentials: Json = taken["Credentials"]
    return credentials


def problem_as_customer(
    organization: Organization, integration: str, service: str, act: Callable[[Any], None]
) -> str | None:
    """What AWS says against something that is done as the customer's role, if anything."""
    from botocore.exceptions import BotoCoreError, ClientError

    if organization.places.aws is None:
        return None
    config = organization.of(INTEGRATIONS)[integration].body["config"]
    try:
        act(_session(organization, service, keys_of_customer(organization, config)))
    except (ClientError, BotoCoreError) as e:
        return str(e)
    return None


def _session(organization: Organization, service: str, given: Json) -> Any:
    keys = given["AccessKeyId"], given["SecretAccessKey"], given["SessionToken"]
    return _aws(organization, service, *keys)


def _aws(organization: Organization, service: str, key: str, secret: str, token: str | None = None) -> Any:
    import boto3
    from botocore.config import Config

    limits = Config(connect_timeout=5, read_timeout=20, retries={"total_max_attempts": 6})
    client = boto3.client(
        service, endpoint_url=organization.places.aws, region_name="us-east-1", config=limits,
        aws_access_key_id=key, aws_secret_access_key=secret, aws_session_token=token,
    )  # fmt: skip
    client.meta.events.register_first("needs-retry", _soon)
    return client


def _soon(response: Any, caught_exception: Exception | None, **_: Any) -> float | None:
    """Seconds until what got no answer is sent again; boto's own are many, and all others wait here."""
    code = "" if response is None else response[1].get("Error", {}).get("Code", "")
    return 0.05 if caught_exception or code in ("Throttling", "ThrottlingException", "SlowDown") else None


def _policy(statement: Json) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", **statement}]})
