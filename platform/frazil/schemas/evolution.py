"""Verdicts on schema changes: what a table may take by itself, and what stops it.

Rules: reference of Confluent's `IcebergComparison`, by field name on purpose (a rename is a drop and
an add). More generous in one thing: a field that became required stays optional in the table.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal

from frazil.schemas.logical import Decimal, Field, Primitive, Struct, Type, same_type

__all__ = ["Verdict", "verdicts"]

_WIDER = {(Primitive("int"), Primitive("long")), (Primitive("float"), Primitive("double"))}


@dataclass(frozen=True, slots=True)
class Verdict:
    """One change of one field, and whether the table may take it."""

    field: str
    change: Literal["add", "widen", "relax", "drop", "retype"]
    allowed: bool
    rule: str
    wanted: Field | None = None

    def __str__(self) -> str:
        return f"{self.field}: {self.rule}"


def verdicts(table: Struct, wanted: Iterable[Field], own: Collection[str]) -> list[Verdict]:
    """What must change so that the table can hold the wanted fields.

    Args:
        table: The table's columns.
        wanted: The columns that the registry's newest schema asks for.
        own: Columns of Frazil's own (key, metadata), which the registry knows nothing of.

    Returns:
        One verdict per change, none where nothing changed.
    """
    wanted = list(wanted)
    kept = {f.name for f in wanted}
    found = [v for f in wanted for v in _field(table.get(f.name), f)]
    gone = [f.name for f in table if f.name not in kept and f.name not in own]
    return found + [Verdict(n, "drop", False, "a field that rows hold can't be dropped") for n in gone]


def _field(have: Field | None, wanted: Field) -> list[Verdict]:
    name = wanted.name
    if have is None:
        rule = "a new optional field is added" if wanted.optional else (
            "a new required field would have no value in the rows that are there"
        )  # fmt: skip
        return [Verdict(name, "add", wanted.optional, rule, wanted)]
    found = []
    if not same_type(have.type, wanted.type):
        found.append(_type(name, have.type, wanted))
    if wanted.optional and not have.optional:
        found.append(Verdict(name, "relax", True, "a required field becomes optional", wanted))
    return found


def _type(name: str, have: Type, wanted: Field) -> Verdict:
    if _holds(wanted.type, have):
        return Verdict(name, "widen", True, "the table's type is wider already")
    if _holds(have, wanted.type):
        return Verdict(name, "widen", True, f"widened to {wanted.type}", wanted)
    return Verdict(name, "retype", False, f"{have} can't become {wanted.type} without loss")


def _holds(narrow: Type, wide: Type) -> bool:
    if isinstance(narrow, Decimal) and isinstance(wide, Decimal):
        return narrow.scale == wide.scale and narrow.precision <= wide.precision
    return (narrow, wide) in _WIDER
