"""The clouds that the settings name, asked without any of Frazil's own clients."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import requests

from frazil.publishing.snowflake.connection import open_snowflake, rows
from frazil.settings.identity import aws_session
from frazil.settings.profile import Settings
from kit.clouds.three_clouds import lose_rights, secret_values

_KINDS = ("users", "roles", "warehouses", "databases", "external volumes", "catalog integrations")


@dataclass(frozen=True)
class RealClouds:
    """Of everything in these accounts what bears the name of one deployment.

    Args:
        settings: Who administers them, and where they are.
        name: The deployment's.
    """

    settings: Settings
    name: str

    def everything(self) -> list[str]:
        """All that is there."""
        return sorted([*self._in_aws(), *self._in_confluent(), *self._in_snowflake()])

    def secrets(self) -> list[str]:
        """All passwords and private keys that were made."""
        store = self._client("secretsmanager")
        names = list(self._named("secretsmanager", "list_secrets", "SecretList", "Name"))
        return secret_values(store, names)

    def runner(self) -> dict[str, str]:
        """The administrator works in it: a user more would be one thing more to remove."""
        return {}

    def tamper(self) -> set[str]:
        """A right less, a key gone, a grant revoked."""
        lose_rights(self._client("iam"), f"{self.name}_s3_glue_role")
        (key,) = self._keys("app_producer")
        self._confluent("DELETE", f"/iam/v2/api-keys/{key}")
        upper = self.name.upper()
        revoke = f"REVOKE USAGE ON WAREHOUSE {upper}_WAREHOUSE FROM ROLE {upper}_SYSTEM_ADMIN_ROLE"
        with open_snowflake(self.settings) as connection:
            rows(connection, "USE ROLE SECURITYADMIN")
            rows(connection, revoke)
        return {"aws/writer_role", "confluent/key/app_producer", "snowflake/grants/system"}

    def _in_aws(self) -> Iterator[str]:
        buckets = (each["Name"] for each in self._client("s3").list_buckets()["Buckets"])
        number = self.name.rpartition("_")[2]
        yield from (f"bucket {each}" for each in buckets if number in each)
        for service, call, key, name in (
            ("iam", "list_roles", "Roles", "RoleName"),
            ("iam", "list_policies", "Policies", "PolicyName"),
            ("secretsmanager", "list_secrets", "SecretList", "Name"),
            ("ssm", "describe_parameters", "Parameters", "Name"),
            ("logs", "describe_log_groups", "logGroups", "logGroupName"),
            ("glue", "get_databases", "DatabaseList", "Name"),
        ):
            yield from (f"{call} {each}" for each in self._named(service, call, key, name))

    def _in_confluent(self) -> Iterator[str]:
        for path in ("/org/v2/environments", "/iam/v2/service-accounts"):
            yield from (
                f"{path} {each['display_name']}"
                for each in self._every(path)
                if each["display_name"].startswith(self.name)
            )
        yield from (f"key {each}" for each in self._keys())

    def _in_snowflake(self) -> Iterator[str]:
        with open_snowflake(self.settings) as connection:
            rows(connection, "USE ROLE ACCOUNTADMIN")
            for kind in _KINDS:
                matching = rows(connection, f"SHOW {kind} LIKE '{self.name}%'")
                yield from (f"{kind} {row[0]}" for row in matching)

    def _keys(self, use: str = "") -> list[str]:
        marked = f"frazil:{self.name}:{use}"
        keys_listed = self._every("/iam/v2/api-keys")
        return [each["id"] for each in keys_listed if each["spec"].get("description", "").startswith(marked)]

    def _every(self, path: str) -> Iterator[dict[str, Any]]:
        while path:
            page = self._confluent("GET", path)
            yield from page["data"]
            path = page.get("metadata", {}).get("next") or ""

    def _confluent(self, method: str, path: str) -> Any:
        access = self.settings.confluent
        assert access.api_key
        assert access.api_secret
        url = path if path.startswith("http") else (access.endpoint or "https://api.confluent.cloud") + path
        pair = (access.api_key.get_secret_value(), access.api_secret.get_secret_value())
        answer = requests.request(method, url, auth=pair, timeout=30)
        answer.raise_for_status()
        return answer.json() if answer.content else {}

    def _named(self, service: str, call: str, key: str, name: str) -> Iterator[str]:
        for page in self._client(service).get_paginator(call).paginate():
            yield from (each[name] for each in page[key] if self.name in each[name])

    def _client(self, service: str) -> Any:
        return aws_session(self.settings.aws).create_client(service)
