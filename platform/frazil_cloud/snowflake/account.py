"""Roles, the warehouse, the database and the schema of a deployment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from frazil.quoting import double_quoted
from frazil_cloud.resource import Facts, Known
from frazil_cloud.snowflake.ownership import OBJECTS, USERS, Marked


@dataclass(frozen=True)
class Role(Marked):
    """A role."""

    kind: ClassVar[str] = "ROLE"
    role: ClassVar[str] = USERS


@dataclass(frozen=True)
class Database(Marked):
    """A database; what is in it goes with it."""

    kind: ClassVar[str] = "DATABASE"
    role: ClassVar[str] = OBJECTS


@dataclass(frozen=True)
class Schema(Marked):
    """A schema of the database; what is in it goes with it."""

    kind: ClassVar[str] = "SCHEMA"
    role: ClassVar[str] = OBJECTS


@dataclass(frozen=True)
class Warehouse(Marked):
    """The machines that run queries.

    Args:
        auto_suspend: Seconds without a query until they stop.
    """

    size: str = "XSMALL"
    auto_suspend: int = 60

    kind: ClassVar[str] = "WAREHOUSE"
    role: ClassVar[str] = OBJECTS

    def wanted(self, known: Known) -> Facts:
        """See `Resource`."""
        return {**super().wanted(known), "size": self.size, "auto_suspend": self.auto_suspend}

    def facts(self, row: dict[str, Any]) -> Facts:
        """See `Marked`."""
        size = str(row["size"]).upper().replace("-", "")  # shown as X-Small
        return {"size": size, "auto_suspend": int(row["auto_suspend"] or 0)}

    def options(self, known: Known) -> str:
        """See `Marked`."""
        return f"{super().options(known)} {self._sizes} AUTO_RESUME = TRUE INITIALLY_SUSPENDED = TRUE"

    def update(self, there: Facts, known: Known) -> None:
        """See `Resource`."""
        self.say(f"ALTER WAREHOUSE {double_quoted(*self.name)} SET {self._sizes}")

    @property
    def _sizes(self) -> str:
        return f"WAREHOUSE_SIZE = {self.size} AUTO_SUSPEND = {self.auto_suspend}"
