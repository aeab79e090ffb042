"""What may be said of each kind of object, and what may be granted on it: everything else is refused.

By Snowflake's reference of CREATE and ALTER of these kinds, and its page on access control privileges; names
of options as in terraform-provider-snowflake, `pkg/sdk` (2026-08-21).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from frazil_local.snowflake.answers import Refused, invalid, syntax_error
from frazil_local.snowflake.language.statements import Grant

_OPTIONS: Mapping[str, Collection[str]] = {
    "USER": (
        "TYPE", "COMMENT", "DISABLED", "LOGIN_NAME", "DISPLAY_NAME", "EMAIL", "PASSWORD", "FIRST_NAME",
        "MIDDLE_NAME", "LAST_NAME", "MUST_CHANGE_PASSWORD", "MINS_TO_BYPASS_MFA", "MINS_TO_UNLOCK",
        "DAYS_TO_EXPIRY", "DEFAULT_ROLE", "DEFAULT_WAREHOUSE", "DEFAULT_NAMESPACE",
        "DEFAULT_SECONDARY_ROLES", "RSA_PUBLIC_KEY", "RSA_PUBLIC_KEY_2", "NETWORK_POLICY",
    ),
    "ROLE": ("COMMENT",),
    "WAREHOUSE": (
        "COMMENT", "WAREHOUSE_TYPE", "WAREHOUSE_SIZE", "AUTO_SUSPEND", "AUTO_RESUME",
        "INITIALLY_SUSPENDED", "MAX_CLUSTER_COUNT", "MIN_CLUSTER_COUNT", "SCALING_POLICY",
        "RESOURCE_MONITOR", "ENABLE_QUERY_ACCELERATION", "STATEMENT_TIMEOUT_IN_SECONDS",
        "STATEMENT_QUEUED_TIMEOUT_IN_SECONDS", "MAX_CONCURRENCY_LEVEL", "GENERATION",
    ),
    "EXTERNAL VOLUME": ("STORAGE_LOCATIONS", "ALLOW_WRITES", "COMMENT"),
    "CATALOG INTEGRATION": (
        "CATALOG_SOURCE", "TABLE_FORMAT", "GLUE_AWS_ROLE_ARN", "GLUE_CATALOG_ID", "GLUE_REGION",
        "CATALOG_NAMESPACE", "REST_CONFIG", "REST_AUTHENTICATION", "ENABLED", "REFRESH_INTERVAL_SECONDS",
        "COMMENT",
    ),
    "ICEBERG TABLE": (
        "EXTERNAL_VOLUME", "CATALOG", "CATALOG_TABLE_NAME", "CATALOG_NAMESPACE", "AUTO_REFRESH",
        "REPLACE_INVALID_CHARACTERS", "COMMENT",
    ),
}  # fmt: skip
_CHOICES: Mapping[tuple[str, str], Collection[str]] = {
    ("USER", "TYPE"): ("PERSON", "SERVICE", "LEGACY_SERVICE", "SNOWFLAKE_SERVICE"),
    ("WAREHOUSE", "WAREHOUSE_TYPE"): ("STANDARD", "SNOWPARK-OPTIMIZED"),
    ("WAREHOUSE", "WAREHOUSE_SIZE"): (
        "XSMALL", "X-SMALL", "SMALL", "MEDIUM", "LARGE", "XLARGE", "X-LARGE", "XXLARGE", "X2LARGE",
        "2X-LARGE", "XXXLARGE", "X3LARGE", "3X-LARGE", "X4LARGE", "4X-LARGE", "X5LARGE", "5X-LARGE",
        "X6LARGE", "6X-LARGE",
    ),
    ("WAREHOUSE", "SCALING_POLICY"): ("STANDARD", "ECONOMY"),
}  # fmt: skip
_NUMBERS = (
    ("WAREHOUSE", "AUTO_SUSPEND"), ("WAREHOUSE", "MIN_CLUSTER_COUNT"), ("WAREHOUSE", "MAX_CLUSTER_COUNT"),
    ("WAREHOUSE", "STATEMENT_TIMEOUT_IN_SECONDS"), ("WAREHOUSE", "STATEMENT_QUEUED_TIMEOUT_IN_SECONDS"),
    ("WAREHOUSE", "MAX_CONCURRENCY_LEVEL"),
)  # fmt: skip
_CHANGEABLE: Mapping[str, Collection[str]] = {
    "EXTERNAL VOLUME": ("ALLOW_WRITES", "COMMENT"),
    "CATALOG INTEGRATION": ("ENABLED", "REFRESH_INTERVAL_SECONDS", "REST_AUTHENTICATION", "COMMENT"),
}
"""What ALTER ... SET takes, where that is less than CREATE does."""
_ENCRYPTION = ("TYPE", "KMS_KEY_ID")
_ENCRYPTIONS: Mapping[str, Collection[str]] = {"TYPE": ("AWS_SSE_S3", "AWS_SSE_KMS", "NONE")}
_SWITCHES = (
    ("USER", "DISABLED"), ("EXTERNAL VOLUME", "ALLOW_WRITES"), ("CATALOG INTEGRATION", "ENABLED"),
    ("ICEBERG TABLE", "AUTO_REFRESH"), ("WAREHOUSE", "AUTO_RESUME"), ("WAREHOUSE", "INITIALLY_SUSPENDED"),
)  # fmt: skip
_SHORTEST, _LONGEST = 30, 86_400  # seconds of an interval

LOCATION_OPTIONS = (
    "NAME", "STORAGE_PROVIDER", "STORAGE_BASE_URL", "STORAGE_AWS_ROLE_ARN", "STORAGE_AWS_EXTERNAL_ID",
    "STORAGE_AWS_ACCESS_POINT_ARN", "USE_PRIVATELINK_ENDPOINT", "ENCRYPTION",
)  # fmt: skip

_ON_ALL = ("OWNERSHIP", "ALL", "ALL PRIVILEGES")
_READ = ("SELECT", "REFERENCES")
_CREATED = (
    "TABLE", "VIEW", "ICEBERG TABLE", "DYNAMIC TABLE", "EXTERNAL TABLE", "MATERIALIZED VIEW", "STAGE", "TASK",
    "STREAM", "SEQUENCE", "FUNCTION", "PROCEDURE", "PIPE", "FILE FORMAT", "MASKING POLICY",
    "ROW ACCESS POLICY", "TAG", "SECRET", "ALERT", "MODEL", "NOTEBOOK", "STREAMLIT",
)  # fmt: skip
_PRIVILEGES: Mapping[str, Collection[str]] = {
    "ROLE": ("USAGE",),
    "USER": ("MONITOR", "IMPERSONATE"),
    "WAREHOUSE": ("APPLYBUDGET", "MODIFY", "MONITOR", "OPERATE", "USAGE"),
    "DATABASE": (
        "APPLYBUDGET", "CREATE DATABASE ROLE", "CREATE SCHEMA", "IMPORTED PRIVILEGES", "MODIFY", "MONITOR",
        "USAGE",
    ),
    "SCHEMA": (
        "ADD SEARCH OPTIMIZATION", "APPLYBUDGET", "MODIFY", "MONITOR", "USAGE",
        *(f"CREATE {it}" for it in _CREATED),
    ),
    "EXTERNAL VOLUME": ("USAGE",),
    "INTEGRATION": ("USAGE", "USE_ANY_ROLE"),
    "TABLE": (*_READ, "INSERT", "UPDATE", "DELETE", "TRUNCATE", "EVOLVE SCHEMA", "REBUILD", "APPLYBUDGET"),
    "ICEBERG TABLE": (*_READ, "INSERT", "UPDATE", "DELETE", "TRUNCATE", "APPLYBUDGET"),
    "VIEW": _READ,
    "TAG": ("APPLY", "READ"),
    "MASKING POLICY": ("APPLY",),
    "ACCOUNT": (
        "CREATE ROLE", "CREATE USER", "CREATE WAREHOUSE", "CREATE DATABASE", "CREATE INTEGRATION",
        "CREATE EXTERNAL VOLUME", "CREATE SHARE", "MANAGE GRANTS", "MANAGE WAREHOUSES", "MONITOR USAGE",
        "MONITOR EXECUTION", "EXECUTE TASK", "EXECUTE ALERT", "APPLY TAG", "APPLY MASKING POLICY",
        "BIND SERVICE ENDPOINT",
    ),
}  # fmt: skip


def check_names(kind: str, names: Iterable[str]) -> None:
    """Refuses options that a kind of object does not have, also where they are unset."""
    known = _OPTIONS.get(kind)
    if known is not None and (strange := [name for name in names if name not in known]):
        raise syntax_error(f"invalid property '{strange[0]}' for '{kind}'")


def check_options(kind: str, given: Mapping[str, Any]) -> None:
    """The same, and values that they can't have."""
    check_names(kind, given)
    for name, value in given.items():
        choices = ("TRUE", "FALSE") if (kind, name) in _SWITCHES else _CHOICES.get((kind, name))
        if choices is not None and str(value).upper() not in choices:
            raise invalid(name, str(value))
        if (kind, name) in _NUMBERS and not (str(value).isdigit() or str(value).upper() == "NULL"):
            raise invalid(name, str(value))
    check_interval("REFRESH_INTERVAL_SECONDS", given)


def check_changes(kind: str, assigned: Mapping[str, Any]) -> None:
    """Refuses what ALTER can't set."""
    if strange := strange_in(assigned, _CHANGEABLE.get(kind, assigned)):
        raise syntax_error(f"invalid property '{strange}' for ALTER {kind}")


def check_location(given: Mapping[str, Any]) -> None:
    """Refuses what a storage location does not have."""
    encryption: Any = given.get("ENCRYPTION", {})
    strange = strange_in(given, LOCATION_OPTIONS) or strange_in(encryption, _ENCRYPTION)
    if strange:
        raise syntax_error(f"invalid property '{strange}' for a storage location")
    check_choices(encryption, _ENCRYPTIONS)


def check_choices(given: Mapping[str, Any], choices: Mapping[str, Collection[str]]) -> None:
    """Refuses other values of what has only a few."""
    for name, value in given.items():
        if name in choices and str(value).upper() not in choices[name]:
            raise invalid(name, str(value))


def strange_in(given: Iterable[str], known: Collection[str]) -> str:
    """The first name that is not known; empty: all are."""
    return next((name for name in given if name not in known), "")


def check_privileges(grant: Grant) -> None:
    """Refuses privileges that do not exist, or not on this kind of object."""
    kind = grant.on_kind.removeprefix("ALL ").removeprefix("FUTURE ").partition(" IN ")[0]
    known = _PRIVILEGES.get(kind) or _PRIVILEGES.get(kind.removesuffix("S"))
    if known is None:
        return
    if strange := [each for each in grant.privileges if each not in (*known, *_ON_ALL)]:
        raise Refused(1003, "42000", f"SQL compilation error:\nInvalid privilege '{strange[0]}' for {kind}.")


def check_interval(name: str, given: Mapping[str, Any]) -> None:
    """Refuses an interval that is too short, too long or none."""
    seconds = given.get(name)
    if seconds is not None and not (str(seconds).isdigit() and _SHORTEST <= int(seconds) <= _LONGEST):
        raise invalid(name, str(seconds))
