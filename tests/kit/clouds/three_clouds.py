"""Three clouds that judge each other, and a deployment in all of them, as the command meets it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from kit.clouds.cloud_aws import ACCOUNT, CloudAws, allow, cloud_aws
from kit.clouds.cloud_confluent import KEY, SECRET, CloudConfluent, cloud_confluent
from kit.clouds.cloud_snowflake import CloudSnowflake, cloud_snowflake

LAB: dict[str, Any] = {
    "name": "lab",
    "confluent": {
        "topics": [{"name": "stock_trades"}],
        "connectors": [{"name": "SampleSource", "topic": "stock_trades"}],
        "max_cfu": 5,
        "statements": [
            {"name": "drop-totals", "sql": "DROP TABLE IF EXISTS totals"},
            {
                "name": "make-totals", "after": ["drop-totals"], "makes": "totals",
                "sql": "CREATE TABLE IF NOT EXISTS totals AS SELECT * FROM stock_trades",
            },
        ],
        "tableflow": ["stock_trades"],
    },
    "aws": {"bucket": "lab-bucket-4711"},
    "snowflake": {},
}  # fmt: skip


WRITER = f"arn:aws:iam::{ACCOUNT}:role/lab_s3_glue_role"


@dataclass(frozen=True)
class ThreeClouds:
    """All of them, and who administers them."""

    aws: CloudAws
    confluent: CloudConfluent
    snowflake: CloudSnowflake

    @property
    def administrator(self) -> dict[str, str]:
        """The environment of who may make everything."""
        return {
            "FRAZIL_AWS__ENDPOINT": self.aws.url,
            "FRAZIL_AWS__ACCESS_KEY": self.aws.key,
            "FRAZIL_AWS__SECRET_KEY": self.aws.secret,
            "FRAZIL_CONFLUENT__ENDPOINT": self.confluent.url,
            "FRAZIL_CONFLUENT__API_KEY": KEY,
            "FRAZIL_CONFLUENT__API_SECRET": SECRET,
            "FRAZIL_SNOWFLAKE__ACCOUNT": "frazil",
            "FRAZIL_SNOWFLAKE__HOST": "127.0.0.1",
            "FRAZIL_SNOWFLAKE__PORT": str(self.snowflake.port),
            "FRAZIL_SNOWFLAKE__PROTOCOL": "http",
            "FRAZIL_SNOWFLAKE__USER": "boss",
            "FRAZIL_SNOWFLAKE__PRIVATE_KEY": self.snowflake.key.private.private_bytes(
                Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
            ).decode(),
        }

    def secrets(self) -> list[str]:
        """All passwords and private keys that were made."""
        store = self.aws.client("secretsmanager")
        return secret_values(store, [each["Name"] for each in store.list_secrets()["SecretList"]])

    def runner(self) -> dict[str, str]:
        """The keys of somebody with two rights: to take the writer's role, and to read the secrets."""
        secrets = "arn:aws:secretsmanager:us-east-1:*:secret:/*"
        rights = allow("sts:AssumeRole", WRITER), allow("secretsmanager:GetSecretValue", secrets)
        runner = self.aws.user("runner", *rights)
        return {"access_key": runner.key, "secret_key": runner.secret}

    def tamper(self) -> set[str]:
        """A right less, a topic gone, a grant revoked."""
        lose_rights(self.aws.client("iam"), "lab_s3_glue_role")
        (topics,) = (path for path in self.confluent.organization.objects if path.endswith("/topics"))
        self.confluent.organization.objects[topics].pop("stock_trades")
        self.snowflake.as_(
            "SECURITYADMIN", "REVOKE USAGE ON WAREHOUSE LAB_WAREHOUSE FROM ROLE LAB_SYSTEM_ADMIN_ROLE"
        )
        return {"aws/writer_role", "confluent/topic/stock_trades", "snowflake/grants/system"}

    def everything(self) -> list[str]:
        """All that is there, asked for without any of Frazil's own clients."""
        return sorted([*_in_aws(self.aws), *_in_confluent(self.confluent), *_in_snowflake(self.snowflake)])


def secret_values(store: Any, names: list[str]) -> list[str]:
    """What is secret in secrets."""
    texts = [json.loads(store.get_secret_value(SecretId=name)["SecretString"]) for name in names]
    secret = ("password", "secret", "user.info", "private_key", "jaas")
    pairs = [(key, value) for text in texts for key, value in text.items() if len(value) > 9]
    return [value for key, value in pairs if any(word in key for word in secret)]


def lose_rights(iam: Any, role: str) -> None:
    """Takes a role's own policies away."""
    for policy in iam.list_role_policies(RoleName=role)["PolicyNames"]:
        iam.delete_role_policy(RoleName=role, PolicyName=policy)


def _in_aws(aws: CloudAws) -> Iterator[str]:
    yield from (f"bucket {each['Name']}" for each in aws.client("s3").list_buckets()["Buckets"])
    yield from (f"role {each['RoleName']}" for each in aws.client("iam").list_roles()["Roles"])
    policies = aws.client("iam").list_policies(Scope="Local")["Policies"]
    yield from (f"policy {each['PolicyName']}" for each in policies)
    secrets = aws.client("secretsmanager").list_secrets(IncludePlannedDeletion=True)["SecretList"]
    yield from (f"secret {each['Name']}" for each in secrets)
    for page in aws.client("ssm").get_paginator("describe_parameters").paginate():
        yield from (f"parameter {each['Name']}" for each in page["Parameters"])
    yield from (
        f"log group {each['logGroupName']}" for each in aws.client("logs").describe_log_groups()["logGroups"]
    )
    yield from (f"database {each['Name']}" for each in aws.client("glue").get_databases()["DatabaseList"])


def _in_confluent(confluent: CloudConfluent) -> Iterator[str]:
    yield from (f"{path} {name}" for path, names in confluent.inventory().items() for name in names)


def _in_snowflake(snowflake: CloudSnowflake) -> Iterator[str]:
    for kind in ("users", "roles", "warehouses", "databases", "external volumes", "catalog integrations"):
        rows = snowflake.as_("ACCOUNTADMIN", f"SHOW {kind}")
        yield from (
            f"{kind} {cell}" for row in rows for cell in row[:2] if str(cell).upper().startswith("LAB")
        )


def write_deployment(folder: Path, spec: dict[str, Any]) -> Path:
    """A folder of deployments with this one in it."""
    file = folder / "deployments" / str(spec["name"]) / "defs.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(yaml.safe_dump({"type": "assets.deployments.Deployment", "attributes": spec}))
    return file.parent.parent


@contextmanager
def three_clouds(folder: Path) -> Iterator[ThreeClouds]:
    """All three on free ports."""
    for name in ("aws", "snowflake"):
        (folder / name).mkdir()
    with (
        cloud_aws(folder / "aws") as aws,
        cloud_snowflake(folder / "snowflake", aws.url) as snowflake,
        cloud_confluent(aws.url) as confluent,
    ):
        yield ThreeClouds(aws, confluent, snowflake)
