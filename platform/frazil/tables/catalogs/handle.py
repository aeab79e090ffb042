"""A table as a catalog names it: what loads it, or commits to it, takes one handle of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import stamina

from frazil.connections import Connections
from frazil.errors import NotYetError, RepairError
from frazil.quoting import in_shell, quoted
from frazil.spec.names import TableName, things, writable
from frazil.spec.table import AnyTable
from frazil.tables.catalogs.catalog import answers, is_lost

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

_PLACES = "write.py-location-provider.impl"


@dataclass(frozen=True, slots=True)
class TableHandle:
    """A table's name within a catalog, whether there is such a table or not.

    A handle keeps nothing of the table. A caller that needs its head loads it, and gets a `Table`: the head
    as it was then, whatever others commit. A commit loads it by itself (`tables.commits.commit`).
    """

    catalog: Catalog = field(repr=False)
    name: TableName

    @classmethod
    def of(cls, table: Table) -> TableHandle:
        """The handle of a table that is loaded."""
        return cls(table.catalog, name_of(table))

    def __str__(self) -> str:
        return str(self.name)

    @property
    def dead_letters(self) -> TableHandle:
        """The table of this one's bad records."""
        return TableHandle(self.catalog, self.name.dead_letters)

    def load(self) -> Table:
        """The table as it is now; raises NotYetError where there is none."""
        if table := self.load_or_none():
            return table
        raise _missing(self.name)

    def load_or_none(self) -> Table | None:
        """The table as it is now, or None where there is none. Asks again where the answer is lost."""
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

        try:
            for attempt in stamina.retry_context(on=is_lost, attempts=3, wait_initial=0.1, wait_max=1.0):
                with attempt:
                    return self._loaded()
        except (NoSuchTableError, NoSuchNamespaceError):
            pass
        return None

    def load_once(self) -> Table:
        """The same as `load`, for a caller that asks again by itself."""
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

        try:
            return self._loaded()
        except (NoSuchTableError, NoSuchNamespaceError):
            raise _missing(self.name) from None

    def _loaded(self) -> Table:
        with answers():
            return vouched(self.catalog.load_table(self.name.identifier))


def handle_of(spec: AnyTable, connections: Connections) -> TableHandle:
    """The table of a spec; `connections` are those of the spec."""
    return TableHandle(connections.catalog, things(spec, connections.settings).table)


def writable_handle(spec: AnyTable, connections: Connections) -> TableHandle:
    """The same of a table that Frazil may write to; raises ConfigureError where it is Tableflow's."""
    return TableHandle(connections.catalog, writable(spec, connections.settings))


def name_of(table: Table) -> TableName:
    """The name by which a table was loaded."""
    *namespace, name = table.name()
    return TableName(".".join(namespace), name)


def vouched(table: Table) -> Table:
    """The table, unless PyIceberg would run code that it names, at the next commit."""
    code = table.properties.get(_PLACES)
    if code is None:
        return table
    name = name_of(table)
    raise RepairError(
        f"{name} names code that says where its files go, and Frazil runs none that a table names.",
        where=f"property {_PLACES}: {code:.300}",
        meaning="What was published before stays; nothing is read or written.",
        todo=f"`ALTER TABLE {quoted(*name.identifier)} UNSET TBLPROPERTIES ('{_PLACES}')` in Spark; ask who "
        "set it.",
    )


def _missing(name: TableName) -> NotYetError:
    word = in_shell(str(name))
    return NotYetError(
        f"There is no table {name} in the catalog.",
        todo=f"`frazil land {word}`, or `frazil derive {word}`, makes it, if a pipeline names it.",
    )
