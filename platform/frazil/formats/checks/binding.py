"""Expressions and their columns: each name is found, and each type fits, before a record comes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches

from frazil.errors import SpecError
from frazil.expressions.parsing import read_expression
from frazil.expressions.tree import Call, Column, Expression, Node
from frazil.formats.columns.columns import kafka_metadata_columns, metadata_names
from frazil.formats.logical import Field, Primitive, Struct
from frazil.formats.types import arrow_type
from frazil.quoting import in_filter
from frazil.spec.checks import OwnCheck
from frazil.spec.topic import TableSpec


def bound_where(text: str, fields: Sequence[Field], topic: str) -> Expression:
    """A filter over the records of a topic.

    Raises:
        SpecError: It names a column that is not there, or is not true or false.
    """
    try:
        return bound(read_expression(text), fields)
    except ValueError as e:
        raise _refusal(f"where: {text!r} is no filter over records of {topic}: {e}.", fields) from None


def bound_checks(
    checks: Iterable[OwnCheck], fields: Sequence[Field], topic: str
) -> tuple[tuple[OwnCheck, Expression], ...]:
    """Each check of a topic's table with its expression; raises as `bound_where` does."""
    usable = []
    for check in checks:
        try:
            usable.append((check, bound(check.expression, fields)))
        except ValueError as e:
            what = f"checks: {check.name}: {check.expect!r} can't be asked of rows of {topic}: {e}."
            raise _refusal(what, fields) from None
    return tuple(usable)


def refuse_unknown(spec: TableSpec, fields: Sequence[Field] | None, place: str) -> None:
    """Refuses checks and filters of a spec whose schemas are files; of others a landing does so.

    Raises:
        SpecError: It says where the table is written.
    """
    if fields is None:
        return
    names = metadata_names(spec)
    own = [f for f in fields if f.name not in names]
    try:
        bound_checks(spec.checks, [*own, *kafka_metadata_columns(spec).values()], spec.topic)
        if spec.where and not spec.masks:
            bound_where(spec.where, own, spec.topic)
    except SpecError as e:
        raise SpecError(f"{place}: {e.what}", where=e.where, todo=e.todo) from None


def bound(of: Expression, fields: Sequence[Field]) -> Expression:
    """The expression over columns by the paths that they have; raises ValueError where one does not fit."""
    known = Struct(tuple(fields))
    aggregates = tuple(
        replace(each, of=_placed(each.of, known) if each.of else None) for each in of.aggregates
    )
    root = of.root if of.aggregates else _placed(of.root, known)
    expression = replace(of, root=root, aggregates=aggregates)
    _try_types(expression, fields)
    return expression


def _placed(node: Node, known: Struct) -> Node:
    if isinstance(node, Column):
        return Column(_path(node.path, known))
    return (
        replace(node, of=tuple(_placed(part, known) for part in node.of)) if isinstance(node, Call) else node
    )


def _path(written: Sequence[str], known: Struct) -> tuple[str, ...]:
    """The names on the way to a column; one that stands in quotes as a whole may be a path, too."""
    parts = [*written]
    path: list[str] = []
    kind: object = known
    while parts:
        if not isinstance(kind, Struct):
            raise ValueError(f"{'.'.join(path)} is {kind}, and has no field {parts[0]}")
        name, rest = _first(parts, kind)
        member = kind.get(name)
        if member is None:
            raise ValueError(f"there is no column {'.'.join(written)}{_nearest(name, kind)}")
        path.append(name)
        kind, parts = member.type, rest
    return tuple(path)


def _first(parts: Sequence[str], kind: Struct) -> tuple[str, list[str]]:
    head, *rest = parts
    inner = (f.name for f in kind if head.startswith(f"{f.name}."))
    if kind.get(head) is None and (outer := next(inner, "")):
        return outer, [head[len(outer) + 1 :], *rest]
    return head, rest


def _nearest(name: str, kind: Struct) -> str:
    known = {f.name.lower(): f.name for f in kind}
    near = get_close_matches(name.lower(), known, n=1)
    return f"; did you mean {in_filter(known[near[0]])}?" if near else ""


def _try_types(of: Expression, fields: Sequence[Field]) -> None:
    """Computes it of one row of nulls: Arrow says then what it would say of any."""
    import pyarrow as pa

    from frazil.expressions.aggregates import finished, partial
    from frazil.expressions.arrow import Rows

    used = {path[0] for path in of.columns}
    rows = Rows({f.name: pa.nulls(1, arrow_type(f.type)) for f in fields if f.name in used}, 1, 0)
    try:
        if of.aggregates:
            rows = Rows(finished(of.aggregates, partial(of.aggregates, rows)), 1, 0)
        rows.flags(of.root)
    except (pa.ArrowException, TypeError, ArithmeticError) as e:
        raise ValueError(f"its types do not fit: {e}".rstrip(".")) from None


def table_fields_of(decoded: Iterable[Field], table: Mapping[str, Field]) -> tuple[Field, ...]:
    """The decoded fields that the table has columns for, and whose values these hold as they are."""
    text = Primitive("string")
    return tuple(
        own for own in decoded if own.name in table and (table[own.name].type != text or own.type == text)
    )


def _refusal(what: str, fields: Sequence[Field]) -> SpecError:
    columns = ", ".join(in_filter(f.name) for f in fields)
    return SpecError(
        what,
        where=f"columns: {columns}",
        meaning="Nothing was written.",
        todo="Fix it in defs.yaml (docs/checks.md).",
    )
