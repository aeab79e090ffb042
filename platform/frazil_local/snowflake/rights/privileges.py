"""Who holds which privilege: roles inherit, owners may do all, and the rest must have been granted."""

from __future__ import annotations

from frazil_local.snowflake.answers import Refused
from frazil_local.snowflake.language.statements import Grant, Name
from frazil_local.snowflake.objects import GrantRow, Objects, granted_as

SYSTEM_ROLES = (
    ("SYSADMIN", "ACCOUNTADMIN"),
    ("SECURITYADMIN", "ACCOUNTADMIN"),
    ("USERADMIN", "SECURITYADMIN"),
)
"""Each with the one that inherits it."""

_ALL = ("OWNERSHIP", "ALL", "ALL PRIVILEGES")


def insufficient(on: str) -> Refused:
    """A privilege is missing on something that may be seen."""
    return Refused(3001, "42501", f"SQL access control error:\nInsufficient privileges to operate on {on}.")


def hidden(name: str) -> Refused:
    """Nothing of that name is there, or a privilege is missing: Snowflake does not tell which."""
    return Refused(
        2003, "02000", f"SQL compilation error:\nObject '{name}' does not exist or not authorized."
    )


class Privileges:
    """The grants of an account, as a session's role has them."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def seed(self) -> None:
        """Grants Snowflake's own roles to each other."""
        for low, high in SYSTEM_ROLES:
            self._objects.grant(Grant(("USAGE",), "ROLE", (low,), "ROLE", high))

    def roles(self, role: str) -> set[str]:
        """A role, all that it inherits, and PUBLIC."""
        pairs = [
            (g.on_name, g.to_name)
            for g in self._objects.grants()
            if (g.on_kind, g.to_kind) == ("ROLE", "ROLE")
        ]
        roles: set[str] = set()
        added = {role, "PUBLIC"}
        while added:
            roles |= added
            added = {low for low, high in pairs if high in roles} - roles
        return roles

    def holds(self, role: str, kind: str, name: Name, *privileges: str) -> bool:
        """Whether a role holds one of these privileges on an object, or owns it."""
        wanted = (granted_as(kind), ".".join(name))
        return any(
            (g.on_kind, g.on_name) == wanted and g.privilege in (*privileges, *_ALL)
            for g in self._grants_to(role)
        )

    def sees(self, role: str, kind: str, name: Name) -> bool:
        """Whether a role holds any privilege on an object, as SHOW asks."""
        wanted = (granted_as(kind), ".".join(name))
        return any((g.on_kind, g.on_name) == wanted for g in self._grants_to(role))

    def manages_grants(self, role: str) -> bool:
        """Whether a role may grant what it does not own."""
        return "SECURITYADMIN" in self.roles(role) or self.holds(
            role, "ACCOUNT", ("ACCOUNT",), "MANAGE GRANTS"
        )

    def own(self, role: str, kind: str, name: Name) -> None:
        """Makes a role the owner of an object."""
        self._objects.grant(Grant(("OWNERSHIP",), granted_as(kind), name, "ROLE", role))

    def has_owner(self, kind: str, name: Name) -> bool:
        """Whether some role owns an object."""
        wanted = ("OWNERSHIP", granted_as(kind), ".".join(name))
        return any((g.privilege, g.on_kind, g.on_name) == wanted for g in self._objects.grants())

    def inherit(self, dropped: str, role: str) -> None:
        """Gives what a dropped role owned to the role that dropped it."""
        for g in self._objects.grants():
            if (g.privilege, g.to_kind, g.to_name) == ("OWNERSHIP", "ROLE", dropped):
                self.own(role, g.on_kind, tuple(g.on_name.split(".")))

    def _grants_to(self, role: str) -> list[GrantRow]:
        roles = self.roles(role)
        return [g for g in self._objects.grants() if g.to_kind == "ROLE" and g.to_name in roles]
