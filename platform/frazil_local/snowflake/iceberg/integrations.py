"""Catalog integrations: what they must say, how Snowflake describes them, and what their catalogs show."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import requests
from botocore.exceptions import BotoCoreError, ClientError

from frazil_local.snowflake.access import CATALOG_USER, Access, reason
from frazil_local.snowflake.answers import Refused, Result, syntax_error, unsupported
from frazil_local.snowflake.iceberg.catalog_options import check_source
from frazil_local.snowflake.language.statements import Properties, Value
from frazil_local.snowflake.objects import Stored

_SECONDS = 20
_NEEDS = {
    "GLUE": ("TABLE_FORMAT", "GLUE_AWS_ROLE_ARN", "GLUE_CATALOG_ID", "ENABLED"),
    "ICEBERG_REST": ("TABLE_FORMAT", "REST_CONFIG", "REST_AUTHENTICATION", "ENABLED"),
    "POLARIS": ("TABLE_FORMAT", "REST_CONFIG", "REST_AUTHENTICATION", "ENABLED"),
}
_PROVES = {
    "SIGV4": ("SIGV4_IAM_ROLE",),
    "OAUTH": ("OAUTH_CLIENT_ID", "OAUTH_CLIENT_SECRET", "OAUTH_ALLOWED_SCOPES"),
}
_ALWAYS_TOLD: Mapping[str, Mapping[str, str]] = {
    "REST_CONFIG": {"PREFIX": "null", "CATALOG_API_TYPE": "PUBLIC", "CATALOG_NAME": "null"}
}
_NEVER_TOLD = ("OAUTH_CLIENT_SECRET", "SIGV4_EXTERNAL_ID")
_NO_NAMESPACE, _NO_ENDPOINT = 4109, 4140


def checked_integration(given: Properties) -> dict[str, Any]:
    """The properties of a new catalog integration; one with AWS gets Snowflake's user and an external id."""
    source = str(given.get("CATALOG_SOURCE", "")).upper()
    if source not in _NEEDS:
        raise unsupported(f"CATALOG_SOURCE = {source}.")
    check_source(source, given)
    _need(given, _NEEDS[source])
    if str(given["TABLE_FORMAT"]).upper() != "ICEBERG":
        raise unsupported(f"TABLE_FORMAT = {given['TABLE_FORMAT']}.")
    if source == "GLUE":
        return {**given, "GLUE_AWS_IAM_USER_ARN": CATALOG_USER, "GLUE_AWS_EXTERNAL_ID": external_id()}
    proof = _mapping(given, "REST_AUTHENTICATION")
    kind = str(proof.get("TYPE", "")).upper()
    if kind not in _PROVES:
        raise unsupported(f"REST_AUTHENTICATION TYPE = {kind}.")
    _need(proof, _PROVES[kind])
    _need(_mapping(given, "REST_CONFIG"), ("CATALOG_URI",))
    if kind == "OAUTH":
        return dict(given)
    chosen = proof.get("SIGV4_EXTERNAL_ID") or external_id()
    return {**given, "API_AWS_IAM_USER_ARN": CATALOG_USER, "API_AWS_EXTERNAL_ID": chosen}


def described_integration(integration: Stored) -> Result:
    """DESC CATALOG INTEGRATION, without what is secret; parts of REST are `{NAME=value, NAME=[value]}`."""
    rows = tuple((name, "String", _plain(value), "") for name, value in _described(integration.properties))
    return Result(("property", "property_type", "property_value", "property_default"), rows)


def _described(properties: Properties) -> Iterator[tuple[str, Value]]:
    for name, value in {"REFRESH_INTERVAL_SECONDS": "30", **properties}.items():
        yield name, ({**_ALWAYS_TOLD.get(name, {}), **value} if isinstance(value, Mapping) else value)


def verified_integration(access: Access, integration: Stored) -> str:
    """SYSTEM$VERIFY_CATALOG_INTEGRATION: really talks to the catalog."""
    if integration.text("CATALOG_SOURCE").upper() == "GLUE":
        raise unsupported("SYSTEM$VERIFY_CATALOG_INTEGRATION of a catalog that is not REST.")
    try:
        if _is_oauth(integration):
            _get(integration, "/v1/config")
        else:
            database = integration.text("CATALOG_NAMESPACE")
            _ask_glue(access.catalog(integration).get_database, "database", Name=database)
    except Refused as e:
        return json.dumps({"success": False, "errorCode": f"{e.number:06d}", "errorMessage": e.text})
    return json.dumps({"success": True, "errorCode": "", "errorMessage": ""})


def metadata_location(access: Access, integration: Stored, namespace: str, table: str) -> str:
    """The metadata file that the catalog shows for a table; refuses what is no Iceberg table."""
    if _is_oauth(integration):
        document = _get(integration, f"/v1/{{prefix}}namespaces/{namespace}/tables/{table}")
        return str(document["metadata-location"])
    get, name = access.catalog(integration).get_table, f"table {namespace}.{table}"
    parameters = _ask_glue(get, name, DatabaseName=namespace, Name=table)["Table"].get("Parameters", {})
    if parameters.get("table_type", "").upper() != "ICEBERG" or "metadata_location" not in parameters:
        text = f"SQL execution error: Glue table {namespace}.{table} is not of type ICEBERG."
        raise Refused(94401, "22000", text)
    return str(parameters["metadata_location"])


def tables_listed(
    access: Access, integration: Stored, allows: Callable[[str], bool]
) -> list[tuple[str, str]]:
    """Namespaces and names of the Iceberg tables that the catalog has in the namespaces that are allowed."""
    check_enabled(integration)
    if _is_oauth(integration):
        of_all = "/v1/{prefix}namespaces"
        listed = (".".join(levels) for levels in _get(integration, of_all)["namespaces"])
        namespaces = [each for each in listed if allows(each)]
        tables = [_get(integration, f"{of_all}/{each}/tables")["identifiers"] for each in namespaces]
        return [(".".join(each["namespace"]), each["name"]) for of in tables for each in of]
    glue = access.catalog(integration)
    databases = [each["Name"] for each in _pages(glue, "get_databases", "DatabaseList")]
    return [
        (database, table["Name"])
        for database in filter(allows, databases)
        for table in _pages(glue, "get_tables", "TableList", DatabaseName=database)
        if table.get("Parameters", {}).get("table_type", "").upper() == "ICEBERG"
    ]


def check_enabled(integration: Stored) -> None:
    """Refuses to use one that is switched off."""
    if integration.text("ENABLED").upper() != "TRUE":
        problem = f"SQL execution error: Catalog integration {integration.plain_name} is not enabled."
        raise Refused(94402, "22000", problem)


def external_id() -> str:
    """An id that Snowflake draws for one volume or integration."""
    return f"FRAZIL_SFCRole={uuid.uuid4().hex[:16]}"


def _ask_glue(call: Any, what: str, **arguments: str) -> Any:
    try:
        return call(**arguments)
    except (ClientError, BotoCoreError) as e:
        refusal = reason(e)
        number = _NO_NAMESPACE if refusal.startswith("EntityNotFoundException: Database") else 94400
        raise Refused(number, "22000", f"SQL execution error: Glue {what}: {refusal}") from None


def _pages(glue: Any, what: str, listed: str, **arguments: str) -> list[Any]:
    def all_pages() -> list[Any]:
        return [each for page in glue.get_paginator(what).paginate(**arguments) for each in page[listed]]

    return list(_ask_glue(all_pages, what))


def _get(integration: Stored, path: str) -> Any:
    try:
        return _asked(integration.properties, path)
    except (requests.RequestException, ValueError, LookupError) as e:
        where = f"the REST endpoint of catalog integration {integration.plain_name}"
        problem = f"SQL execution error: Failed to access {where} with error: {e}"
        raise Refused(_NO_ENDPOINT, "22000", problem) from None


def _asked(properties: Any, path: str) -> Any:
    rest = properties["REST_CONFIG"]
    base, warehouse = rest["CATALOG_URI"].rstrip("/"), rest.get("CATALOG_NAME") or ""
    headers = {"Authorization": f"Bearer {_token(base, properties['REST_AUTHENTICATION'])}"}
    config = requests.get(f"{base}/v1/config", {"warehouse": warehouse}, headers=headers, timeout=_SECONDS)
    answer = _answer(config)
    if path == "/v1/config":
        return answer
    prefix = {**answer.get("defaults", {}), **answer.get("overrides", {})}.get("prefix", "")
    address = base + path.format(prefix=f"{prefix}/" if prefix else "")
    return _answer(requests.get(address, headers=headers, timeout=_SECONDS))


def _token(base: str, proof: Mapping[str, Any]) -> str:
    form = {
        "grant_type": "client_credentials",
        "client_id": proof["OAUTH_CLIENT_ID"],
        "client_secret": proof["OAUTH_CLIENT_SECRET"],
        "scope": " ".join(proof["OAUTH_ALLOWED_SCOPES"]),
    }
    address = proof.get("OAUTH_TOKEN_URI") or f"{base}/v1/oauth/tokens"
    return str(_answer(requests.post(address, form, timeout=_SECONDS))["access_token"])


def _answer(response: requests.Response) -> Any:
    response.raise_for_status()
    return response.json()


def _is_oauth(integration: Stored) -> bool:
    proof = integration.properties.get("REST_AUTHENTICATION")
    return isinstance(proof, Mapping) and str(proof.get("TYPE")).upper() == "OAUTH"


def _mapping(given: Properties, name: str) -> Mapping[str, Any]:
    value = given[name]
    if not isinstance(value, Mapping):
        raise syntax_error(f"{name} needs ( NAME = value ... ).")
    return value


def _need(given: Mapping[str, Any], names: tuple[str, ...]) -> None:
    if lacking := [name for name in names if name not in given]:
        raise syntax_error(f"CREATE CATALOG INTEGRATION needs {', '.join(lacking)}.")


def _plain(value: Value) -> str:
    if isinstance(value, Mapping):
        parts = (f"{name}={_plain(inner)}" for name, inner in value.items() if name not in _NEVER_TOLD)
        return f"{{{', '.join(parts)}}}"
    return value if isinstance(value, str) else f"[{', '.join(map(_plain, value))}]"
