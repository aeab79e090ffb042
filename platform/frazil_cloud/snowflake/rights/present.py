"""What SHOW GRANTS tells, as the statements that give and take it.

Its words are not always those of GRANT: see terraform-provider-snowflake, `pkg/sdk/grants.go` and
`grants_validations.go`. What GRANT has no word for, or a word that needs more than a name, is not revoked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from frazil.quoting import double_quoted, parts_of

_MEANT: Mapping[str, str] = {
    "VOLUME": "EXTERNAL VOLUME",
    "ICEBERG TABLE": "TABLE",
    "MODULE": "MODEL",
    "CORTEX AGENT": "AGENT",
    "CORTEX AGENT SERVER": "MCP SERVER",
    "QUALITY MONITOR": "MODEL MONITOR",
}
"""What SHOW GRANTS calls a kind, and what GRANT does. From bundle 2026_06 (BCR-2371) each kind of integration
has a word of its own, which GRANT does not know."""
_ROLES = ("ROLE", "DATABASE ROLE")
_WRITTEN = frozenset(
    {
        *_ROLES, "ACCOUNT", "SCHEMA", "USER", "RESOURCE MONITOR", "WAREHOUSE", "COMPUTE POOL", "DATABASE",
        "INTEGRATION", "CONNECTION", "FAILOVER GROUP", "REPLICATION GROUP", "EXTERNAL VOLUME", "AGENT",
        "AGGREGATION POLICY", "ALERT", "AUTHENTICATION POLICY", "CORTEX SEARCH SERVICE", "DATASET",
        "DYNAMIC TABLE", "EVENT TABLE", "EXTERNAL TABLE", "FILE FORMAT", "GIT REPOSITORY", "HYBRID TABLE",
        "IMAGE REPOSITORY", "MASKING POLICY", "MATERIALIZED VIEW", "MCP SERVER", "MODEL", "MODEL MONITOR",
        "NETWORK RULE", "NOTEBOOK", "PACKAGES POLICY", "PASSWORD POLICY", "PIPE", "PROJECTION POLICY",
        "ROW ACCESS POLICY", "SECRET", "SEMANTIC VIEW", "SERVICE", "SESSION POLICY", "SEQUENCE", "STAGE",
        "STREAM", "STREAMLIT", "TABLE", "TAG", "TASK", "VIEW",
    }
)  # fmt: skip
"""Kinds that GRANT and REVOKE name by a name alone; functions need their arguments, too."""
_FUTURE = "FUTURE "


@dataclass(frozen=True)
class Grant:
    """A privilege on an object; a role that is granted is the privilege USAGE on it."""

    privilege: str
    kind: str
    name: tuple[str, ...]

    @property
    def what(self) -> str:
        """As GRANT and REVOKE say it."""
        if self.kind in _ROLES:
            return f"{self.kind} {double_quoted(*self.name)}"
        if self.kind == "ACCOUNT":
            return f"{self.privilege} ON ACCOUNT"
        return f"{self.privilege} ON {self.kind} {double_quoted(*self.name)}"

    @property
    def is_written(self) -> bool:
        """Whether its statement can be written from what SHOW GRANTS tells."""
        return self.kind in _WRITTEN or self.kind.startswith(_FUTURE)


@dataclass(frozen=True)
class PresentGrant:
    """A grant as somebody has it: perhaps with the right to pass it on, or by a grant on what it is in."""

    grant: Grant
    passes_on: bool = False
    is_inherited: bool = False


def present_grant(row: Mapping[str, Any]) -> PresentGrant:
    """A row of SHOW GRANTS TO: a role that a user has, or a privilege; each has its columns (BCR-1803)."""
    return PresentGrant(_grant_of(row), _says_yes(row, "grant_option"), _says_yes(row, "is_inherited"))


def future_of(row: Mapping[str, Any]) -> PresentGrant:
    """A row of SHOW FUTURE GRANTS TO, whose name ends in the kind: `LAKE.SHOP.<TABLE>`."""
    kind = _MEANT.get(word := _words(row["grant_on"]), word)
    inside = parts_of(str(row["name"]).rpartition(".<")[0])
    place = "SCHEMA" if inside[1:] else "DATABASE"
    grant = Grant(str(row["privilege"]), f"{_FUTURE}{_plural(kind)} IN {place}", inside)
    return PresentGrant(grant, _says_yes(row, "grant_option"))


def unquoted(name: str) -> str:
    """A name of one part, which may have dots in it."""
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


def _grant_of(row: Mapping[str, Any]) -> Grant:
    if role := row.get("role"):
        return Grant("USAGE", "ROLE", parts_of(str(role)))
    word, name = _words(row["granted_on"]), parts_of(str(row["name"]))
    kind = "INTEGRATION" if word.endswith(" INTEGRATION") else _MEANT.get(word, word)
    privilege = str(row["privilege"])
    if (privilege, kind, name) == ("USAGE", "DATABASE", ("SNOWFLAKE",)):
        privilege = "IMPORTED PRIVILEGES"  # an imported database has no other
    return Grant(privilege, kind, name)


def _words(kind: Any) -> str:
    return str(kind).replace("_", " ")


def _plural(kind: str) -> str:
    return f"{kind[:-1]}IES" if kind.endswith("Y") else f"{kind}S"


def _says_yes(row: Mapping[str, Any], column: str) -> bool:
    return str(row.get(column) or "").lower() in ("true", "y", "yes")
