"""How the stand-in reaches Glue and S3: with its own key, or as Snowflake does, in the customer's role."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Protocol
from urllib.parse import urlsplit

import boto3
from botocore.config import Config as ClientConfig
from botocore.exceptions import BotoCoreError, ClientError

from frazil.quoting import double_quoted
from frazil.tables.catalogs.file_io import S3_CA
from frazil.tables.catalogs.pyiceberg import OWN_CODE
from frazil_local.snowflake.answers import Refused
from frazil_local.snowflake.config import Config
from frazil_local.snowflake.engine import text
from frazil_local.snowflake.objects import Stored

_HOME = "999999999999"
"""Snowflake's own account in AWS; a key of twelve digits is the root of that account at the AWS stand-in."""

VOLUME_USER = f"arn:aws:iam::{_HOME}:user/frazil-volume"
CATALOG_USER = f"arn:aws:iam::{_HOME}:user/frazil-glue"
STEPS = ("writeResult", "readResult", "listResult", "deleteResult")
_ASSUMES = {"Effect": "Allow", "Action": "sts:AssumeRole", "Resource": "*"}
_NOT_ASSUMED, _GLUE_NOT_ASSUMED = 3167, 4124


class Access(Protocol):
    """Ways to what volumes and integrations name."""

    def catalog(self, integration: Stored) -> Any:
        """Glue's client, for an integration."""

    def storage(self, location: Mapping[str, Any]) -> Any:
        """S3's client, for a storage location."""

    def files(self, location: Mapping[str, Any]) -> dict[str, str]:
        """S3 below a storage location, as PyIceberg has it."""

    def proofs(self, writes: bool) -> tuple[str, ...]:
        """What SYSTEM$VERIFY_EXTERNAL_VOLUME tries besides taking the role."""

    def open(self, cursor: Any, location: Mapping[str, Any]) -> None:
        """Lets duckdb read what lies below a storage location."""

    def welcome(self) -> None:
        """Makes the two users by which Snowflake comes, so that trusts can name them."""


class OwnKey:
    """One key opens all; roles and trusts are only written down."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._key = {
            "aws_access_key_id": config.access_key.get_secret_value(),
            "aws_secret_access_key": config.secret_key.get_secret_value(),
        }

    def catalog(self, integration: Stored) -> Any:
        """See `Access`."""
        return _client(self._config, "glue", self._config.glue_endpoint, self._key)

    def storage(self, location: Mapping[str, Any]) -> Any:
        """See `Access`."""
        return _client(self._config, "s3", self._config.s3_endpoint, self._key)

    def files(self, location: Mapping[str, Any]) -> dict[str, str]:
        """See `Access`."""
        return _files(self._config, self._key)

    def proofs(self, writes: bool) -> tuple[str, ...]:
        """See `Access`: a bucket of tables takes no other files."""
        return ("listResult",)

    def open(self, cursor: Any, location: Mapping[str, Any]) -> None:
        """See `Access`."""
        cursor.execute(duckdb_secret(self._config, "frazil_s3", self._key))

    def welcome(self) -> None:
        """See `Access`: nobody asks who comes."""


class AssumedRoles:
    """What is read is read with credentials of STS, for the role, Snowflake's user and the external id."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._keys: dict[str, dict[str, str]] = {}
        self._one_at_a_time = threading.Lock()

    def catalog(self, integration: Stored) -> Any:
        """See `Access`."""
        key = self._assumed(*catalog_role(integration), _GLUE_NOT_ASSUMED)
        return _client(self._config, "glue", self._config.glue_endpoint, key)

    def storage(self, location: Mapping[str, Any]) -> Any:
        """See `Access`."""
        return _client(self._config, "s3", self._config.s3_endpoint, self._of(location))

    def files(self, location: Mapping[str, Any]) -> dict[str, str]:
        """See `Access`."""
        return _files(self._config, self._of(location))

    def proofs(self, writes: bool) -> tuple[str, ...]:
        """See `Access`: of a volume that only reads, the role alone is proved."""
        return STEPS if writes else ()

    def open(self, cursor: Any, location: Mapping[str, Any]) -> None:
        """See `Access`."""
        scope = str(location["STORAGE_BASE_URL"])
        cursor.execute(duckdb_secret(self._config, f"role for {scope}", self._of(location), scope))

    def welcome(self) -> None:
        """See `Access`."""
        self._keys.clear()  # the AWS stand-in may have forgotten them
        for user in (VOLUME_USER, CATALOG_USER):
            self._key_of(user)

    def _of(self, location: Mapping[str, Any]) -> dict[str, str]:
        names = ("STORAGE_AWS_IAM_USER_ARN", "STORAGE_AWS_ROLE_ARN", "STORAGE_AWS_EXTERNAL_ID")
        user, role, external_id = (str(location[name]) for name in names)
        return self._assumed(user, role, external_id, _NOT_ASSUMED)

    def _assumed(self, user: str, role: str, external_id: str, number: int) -> dict[str, str]:
        sts = self._at("sts", self._key_of(user))
        try:
            taken = sts.assume_role(RoleArn=role, RoleSessionName="snowflake", ExternalId=external_id)
        except (ClientError, BotoCoreError) as e:
            raise Refused(
                number, "22000", f"SQL execution error: Error assuming AWS_ROLE:\n{reason(e)}"
            ) from None
        key = taken["Credentials"]
        return {
            "aws_access_key_id": key["AccessKeyId"],
            "aws_secret_access_key": key["SecretAccessKey"],
            "aws_session_token": key["SessionToken"],
        }

    def _key_of(self, arn: str) -> dict[str, str]:
        """The key of one of Snowflake's users, who is made when first needed."""
        with self._one_at_a_time:
            if arn not in self._keys:
                self._keys[arn] = self._new_key(arn.rsplit("/", 1)[1])
            return self._keys[arn]

    def _new_key(self, name: str) -> dict[str, str]:
        iam = self._at("iam", {"aws_access_key_id": _HOME, "aws_secret_access_key": "test"})
        try:
            iam.create_user(UserName=name)
        except iam.exceptions.EntityAlreadyExistsException:
            for old in iam.list_access_keys(UserName=name)["AccessKeyMetadata"]:
                with suppress(iam.exceptions.NoSuchEntityException):  # an answer to it was lost before
                    iam.delete_access_key(UserName=name, AccessKeyId=old["AccessKeyId"])
        policy = json.dumps({"Version": "2012-10-17", "Statement": [_ASSUMES]})
        iam.put_user_policy(UserName=name, PolicyName="assume", PolicyDocument=policy)
        made = iam.create_access_key(UserName=name)["AccessKey"]
        return {"aws_access_key_id": made["AccessKeyId"], "aws_secret_access_key": made["SecretAccessKey"]}

    def _at(self, service: str, key: Mapping[str, str]) -> Any:
        return _client(self._config, service, self._config.aws_endpoint or "", key)


def access_of(config: Config) -> Access:
    """Roles are assumed where there is a stand-in for AWS that judges."""
    return AssumedRoles(config) if config.aws_endpoint else OwnKey(config)


def catalog_role(integration: Stored) -> tuple[str, str, str]:
    """Snowflake's user, the role and the external id of a catalog integration with AWS."""
    properties: Any = integration.properties
    if "GLUE_AWS_ROLE_ARN" in properties:
        return (
            properties["GLUE_AWS_IAM_USER_ARN"],
            properties["GLUE_AWS_ROLE_ARN"],
            properties["GLUE_AWS_EXTERNAL_ID"],
        )
    role = properties["REST_AUTHENTICATION"]["SIGV4_IAM_ROLE"]
    return properties["API_AWS_IAM_USER_ARN"], role, properties["API_AWS_EXTERNAL_ID"]


def reason(error: ClientError | BotoCoreError) -> str:
    """What AWS said."""
    if isinstance(error, ClientError):
        return f"{error.response['Error']['Code']}: {error.response['Error']['Message']}"
    return str(error)


def duckdb_secret(config: Config, name: str, key: Mapping[str, str], scope: str | None = None) -> str:
    """Makes a secret of duckdb: which key opens what lies below a URL, or all of S3."""
    endpoint = urlsplit(config.s3_endpoint)
    settings = {
        "TYPE": "s3",
        "KEY_ID": key["aws_access_key_id"],
        "SECRET": key["aws_secret_access_key"],
        "REGION": config.region,
        "ENDPOINT": endpoint.netloc,
        "URL_STYLE": "path",
    }
    if "aws_session_token" in key:
        settings["SESSION_TOKEN"] = key["aws_session_token"]
    if scope:
        settings["SCOPE"] = scope
    listed = ", ".join(f"{option} {text(value)}" for option, value in settings.items())
    return f"CREATE OR REPLACE SECRET {double_quoted(name)} ({listed}, USE_SSL {endpoint.scheme == 'https'})"


def _files(config: Config, key: Mapping[str, str]) -> dict[str, str]:
    properties = {
        "s3.endpoint": config.s3_endpoint,
        "s3.region": config.region,
        "s3.access-key-id": key["aws_access_key_id"],
        "s3.secret-access-key": key["aws_secret_access_key"],
        **OWN_CODE,
    }
    if config.s3_ca:
        properties[S3_CA] = config.s3_ca.read_text()
    return properties | ({"s3.session-token": key["aws_session_token"]} if "aws_session_token" in key else {})


def _client(config: Config, service: str, endpoint: str, key: Mapping[str, str]) -> Any:
    patience: dict[str, Any] = {"connect_timeout": 5, "read_timeout": 20, "retries": {"max_attempts": 2}}
    return boto3.client(
        service,
        endpoint_url=endpoint,
        region_name=config.region,
        config=ClientConfig(**patience, s3={"addressing_style": "path"}),
        verify=str(config.s3_ca) if config.s3_ca else None,
        **key,
    )
