"""Verdicts on schema changes: what a table may take by itself, and what stops it.

Rules: Confluent's `IcebergComparison`, by field name on purpose (a rename is a drop and an add). Where
Frazil is more generous, and why nothing is lost by it: docs/evolution.md.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from frazil.formats.logical import Decimal, Field, List, Map, Primitive, Struct, Type, same_type
from frazil.formats.verdicts import Verdict, Where

__all__ = ["verdicts"]

_WIDER = {(Primitive("int"), Primitive("long")), (Primitive("float"), Primitive("double"))}
_STAMPS = (Primitive("timestamp"), Primitive("timestamptz"))


def verdicts(table: Struct, wanted: Iterable[Field], own: Collection[str]) -> list[Verdict]:
    """What must change so that the table can hold the wanted fields.

    Args:
        table: The table's columns.
        wanted: The columns that the newest schemas ask for.
        own: Columns of Frazil's own, by path, which no schema knows: metadata, retired columns.

    Returns:
        One verdict per change, none where nothing changed. Changes that leave the table as it is are
        among them.
    """
    return list(_struct(table, Struct(tuple(wanted)), Where(), own))


def _struct(have: Struct, wanted: Struct, at: Where, own: Collection[str]) -> Iterator[Verdict]:
    gone = [f for f in have if not wanted.get(f.name) and at.field(f.name).dotted not in own]
    for field in wanted:
        known = have.get(field.name)
        where = at.field(field.name)
        yield from _field(known, field, where, own) if known else [_added(field, where)]
    added = [f for f in wanted if not have.get(f.name)]
    for field in gone:
        yield _dropped(field, at.field(field.name), added)
    order = [f.name for f in have if wanted.get(f.name)]
    if order != [f.name for f in wanted if have.get(f.name)]:
        yield Verdict(at, "reorder", True, "fields are found by name and id, so the table keeps its order")


def _added(field: Field, where: Where) -> Verdict:
    if field.optional and not field.demanded:
        return Verdict(where, "add", True, "a new optional field is added", wanted=field)
    if field.defaulted:
        rule = "a new field that reads as zero or empty where it is missing is added as optional"
        return Verdict(where, "add", True, rule, wanted=field)
    rule = "a new required field would have no value in the rows that are there"
    return Verdict(where, "add", False, rule, f"Make {where.said} optional in the schema.")


def _dropped(field: Field, where: Where, added: Iterable[Field]) -> Verdict:
    path = where.dotted
    approval = f"`- {{id: drop-{path}, drop: {{column: {path}}}}}`"
    if name := next((f.name for f in added if same_type(f.type, field.type)), None):
        rename = f"- {{id: {path}-to-{name}, rename: {{from: {path}, to: {name}}}}}"
        approval += f" or, if {name} is its new name, `{rename}`"
    rule = "a field that rows hold can't be dropped"
    todo = f"Keep {where.said} in the schema, or approve under migrations: {approval}."
    return Verdict(where, "drop", False, rule, todo)


def _field(have: Field, wanted: Field, where: Where, own: Collection[str]) -> Iterator[Verdict]:
    yield from _type(have.type, wanted, where, own)
    if wanted.optional and not have.optional:
        yield Verdict(where, "relax", True, "a required field becomes optional", wanted=wanted)
    elif have.optional and not wanted.optional:
        yield Verdict(where, "tighten", True, "it stays optional in the table: rows may hold nulls")


def _type(have: Type, wanted: Field, where: Where, own: Collection[str]) -> Iterator[Verdict]:
    match have, wanted.type:
        case Struct(), Struct() as other:
            yield from _struct(have, other, where, own)
        case List(), List() as other:
            element = Field("element", have.element, have.element_optional)
            asked = Field("element", other.element, other.element_optional)
            yield from _field(element, asked, where.part("element"), own)
        case Map(), Map() as other:
            if not same_type(have.key, other.key):
                yield _retyped(have.key, other.key, where.part("key"), "keys of maps never change")
            value = Field("value", have.value, have.value_optional)
            asked = Field("value", other.value, other.value_optional)
            yield from _field(value, asked, where.part("value"), own)
        case _ if not same_type(have, wanted.type):
            yield _primitive(have, wanted, where)


def _primitive(have: Type, wanted: Field, where: Where) -> Verdict:
    if _holds(wanted.type, have):
        return Verdict(where, "widen", True, "the table's type is wider already")
    if _holds(have, wanted.type):
        return Verdict(where, "widen", True, f"{have} becomes {wanted.type}", wanted=wanted)
    return _retyped(have, wanted.type, where, _why(have, wanted.type))


def _retyped(have: Type, wanted: Type, where: Where, why: str) -> Verdict:
    todo = f"Give {where.said} the type {have} again"
    if isinstance(wanted, Primitive | Decimal) and not where.said.endswith(("]", "}")):
        path = where.dotted
        approval = f'- {{id: retype-{path}, retype: {{column: {path}, to: "{wanted}"}}}}'
        todo += f", or approve under migrations: `{approval}`"
    return Verdict(where, "retype", False, f"{have} can't become {wanted}: {why}", todo + ".")


def _why(have: Type, wanted: Type) -> str:
    if isinstance(have, Decimal) and isinstance(wanted, Decimal) and have.scale != wanted.scale:
        return "values of one scale are not those of another"
    if have == Primitive("date") and wanted in _STAMPS:
        return "Iceberg v3 would allow it, no engine does"
    if isinstance(have, Primitive | Decimal) and isinstance(wanted, Primitive | Decimal):
        return "not every value survives, or no reader converts the old files"
    return "a column is of one kind for ever"


def _holds(narrow: Type, wide: Type) -> bool:
    if isinstance(narrow, Decimal) and isinstance(wide, Decimal):
        return narrow.scale == wide.scale and narrow.precision <= wide.precision
    return (narrow, wide) in _WIDER
