"""External volumes: what they must say, how Snowflake describes them, and whether they work."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from frazil_local.snowflake.access import STEPS, VOLUME_USER, Access, reason
from frazil_local.snowflake.answers import Refused, Result, Row, invalid, syntax_error, unsupported
from frazil_local.snowflake.iceberg.integrations import external_id
from frazil_local.snowflake.language.options import check_location
from frazil_local.snowflake.language.statements import Properties
from frazil_local.snowflake.objects import Stored

_LOCATION_NEEDS = ("NAME", "STORAGE_PROVIDER", "STORAGE_BASE_URL", "STORAGE_AWS_ROLE_ARN")
_PROBE = "frazil-verify"


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


def verified_volume(access: Access, volume: Stored) -> str:
    """SYSTEM$VERIFY_EXTERNAL_VOLUME: takes the role; a volume that may write also writes and deletes."""
    location = active_location(volume)
    results = dict.fromkeys(STEPS, "SKIPPED")
    try:
        storage, taken = access.storage(location), "PASSED"
    except Refused as e:
        storage, taken = None, f"FAILED with exception message {e.text}"
    if storage:
        tries = _tries(storage, str(location["STORAGE_BASE_URL"]))
        writes = volume.text("ALLOW_WRITES", "TRUE").upper() == "TRUE"
        results |= {step: _outcome(tries[step]) for step in access.proofs(writes)}
    outcome = {
        "success": not any(result.startswith("FAILED") for result in (taken, *results.values())),
        "storageLocationSelectionResult": "PASSED",
        "storageLocationName": location["NAME"],
        "servicePrincipalProperties": f"STORAGE_AWS_IAM_USER_ARN: {VOLUME_USER}",
        "location": location["STORAGE_BASE_URL"],
        **results,
        "awsRoleArnValidationResult": taken,
    }
    return json.dumps(outcome)


def _tries(storage: Any, base_url: str) -> dict[str, Callable[[], Any]]:
    bucket, _, prefix = base_url.removeprefix("s3://").partition("/")
    probe = {"Bucket": bucket, "Key": prefix + _PROBE}
    return {
        "writeResult": lambda: storage.put_object(**probe, Body=b""),
        "readResult": lambda: storage.get_object(**probe),
        "listResult": lambda: storage.list_objects_v2(Bucket=bucket, Prefix=prefix, MaxKeys=1),
        "deleteResult": lambda: storage.delete_object(**probe),
    }


def _outcome(act: Callable[[], Any]) -> str:
    try:
        act()
    except (ClientError, BotoCoreError) as e:
        return f"FAILED with exception message {reason(e)}"
    return "PASSED"


def _checked_location(given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping) or any(name not in given for name in _LOCATION_NEEDS):
        raise syntax_error(f"A storage location needs {', '.join(_LOCATION_NEEDS)}.")
    check_location(given)
    if str(given["STORAGE_PROVIDER"]).upper() != "S3":
        raise unsupported(f"STORAGE_PROVIDER = {given['STORAGE_PROVIDER']}.")
    base_url = str(given["STORAGE_BASE_URL"])
    bucket = base_url.removeprefix("s3://").partition("/")[0]
    if not base_url.startswith("s3://") or "." in bucket:
        raise invalid("STORAGE_BASE_URL", base_url)
    return {"STORAGE_AWS_EXTERNAL_ID": external_id(), **given, "STORAGE_AWS_IAM_USER_ARN": VOLUME_USER}
