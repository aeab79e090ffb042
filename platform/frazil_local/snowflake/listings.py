"""SHOW: what the account holds, and who holds which privilege."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable

from frazil_local.snowflake.answers import Result, Row
from frazil_local.snowflake.knobs import Ways
from frazil_local.snowflake.language.statements import Show, ShowGrants
from frazil_local.snowflake.objects import GrantRow, Stored

_Column = Callable[[Stored], "str | None"]
_GRANTED = (
    "created_on", "privilege", "granted_on", "name",
    "granted_to", "grantee_name", "grant_option", "granted_by",
)  # fmt: skip
_BY = "ACCOUNTADMIN"
_FUTURE = "FUTURE "


def listed(statement: Show, objects: Iterable[Stored]) -> Result:
    """SHOW of one kind of object."""
    columns = _COLUMNS[statement.kind]
    fits = [o for o in objects if _like(o.name[-1], statement.like) and _within(o, statement)]
    rows: list[Row] = [tuple(column(o) for column in columns.values()) for o in fits]
    return Result(tuple(columns), tuple(rows))


def listed_grants(statement: ShowGrants, grants: Iterable[GrantRow], ways: Ways) -> Result:
    """SHOW GRANTS, each kind of it with its columns."""
    name = ".".join(statement.name)
    fits = [g for g in grants if (statement.kind, name) == _related(statement, g)]
    fits = [g for g in fits if g.on_kind.startswith(_FUTURE) == statement.future]
    if statement.relation == "OF":
        return _grants_of_role(fits)
    if statement.future:
        return _future_grants(fits)
    rows = [
        (
            g.created_on,
            g.privilege,
            _kind_shown(g, ways),
            g.on_name,
            g.to_kind,
            g.to_name,
            g.grant_option,
            _BY,
        )
        for g in fits
    ]
    if (statement.relation, statement.kind) == ("TO", "USER"):  # BCR-1803
        roles = [g.on_name if g.on_kind == "ROLE" else None for g in fits]
        with_roles = ((*row[:4], role, *row[4:]) for row, role in zip(rows, roles, strict=True))
        return Result((*_GRANTED[:4], "role", *_GRANTED[4:]), tuple(with_roles))
    return Result(_GRANTED, tuple(rows))


def _grants_of_role(grants: list[GrantRow]) -> Result:
    having = (g for g in grants if g.privilege != "OWNERSHIP")
    rows: list[Row] = [(g.created_on, g.on_name, g.to_kind, g.to_name, _BY) for g in having]
    return Result(("created_on", "role", "granted_to", "grantee_name", "granted_by"), tuple(rows))


def _future_grants(grants: list[GrantRow]) -> Result:
    rows: list[Row] = []
    for g in grants:
        plural = g.on_kind.removeprefix(_FUTURE).partition(" IN ")[0]
        kind = (f"{plural[:-3]}Y" if plural.endswith("IES") else plural[:-1]).replace(" ", "_")
        rows.append(
            (g.created_on, g.privilege, kind, f"{g.on_name}.<{kind}>", g.to_kind, g.to_name, g.grant_option)
        )
    columns = ("created_on", "privilege", "grant_on", "name", "grant_to", "grantee_name", "grant_option")
    return Result(columns, tuple(rows))


def _kind_shown(grant: GrantRow, ways: Ways) -> str:
    specific = (
        {"INTEGRATION": "CATALOG_INTEGRATION"} if ways.specific_kinds else {"EXTERNAL VOLUME": "VOLUME"}
    )
    return specific.get(grant.on_kind, grant.on_kind.replace(" ", "_"))


def table_information(table: Stored) -> str:
    """SYSTEM$GET_ICEBERG_TABLE_INFORMATION."""
    return json.dumps({"metadataLocation": table.text("METADATA_LOCATION"), "status": "success"})


def _related(statement: ShowGrants, grant: GrantRow) -> tuple[str, str]:
    if statement.relation == "TO":
        return grant.to_kind, grant.to_name
    return grant.on_kind, grant.on_name


def _like(name: str, pattern: str | None) -> bool:
    if pattern is None:
        return True
    expression = "".join({"%": ".*", "_": "."}.get(c, re.escape(c)) for c in pattern)
    return re.fullmatch(expression, name, re.IGNORECASE) is not None


def _within(stored: Stored, statement: Show) -> bool:
    scope = statement.scope
    if len(scope) == 1 and len(stored.name) > 1:
        return scope[0] in stored.name[:2]
    return stored.name[: len(scope)] == scope


def _property(name: str, default: str = "") -> _Column:
    return lambda stored: stored.text(name, default)


def _part(number: int) -> _Column:
    return lambda stored: stored.name[number]


def _constant(value: str | None) -> _Column:
    return lambda stored: value


def _refresh_status(table: Stored) -> str:
    """Of a table that refreshes itself; empty of others."""
    if table.text("AUTO_REFRESH").upper() != "TRUE":
        return ""
    return json.dumps({
        "executionState": table.text("REFRESH_STATE", "RUNNING"),
        "invalidExecutionStateReason": table.text("REASON") or None,
        "pendingSnapshotCount": 0,
        "lastSnapshotTime": None,
        "lastUpdatedTime": round(float(table.text("REFRESHED_ON", "0")) * 1000),
        "currentMetadataFile": table.text("METADATA_LOCATION"),
    })  # fmt: skip


def _has_key(stored: Stored) -> str:
    return str("RSA_PUBLIC_KEY" in stored.properties or "RSA_PUBLIC_KEY_2" in stored.properties).lower()


_BEGIN: dict[str, _Column] = {"created_on": lambda o: o.created_on, "name": _part(-1)}
_COMMENT: dict[str, _Column] = {"comment": _property("COMMENT")}
_OWNER: dict[str, _Column] = {"owner": _property("OWNER", "ACCOUNTADMIN")}
_INSIDE: dict[str, _Column] = {"database_name": _part(0), "schema_name": _part(1)}
_COLUMNS: dict[str, dict[str, _Column]] = {
    "DATABASE": {**_BEGIN, **_OWNER, **_COMMENT},
    "SCHEMA": {**_BEGIN, "database_name": _part(0), **_OWNER, **_COMMENT},
    "TABLE": {**_BEGIN, **_INSIDE, **_OWNER, **_COMMENT},
    "VIEW": {**_BEGIN, **_INSIDE, **_OWNER, **_COMMENT, "text": _property("TEXT")},
    "USER": {
        "name": _part(-1),
        "created_on": lambda o: o.created_on,
        "login_name": lambda o: o.text("LOGIN_NAME", o.plain_name),
        "disabled": lambda o: o.text("DISABLED", "false").lower(),
        "default_warehouse": _property("DEFAULT_WAREHOUSE"),
        "default_namespace": _property("DEFAULT_NAMESPACE"),
        "default_role": _property("DEFAULT_ROLE"),
        "has_rsa_public_key": _has_key,
        "type": _property("TYPE"),
        **_COMMENT,
    },
    "ROLE": {**_BEGIN, **_OWNER, **_COMMENT},
    "WAREHOUSE": {
        "name": _part(-1),
        "state": _constant("STARTED"),
        "type": _property("WAREHOUSE_TYPE", "STANDARD"),
        "size": _property("WAREHOUSE_SIZE", "X-Small"),
        "auto_suspend": _property("AUTO_SUSPEND", "600"),
        **_COMMENT,
    },
    "EXTERNAL VOLUME": {
        "name": _part(-1),
        "allow_writes": lambda o: o.text("ALLOW_WRITES", "true").lower(),
        **_COMMENT,
    },
    "CATALOG INTEGRATION": {
        "name": _part(-1),
        "type": _constant("CATALOG"),
        "category": _constant("CATALOG"),
        "enabled": lambda o: o.text("ENABLED").lower(),
        **_COMMENT,
        "created_on": lambda o: o.created_on,
    },
    "SECURITY INTEGRATION": {
        "name": _part(-1),
        "type": _property("TYPE"),
        "category": _constant("SECURITY"),
        "enabled": lambda o: o.text("ENABLED").lower(),
    },
    "TAG": {**_BEGIN, **_INSIDE, **_OWNER, **_COMMENT},
    "MASKING POLICY": {**_BEGIN, **_INSIDE, **_OWNER, **_COMMENT},
    "ICEBERG TABLE": {
        **_BEGIN,
        **_INSIDE,
        **_OWNER,
        "external_volume_name": _property("EXTERNAL_VOLUME"),
        "catalog_name": _property("CATALOG"),
        "iceberg_table_type": _constant("UNMANAGED"),
        "catalog_table_name": _property("CATALOG_TABLE_NAME"),
        "catalog_namespace": _property("CATALOG_NAMESPACE"),
        "can_write_metadata": _constant("N"),
        **_COMMENT,
        "owner_role_type": _constant("ROLE"),
        "auto_refresh_status": _refresh_status,
    },
}
