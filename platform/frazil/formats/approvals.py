"""Does an approved migration fit: the table as it is, and the newest schemas as they are?"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from frazil.errors import ConfigureError
from frazil.formats.evolution import verdicts
from frazil.formats.logical import Field, List, Map, Struct, Type
from frazil.formats.verdicts import refused
from frazil.spec.migrations import Migration

__all__ = ["Standing", "find", "standing", "target"]

Standing = Literal["due", "waits", "settled"]
"""Due: the schemas ask for it now. Waits: not yet. Settled: the table is so already."""


def find(kind: Type, dotted: str) -> Field | None:
    """The field of a path such as `orders.element.price`, or None."""
    match kind:
        case Struct():
            head, _, rest = dotted.partition(".")
            inner = kind.get(head)
            return kind.get(dotted) or (find(inner.type, rest) if inner and rest else None)
        case List() if dotted.startswith("element."):
            return find(kind.element, dotted.removeprefix("element."))
        case Map() if dotted.startswith("value."):
            return find(kind.value, dotted.removeprefix("value."))
    return None


def target(migration: Migration) -> str:
    """The path that the column has afterwards."""
    parent, dot, name = migration.column.rpartition(".")
    return f"{parent}{dot}{migration.rename.to if migration.rename else name}"


def standing(
    migration: Migration,
    table: Struct,
    wanted: Struct,
    *,
    later: Collection[str] = (),
    coming: Collection[str] = (),
) -> Standing:
    """What is to be done about a migration that the table is not through with.

    Args:
        migration: The migration.
        table: The table's columns.
        wanted: The columns that the newest schemas ask for.
        later: Columns that later migrations speak of: a name in a chain of renames.
        coming: Columns that earlier migrations will make, once they are due.

    Raises:
        ConfigureError: It fits neither the table nor the schemas.
    """
    have, asked = find(table, migration.column), find(wanted, migration.column)
    if have is None:
        return _without(migration, table, asked, coming)
    if migration.retype:
        return _retype(migration, migration.retype.to, have, asked) if asked else "waits"
    if asked is not None:
        return "waits"
    return _rename(migration, table, wanted, later) if migration.rename else "due"


def _without(migration: Migration, table: Struct, asked: Field | None, coming: Collection[str]) -> Standing:
    if migration.rename and find(table, target(migration)):
        return "settled"
    if asked is not None or migration.column in coming:
        return "waits"
    raise _misfit(migration, f"neither the table nor the newest schema has {migration.column}")


def _rename(migration: Migration, table: Struct, wanted: Struct, later: Collection[str]) -> Standing:
    to = target(migration)
    if find(table, to):
        raise _misfit(migration, f"the table has {migration.column} and {to}")
    if find(wanted, to) is None and to not in later:
        raise _misfit(migration, f"the newest schema has neither {migration.column} nor {to}")
    return "due"


def _retype(migration: Migration, to: str, have: Field, asked: Field) -> Standing:
    if not refused(verdicts(Struct((have,)), [asked], ())):
        return "settled" if str(have.type) == to else "waits"
    if str(asked.type) != to:
        raise _misfit(migration, f"the newest schema has {migration.column} as {asked.type}")
    return "due"


def _misfit(migration: Migration, why: str) -> ConfigureError:
    return ConfigureError(
        f"Migration {migration.id} does not fit: {why}.",
        where=f"migrations: {migration}",
        meaning="Nothing was landed; the table and its position are as they were.",
        todo="Mend it in defs.yaml, or take it out.",
    )
