"""External volumes and catalog integrations: what they must say, and how Snowflake describes them."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from typing import Any

from frazil.local.snowflake.answers import Result, Row, invalid, syntax_error, unsupported
from frazil.local.snowflake.config import Config, list_problem
from frazil.local.snowflake.objects import Stored
from frazil.local.snowflake.statements import Properties

_VOLUME_USER = "arn:aws:iam::999999999999:user/frazil-volume"
_GLUE_USER = "arn:aws:iam::999999999999:user/frazil-glue"
_LOCATION_NEEDS = ("NAME", "STORAGE_PROVIDER", "STORAGE_BASE_URL", "STORAGE_AWS_ROLE_ARN")
_INTEGRATION_NEEDS = ("CATALOG_SOURCE", "TABLE_FORMAT", "GLUE_AWS_ROLE_ARN", "GLUE_CATALOG_ID", "ENABLED")


def checked_volume(given: Properties) -> dict[str, Any]:
    """The properties of a new volume, with an external id for each location that has none."""
    locations = given.get("STORAGE_LOCATIONS")
    if not isinstance(locations, tuple) or not locations:
        raise syntax_error("CREATE EXTERNAL VOLUME needs STORAGE_LOCATIONS = ((...)).")
    return {**given, "STORAGE_LOCATIONS": [_checked_location(one) for one in locations]}


def active_location(volume: Stored) -> Mapping[str, Any]:
    """The location that Snowflake uses: the first."""
    locations: Any = volume.properties["STORAGE_LOCATIONS"]
    first: Mapping[str, Any] = locations[0]
    return first


def checked_integration(given: Properties) -> dict[str, Any]:
    """The properties of a new catalog integration, with the external id of its AWS user."""
    if lacking := [name for name in _INTEGRATION_NEEDS if name not in given]:
        raise syntax_error(f"CREATE CATALOG INTEGRATION needs {', '.join(lacking)}.")
    for name, wanted in (("CATALOG_SOURCE", "GLUE"), ("TABLE_FORMAT", "ICEBERG")):
        if str(given[name]).upper() != wanted:
            raise unsupported(f"{name} = {given[name]}.")
    own = {"GLUE_AWS_IAM_USER_ARN": _GLUE_USER, "GLUE_AWS_EXTERNAL_ID": _external_id()}
    return {**given, **own}


def described_volume(volume: Stored) -> Result:
    """DESC EXTERNAL VOLUME."""
    properties: Any = volume.properties
    writes = str(properties.get("ALLOW_WRITES", "TRUE")).lower()
    rows: list[Row] = [("", "ALLOW_WRITES", "Boolean", writes, "true")]
    for number, location in enumerate(properties["STORAGE_LOCATIONS"], start=1):
        shown = {**location, "STORAGE_ALLOWED_LOCATIONS": [location["STORAGE_BASE_URL"] + "*"]}
        rows.append(("STORAGE_LOCATIONS", f"STORAGE_LOCATION_{number}", "String", json.dumps(shown), ""))
    rows.append(("STORAGE_LOCATIONS", "ACTIVE", "String", active_location(volume)["NAME"], ""))
    rows.append(("", "COMMENT", "String", volume.text("COMMENT"), ""))
    columns = ("parent_property", "property", "property_type", "property_value", "property_default")
    return Result(columns, tuple(rows))


def described_integration(integration: Stored) -> Result:
    """DESC CATALOG INTEGRATION."""
    rows = tuple((name, "String", integration.text(name), "") for name in integration.properties)
    columns = ("property", "property_type", "property_value", "property_default")
    return Result(columns, rows)


def verified_volume(config: Config, volume: Stored) -> str:
    """SYSTEM$VERIFY_EXTERNAL_VOLUME: really lists the active location."""
    location = active_location(volume)
    problem = list_problem(config, location["STORAGE_BASE_URL"])
    listed = f"FAILED with exception message {problem}" if problem else "PASSED"
    told = {
        "success": problem is None,
        "storageLocationSelectionResult": "PASSED",
        "storageLocationName": location["NAME"],
        "servicePrincipalProperties": f"STORAGE_AWS_IAM_USER_ARN: {_VOLUME_USER}",
        "location": location["STORAGE_BASE_URL"],
        "region": config.region,
        "writeResult": "SKIPPED",
        "readResult": listed,
        "listResult": listed,
        "deleteResult": "SKIPPED",
        "awsRoleArnValidationResult": "PASSED",
    }
    return json.dumps(told)


def _checked_location(given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping) or any(name not in given for name in _LOCATION_NEEDS):
        raise syntax_error(f"A storage location needs {', '.join(_LOCATION_NEEDS)}.")
    if str(given["STORAGE_PROVIDER"]).upper() != "S3":
        raise unsupported(f"STORAGE_PROVIDER = {given['STORAGE_PROVIDER']}.")
    base_url = str(given["STORAGE_BASE_URL"])
    if not base_url.startswith("s3://"):
        raise invalid("STORAGE_BASE_URL", base_url)
    return {"STORAGE_AWS_EXTERNAL_ID": _external_id(), **given, "STORAGE_AWS_IAM_USER_ARN": _VOLUME_USER}


def _external_id() -> str:
    return f"FRAZIL_SFCRole={uuid.uuid4().hex[:16]}"
