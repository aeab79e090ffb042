"""A target: a place in which other engines find a table. Each one has a module; `targets.py` lists them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Protocol

from frazil.connections import Connections
from frazil.publishing.columns import Column
from frazil.publishing.labels import Labels
from frazil.settings.profile import Settings
from frazil.spec.names import AssetPath
from frazil.spec.table import AnyTable

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.types import IcebergType

Fact = int | str


@dataclass(frozen=True, slots=True)
class Maker:
    """Who else keeps a table in a target, and what people look at where that does not do it."""

    name: str
    todo: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Spent:
    """What publications took of a target that bills by the second.

    Args:
        statements: Those that it carried out.
        refreshes: Of them those that had it read newer metadata.
        warehouse_seconds: How long Frazil waited for those that need a warehouse.
    """

    statements: int = 0
    refreshes: int = 0
    warehouse_seconds: float = 0.0

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            self.statements + other.statements,
            self.refreshes + other.refreshes,
            self.warehouse_seconds + other.warehouse_seconds,
        )

    def __sub__(self, other: Spent) -> Spent:
        return Spent(
            self.statements - other.statements,
            self.refreshes - other.refreshes,
            self.warehouse_seconds - other.warehouse_seconds,
        )


@dataclass(frozen=True, slots=True)
class Shown:
    """A table as a target shows it."""

    path: AssetPath  # the asset that stands for it
    upstream: AssetPath  # the asset that it follows
    name: str  # what it is queried by
    metadata_location: str  # the metadata file that is shown
    changed: bool = False
    rows: int | None = None
    facts: Mapping[str, Fact] = field(default_factory=dict)
    # The metadata file that Frazil last put there; None where nobody else can put one there.
    put: str | None = None
    replaced: str = ""  # what another engine had put there until just now
    # The columns that the target lists by itself; None where it lists none, or nobody asked for them.
    columns: tuple[Column, ...] | None = None
    # Whether a note beside them says that they are those that Frazil put there with the metadata `put`.
    as_put: bool = False
    # What it tells people of the table; None where it has no room for that, or nobody asked.
    labels: Labels | None = None
    # Rights that those lack who should read it there, as people say them; None where nobody knows.
    lacks: tuple[str, ...] | None = ()
    # Columns that are masked otherwise than they should be, one sentence each.
    unmasked: tuple[str, ...] = ()
    account: str = ""  # of the cloud that the target is in, where its answer names it
    # When it read the table's metadata last, as it says itself; None where it does not, or nobody asked.
    refreshed: float | None = None
    # For how many seconds the newest snapshot had been there before it was shown now; None: it was before.
    waited: float | None = None
    # What that took; None where it bills by no second, or was only looked at.
    spent: Spent | None = field(default=None, compare=False)


class Target(Protocol):
    """One table in one target."""

    word: ClassVar[str]
    """What a spec says in `publish`."""

    check: ClassVar[str]
    """The name of the check that compares it with the Iceberg table."""

    icon: ClassVar[str]
    """A kind that Dagster has an icon for, which its asset has beside the word."""

    blocking: ClassVar[bool]
    """Whether what follows this target waits for that check."""

    maker: Maker | None
    """Who else keeps the table there; None where Frazil does."""

    def __init__(self, spec: AnyTable, settings: Settings) -> None: ...

    @property
    def path(self) -> AssetPath:
        """The key of its asset."""

    @property
    def upstream(self) -> AssetPath:
        """The key of the asset that it follows."""

    @property
    def about(self) -> str:
        """What materializing the asset does."""

    @property
    def relations(self) -> tuple[str, ...]:
        """What is queried there, by full names; the table first."""

    @property
    def page(self) -> str | None:
        """The address of the table in the target's own console; None for stand-ins and private links."""

    def column_type(self, kind: IcebergType) -> str:
        """A column's type as the target shows it."""

    def columns(self, table: Table) -> tuple[Column, ...] | None:
        """The columns that it should list by itself; None where readers take them from the metadata alone."""

    def labels(self) -> Labels:
        """What it should tell people of the table: what the spec says, as far as there is room."""

    def sync(self, connections: Connections) -> Shown:
        """Makes what is missing, and lets the target show the table's current metadata."""

    def read(self, connections: Connections) -> Shown | None:
        """What the target shows now; None where it does not know the table. Changes nothing."""

    def drop(self, connections: Connections) -> None:
        """Removes the table from the target, if it is there; the Iceberg table stays."""
