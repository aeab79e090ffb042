"""Verdicts on schema changes: what a table may take by itself, what stops it, and what was approved.

Rules: Confluent's `IcebergComparison`, by field name on purpose (a rename is a drop and an add). Where
Frazil is more generous, and why nothing is lost by it: docs/evolution.md.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from frazil.errors import ConfigureError
from frazil.formats.columns.renames import renamed_path
from frazil.formats.logical import (
    ROOT,
    Decimal,
    Field,
    List,
    Map,
    Primitive,
    Struct,
    Type,
    Where,
    branch_name,
    find,
    same_type,
    wider,
)
from frazil.quoting import in_yaml, quoted
from frazil.spec.migrations import Migration, dropping, renaming, retyping

Change = Literal[
    "add",
    "widen",
    "relax",
    "tighten",
    "reorder",
    "drop",
    "retype",
    "rename",
    "unmappable",
    "mask",
    "path",
]

Standing = Literal["due", "waits", "settled"]
"""How a migration stands. Due: the schemas ask for it. Waits: they do not yet. Settled: the table has it."""

_STAMPS = (Primitive("timestamp"), Primitive("timestamptz"))


@dataclass(frozen=True, slots=True)
class Verdict:
    """One change of one field: whether the table takes it by itself, by which rule, and what to do.

    `wanted` is what the table must hold there; None where it stays as it is.
    """

    where: Where
    change: Change
    allowed: bool
    rule: str
    todo: str = ""
    wanted: Field | None = None

    @property
    def field(self) -> str:
        """The field's path, for people."""
        return self.where.text

    @property
    def outcome(self) -> Literal["refused", "applied", "no change"]:
        """What the next landing does about it."""
        if not self.allowed:
            return "refused"
        return "no change" if self.wanted is None else "applied"

    def __str__(self) -> str:
        return f"{self.field}: {self.rule}"

    def document(self) -> dict[str, Any]:
        """For scripts."""
        return {name: getattr(self, name) for name in ("field", "change", "outcome", "rule", "todo")}


def refused(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """The verdicts that stop the table."""
    return [v for v in verdicts if not v.allowed]


def branch_renames(have: Type, wanted: Type, at: Where = ROOT) -> Iterator[tuple[Where, str]]:
    """Branches of unions that a table has by names with dots or dashes, and their names by `branch_name`.

    They keep their ids, and with them their rows.
    """
    known, asked = ({f.name: f for f in kind.fields} for kind in (have, wanted))
    is_union = isinstance(have, Struct) and at != ROOT and all(f.optional for f in asked.values())
    for field in have.fields:
        name = branch_name(field.name) if is_union and field.name not in asked else field.name
        if name not in asked:
            continue
        if name != field.name:
            if name in known:
                continue
            yield at.within(have, field.name), name
        yield from branch_renames(field.type, asked[name].type, at.within(have, field.name))


def verdicts(table: Struct, wanted: Iterable[Field], own: Collection[str]) -> list[Verdict]:
    """What must change so that the table can hold the fields that the newest schemas ask for.

    One verdict per change, also where the table stays as it is. `own` are Frazil's own columns by path,
    which no schema knows: metadata, retired columns.
    """
    return list(_struct(table, Struct(tuple(wanted)), Where(), own))


def _struct(have: Struct, wanted: Struct, at: Where, own: Collection[str]) -> Iterator[Verdict]:
    known, asked = ({f.name: f for f in struct} for struct in (have, wanted))
    gone = [f for f in have if f.name not in asked and at.within(have, f.name).dotted not in own]
    for field in wanted:
        where = at.within(have, field.name)
        mine = known.get(field.name)
        yield from _field(mine, field, where, own) if mine else [_added(field, where)]
    added = [f for f in wanted if f.name not in known]
    for field in gone:
        yield _dropped(field, at.within(have, field.name), added)
    if [name for name in known if name in asked] != [name for name in asked if name in known]:
        yield Verdict(at, "reorder", True, "fields are found by name and id, so the table keeps its order")


def _added(field: Field, where: Where) -> Verdict:
    if field.optional and not field.demanded:
        return Verdict(where, "add", True, "a new optional field is added", wanted=field)
    if field.defaulted:
        rule = "a new field that reads as zero or empty where it is missing is added as optional"
        return Verdict(where, "add", True, rule, wanted=field)
    rule = "a new required field would have no value in the rows that are there"
    todo = (
        f"Make {where.text} optional in the schema; in Avro with a default, by which older records that "
        f"wait are read, too. Or in the table alone: `columns: {{{in_yaml(field.name)}: optional}}` in "
        "defs.yaml."
        if len(where.path) == 1  # `columns` names no other ones
        else f"Make {where.text} optional in the schema."
    )
    return Verdict(where, "add", False, rule, todo)


def _dropped(field: Field, where: Where, added: Iterable[Field]) -> Verdict:
    path = where.dotted
    approval = f"`{dropping(path)}`"
    if name := next((f.name for f in added if same_type(f.type, field.type)), None):
        approval += f" or, if {name} is its new name, `{renaming(path, name)}`"
    rule = "a field that rows hold can't be dropped, and the newest schema does not have it"
    todo = (
        f"Keep {where.text} in the schema, or approve under migrations: {approval}. If another engine added "
        f"it to the table, drop it there: ALTER TABLE ... DROP COLUMN {quoted(*where.path)}."
    )
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
        case (List(), List() as other) | (Map(), Map() as other):
            *keys, (value, asked) = zip(have.fields, other.fields, strict=True)
            for key, key_asked in keys:
                if not same_type(key.type, key_asked.type):
                    at = where.within(have, "key")
                    yield _retyped(key.type, key_asked.type, at, "keys of maps never change")
            yield from _field(value, asked, where.within(have, value.name), own)
        case _ if not same_type(have, wanted.type):
            yield _primitive(have, wanted, where)


def _primitive(have: Type, wanted: Field, where: Where) -> Verdict:
    match wider(have, wanted.type):
        case None:
            return _retyped(have, wanted.type, where, _why(have, wanted.type))
        case kind if kind == have:
            return Verdict(where, "widen", True, "the table's type is wider already")
    return Verdict(where, "widen", True, f"{have} becomes {wanted.type}", wanted=wanted)


def _retyped(have: Type, wanted: Type, where: Where, why: str) -> Verdict:
    todo = f"Give {where.text} the type {have} again"
    if isinstance(wanted, Primitive | Decimal) and not where.text.endswith(("]", "}")):
        approval = retyping(where.dotted, str(wanted))
        new = f"older rows are null in the new column, and keep their values in one such as {where.text}__v1"
        todo += f", or approve under migrations: `{approval}`; {new}" if approval else ""
    return Verdict(where, "retype", False, f"{have} can't become {wanted}: {why}", todo + ".")


def _why(have: Type, wanted: Type) -> str:
    if isinstance(have, Decimal) and isinstance(wanted, Decimal) and have.scale != wanted.scale:
        return "values of one scale are not those of another"
    if have == Primitive("date") and wanted in _STAMPS:
        return "Iceberg v3 would allow it, no engine does"
    if isinstance(have, Primitive | Decimal) and isinstance(wanted, Primitive | Decimal):
        return "not every value survives, or no reader converts the old files"
    return "a column is of one kind forever"


def target(migration: Migration) -> str:
    """The path that the column has afterwards."""
    return renamed_path(migration.column, migration.rename.to) if migration.rename else migration.column


def standing(
    migration: Migration,
    table: Struct,
    wanted: Struct,
    *,
    later: Collection[str] = (),
    coming: Collection[str] = (),
) -> Standing:
    """What to do about a migration that was not applied yet, by the columns that are there and wanted.

    `later` are columns that later migrations name, as in a chain of renames; `coming` are columns that
    earlier ones will make, once they are due. Raises ConfigureError where it fits neither table nor schemas.
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
    raise _no_fit(migration, f"neither the table nor the newest schema has {migration.column}")


def _rename(migration: Migration, table: Struct, wanted: Struct, later: Collection[str]) -> Standing:
    to = target(migration)
    if find(table, to):
        raise _no_fit(migration, f"the table has {migration.column} and {to}")
    if find(wanted, to) is None and to not in later:
        raise _no_fit(migration, f"the newest schema has neither {migration.column} nor {to}")
    return "due"


def _retype(migration: Migration, to: str, have: Field, asked: Field) -> Standing:
    if not refused(verdicts(Struct((have,)), [asked], ())):
        return "settled" if str(have.type) == to else "waits"
    if str(asked.type) != to:
        raise _no_fit(migration, f"the newest schema has {migration.column} as {asked.type}")
    return "due"


def _no_fit(migration: Migration, why: str) -> ConfigureError:
    return ConfigureError(
        f"Migration {migration.id} does not fit: {why}.",
        where=f"migrations: {migration}",
        meaning="Nothing was landed; the table and its position are as they were.",
        todo="Fix it in defs.yaml, or take it out.",
    )
