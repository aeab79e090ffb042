"""What may be said of a catalog integration, by its source, and of what is inside of its options.

By Snowflake's reference of CREATE CATALOG INTEGRATION; names as in terraform-provider-snowflake,
`pkg/sdk/catalog_integrations_gen.go` and `catalog_integrations_enums_gen.go` (2026-08-21).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from frazil_local.snowflake.answers import invalid, syntax_error
from frazil_local.snowflake.language.options import check_choices, strange_in
from frazil_local.snowflake.language.statements import Properties

_ALL = ("CATALOG_SOURCE", "TABLE_FORMAT", "ENABLED", "REFRESH_INTERVAL_SECONDS", "COMMENT")
_REST = (*_ALL, "CATALOG_NAMESPACE", "REST_CONFIG", "REST_AUTHENTICATION")
_BY_SOURCE: Mapping[str, Collection[str]] = {
    "GLUE": (*_ALL, "CATALOG_NAMESPACE", "GLUE_AWS_ROLE_ARN", "GLUE_CATALOG_ID", "GLUE_REGION"),
    "ICEBERG_REST": _REST,
    "POLARIS": _REST,
}
_CONFIG = ("CATALOG_URI", "CATALOG_NAME", "CATALOG_API_TYPE", "ACCESS_DELEGATION_MODE")
_CONFIG_OF: Mapping[str, Collection[str]] = {"ICEBERG_REST": (*_CONFIG, "PREFIX"), "POLARIS": _CONFIG}
_PROOFS: Mapping[str, Collection[str]] = {
    "OAUTH": (
        "TYPE", "OAUTH_TOKEN_URI", "OAUTH_CLIENT_ID", "OAUTH_CLIENT_SECRET", "OAUTH_ALLOWED_SCOPES",
    ),
    "BEARER": ("TYPE", "BEARER_TOKEN"),
    "SIGV4": ("TYPE", "SIGV4_IAM_ROLE", "SIGV4_SIGNING_REGION", "SIGV4_EXTERNAL_ID"),
}  # fmt: skip
_CHOICES: Mapping[str, Collection[str]] = {
    "CATALOG_API_TYPE": (
        "PUBLIC", "PRIVATE", "AWS_API_GATEWAY", "AWS_PRIVATE_API_GATEWAY", "AWS_GLUE", "AWS_PRIVATE_GLUE",
    ),
    "ACCESS_DELEGATION_MODE": ("VENDED_CREDENTIALS", "EXTERNAL_VOLUME_CREDENTIALS"),
}  # fmt: skip


def check_source(source: str, given: Properties) -> None:
    """Refuses what an integration with such a source does not have, also inside of its options."""
    _check(f"a catalog integration of {source}", given, _BY_SOURCE[source])
    if source == "GLUE":
        return
    config, proof = _inside(given, "REST_CONFIG"), _inside(given, "REST_AUTHENTICATION")
    _check("REST_CONFIG", config, _CONFIG_OF[source])
    check_choices(config, _CHOICES)
    kind = str(proof.get("TYPE", "")).upper()
    if kind not in _PROOFS:
        raise invalid("REST_AUTHENTICATION TYPE", kind)
    _check(f"REST_AUTHENTICATION of {kind}", proof, _PROOFS[kind])


def _inside(given: Properties, name: str) -> Mapping[str, Any]:
    value = given.get(name)
    if not isinstance(value, Mapping):
        raise syntax_error(f"{name} needs ( NAME = value ... ).")
    return value


def _check(what: str, given: Mapping[str, Any], known: Collection[str]) -> None:
    if strange := strange_in(given, known):
        raise syntax_error(f"invalid property '{strange}' for {what}")
