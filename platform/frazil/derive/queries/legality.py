"""What the query of each kind of table must not hold, if new rows alone are to be read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from frazil.derive.queries.fields import odd_fields
from frazil.derive.queries.functions import function_name, is_aggregate, is_chance, is_clock
from frazil.derive.queries.query import NOW, Mistake, Query, refusal
from frazil.derive.queries.scopes import nearest
from frazil.derive.queries.syntax import parameters_of, start_of
from frazil.derive.queries.totals import is_grouped, merge_of, unmergeable
from frazil.spec.derived import DerivedSpec

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["refuse_unfit", "unfit"]

_CLAUSES = {
    "distinct": "DISTINCT",
    "group": "GROUP BY",
    "having": "HAVING",
    "limit": "LIMIT",
    "offset": "OFFSET",
    "order": "ORDER BY",
    "sort": "SORT BY",
    "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY",
    "qualify": "QUALIFY",
}

_FULL = "kind: full may"


def refuse_unfit(query: Query, spec: DerivedSpec) -> None:
    """Refuses a query that its kind of table can't be made by.

    Raises:
        SpecError: Names every such part of the query with its place, and fields of the spec that do not fit.
    """
    mistakes = list(unfit(query, spec))
    merge = merge_of(query) if spec.kind in ("totals", "windows") and not mistakes else None
    fields = odd_fields(query, spec, query.columns, merge)
    if mistakes := [*mistakes, *((0, text) for text in fields)]:
        raise refusal(query, mistakes)


def unfit(query: Query, spec: DerivedSpec) -> Iterator[Mistake]:
    """Parts of a query that its kind of table can't be made by."""
    yield from _odd_parameters(query, spec)
    totals = spec.kind in ("totals", "windows")
    if totals:
        yield from unmergeable(query)
    if spec.kind != "full" and (not totals or is_grouped(query)):
        yield from _not_by_row(query.tree, totals)


def _odd_parameters(query: Query, spec: DerivedSpec) -> Iterator[Mistake]:
    for start, name in parameters_of(query.text):
        if name not in spec.parameters and name != NOW:
            yield start, f":{name}: no such parameter; {nearest(name, [*spec.parameters, NOW])}"


def _not_by_row(tree: exp.Query, totals: bool) -> Iterator[Mistake]:
    """Parts that need other rows than the new ones; the SELECT of totals may group."""
    for node in tree.walk():
        grouping = totals and (node is tree or node.parent_select is tree)
        yield from _clauses(node, grouping)
        yield from _sources(node)
        yield from _functions(node, grouping)


def _clauses(node: exp.Expr, grouping: bool) -> Iterator[Mistake]:
    from sqlglot import exp

    if isinstance(node, exp.SetOperation) and not (
        isinstance(node, exp.Union) and not node.args.get("distinct")
    ):
        word = "UNION" if isinstance(node, exp.Union) else node.key.upper()
        yield (
            start_of(node.expression),
            f"{word} compares with all rows that ever were: UNION ALL does not; {_FULL}",
        )
    if isinstance(node, exp.Query):
        for arg, word in _CLAUSES.items():
            part = node.args.get(arg)
            if isinstance(part, exp.Expr) and not (grouping and word == "GROUP BY"):
                yield start_of(part), f"{word} is of all rows, and only new ones are read; {_FULL}"
        if _within_expression(node):
            yield start_of(node), f"a SELECT within an expression reads all rows of its table; {_FULL}"


def _sources(node: exp.Expr) -> Iterator[Mistake]:
    from sqlglot import exp

    if isinstance(node, exp.Select):
        if not node.args.get("from_"):
            yield start_of(node), f"a SELECT without FROM would give its row at each run; {_FULL}"
        for join in node.args.get("joins") or ():
            yield start_of(join), f"a join needs old rows of one table with new ones of the other; {_FULL}"
    elif isinstance(node, exp.Values) or (
        isinstance(node, exp.Table) and not isinstance(node.this, exp.Identifier)
    ):
        yield start_of(node), f"this is no table: its rows would come at each run; {_FULL}"


def _functions(node: exp.Expr, grouping: bool) -> Iterator[Mistake]:
    from sqlglot import exp

    if isinstance(node, exp.Window):
        yield start_of(node), f"a window function looks at other rows than the new ones; {_FULL}"
    elif is_aggregate(node) and not grouping and not isinstance(node.parent, exp.Window):
        yield (
            start_of(node),
            f"{function_name(node)} is of many rows, and each is looked at by itself; kind: totals adds up",
        )
    elif is_clock(node):
        yield start_of(node), f"{function_name(node)}: write :now, the time of the run, which tests can set"
    elif is_chance(node):
        yield (
            start_of(node),
            f"{function_name(node)}: differs each time, so the table could never be made again",
        )


def _within_expression(node: exp.Query) -> bool:
    from sqlglot import exp

    plain = (exp.From, exp.CTE, exp.SetOperation, exp.Subquery, exp.Join, exp.Lateral)
    return node.parent is not None and not isinstance(node.parent, plain)
