"""The settings by which pipelines work in a deployment: with the identities made for it, nobody's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from frazil.errors import NotYetError
from frazil.settings.profile import Settings
from frazil_cloud.resource import Facts, Known
from frazil_cloud.secrets import SecretStore
from frazil_cloud.spec.deployment import DeploymentSpec

CROSSING = ("confluent/cluster", "confluent/registry", "aws/writer_role", "aws/reader_role")
"""The objects whose facts are settings."""

OF_WHO_WORKS = (
    ("aws", "role_arn"), ("aws", "secrets_by"), ("snowflake", "user"), ("snowflake", "private_key"),
    ("snowflake", "login_role"), ("snowflake", "warehouse"), ("snowflake", "database"),
)  # fmt: skip
"""The settings of a deployment that say who somebody is, and who administers says otherwise."""

_ACTIVE_KEY = "snowflake_rsa_private_key_{active_key_number}_pem"


def settings_of(spec: DeploymentSpec, known: Known, secrets: SecretStore, who: Settings) -> dict[str, Any]:
    """What a profile says of a deployment. Secrets are told by where they are kept, so they may be replaced.

    Args:
        spec: What the user wrote.
        known: The facts of what was made.
        secrets: Where the secrets are.
        who: The settings of who made it: where its clouds are, if they are stand-ins.

    Raises:
        NotYetError: It was not made, or not all of it.
    """
    return {
        "cluster": spec.name,
        "catalog": "glue",
        **(_kafka(spec, known) if spec.confluent else {}),
        "aws": _aws(spec, known, who),
        "s3": {"endpoint": who.aws.endpoint or ""},
        "glue": {
            "endpoint": who.aws.endpoint or "",
            "warehouse": f"s3://{spec.aws.bucket}/{spec.aws.folder}",
            "database": spec.names.glue_database,
        },
        **({"snowflake": _snowflake(spec, known, secrets, who)} if spec.snowflake else {}),
    }


def identities_in(settings: Settings, spec: DeploymentSpec) -> Iterator[str]:
    """What settings name of a deployment's own identities, which administer nothing; for people."""
    role, user = settings.aws.role_arn or "", settings.snowflake.user or ""
    if role.rpartition("/")[2] == spec.names.writer_role:
        yield f"the role {role}"
    administers = spec.snowflake is None or settings.snowflake.admin_secret
    if user.upper() == spec.names.snowflake("USER") and not administers:
        yield f"Snowflake's user {user}"


def _kafka(spec: DeploymentSpec, known: Known) -> dict[str, Any]:
    """Who reads the topics, and who reads the schemas."""
    cluster, registry = _facts(known, "confluent/cluster"), _facts(known, "confluent/registry")
    consumer, schemas = spec.names.secret("app_consumer"), spec.names.secret("schema_registry")
    return {
        "kafka": {
            "bootstrap_servers": cluster["bootstrap"],
            "cluster_id": cluster["id"],
            "group": spec.name,
            "tls": cluster["protocol"] == "SASL_SSL",
            "mechanism": "PLAIN",
            "username": f"aws-secret:{consumer}#sasl.username",
            "password": f"aws-secret:{consumer}#sasl.password",
        },
        "registry": {
            "url": registry["http_endpoint"],
            "user_info": f"aws-secret:{schemas}#schema.registry.basic.auth.user.info",
        },
    }


def _aws(spec: DeploymentSpec, known: Known, who: Settings) -> dict[str, Any]:
    """The writer's role. A role that Confluent assumes, too, can't read secrets, or Confluent could."""
    shared = spec.confluent is not None and bool(spec.confluent.tableflow)
    return {
        "region": spec.region,
        "role_arn": _facts(known, "aws/writer_role")["arn"],
        **({"secrets_by": "identity"} if shared else {}),
        "endpoint": who.aws.endpoint or "",
        **({"profile": who.aws.profile} if who.aws.profile else {}),
    }


def _snowflake(spec: DeploymentSpec, known: Known, secrets: SecretStore, who: Settings) -> dict[str, Any]:
    """The service user with the key that is in use, in the role that may use what was made."""
    secret, name = spec.names.snowflake_secret, spec.names.snowflake
    stored = secrets.get(secret)
    if stored is None:
        raise _missing("the secret of Snowflake's user")
    place = {n: getattr(who.snowflake, n) for n in ("host", "port", "protocol")} if who.snowflake.host else {}
    return {
        "account": stored["snowflake_account_identifier"],
        "user": stored["snowflake_service_user"],
        "private_key": f"aws-secret:{secret}#{_ACTIVE_KEY}",
        "login_role": name("SYSTEM_ADMIN_ROLE"),
        "warehouse": name("WAREHOUSE"),
        "database": name("DATABASE"),
        "external_volume": name("VOLUME"),
        "catalog_integration": name("CATALOG_INTEGRATION"),
        "storage_base_url": f"s3://{spec.aws.bucket}/",
        "aws_role_arn": _facts(known, "aws/reader_role")["arn"],
        **place,
    }


def _facts(known: Known, address: str) -> Facts:
    if address not in known:
        raise _missing(address)
    facts: Mapping[str, Any] = known[address]
    return facts


def _missing(what: str) -> NotYetError:
    return NotYetError(
        f"The deployment lacks {what}.",
        todo="`frazil deploy create` makes it, `frazil deploy plan` shows what is missing.",
    )
