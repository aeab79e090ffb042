"""What the query of each kind of table must not hold, if new rows alone are to be read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from frazil.derive.functions import function_name, is_aggregate, is_chance, is_clock
from frazil.derive.query import ERROR_COLUMN, Mistake, Query, refusal
from frazil.derive.scopes import ALL, nearest
from frazil.derive.syntax import start_of
from frazil.derive.totals import merge_of, unmergeable
from frazil.derived_spec import DerivedSpec

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["refuse_unfit"]

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
        SpecError: Names every such part of the query with its place.
    """
    if mistakes := [*_unfit(query, spec), *_error_column(query, spec)]:
        raise refusal(query, mistakes)


def _unfit(query: Query, spec: DerivedSpec) -> Iterator[Mistake]:
    totals = spec.kind in ("totals", "windows")
    if spec.kind != "full":
        yield from _not_by_row(query.tree, totals)
    if totals:
        if mistakes := list(unmergeable(query)):
            yield from mistakes
        else:
            yield from _odd_windows(query, spec)
    if spec.kind == "latest" and ALL not in query.columns:
        yield from missing(spec.key, query.columns, "key")
        yield from missing(spec.latest_by, query.columns, "latest_by")


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


def _odd_windows(query: Query, spec: DerivedSpec) -> Iterator[Mistake]:
    merge = merge_of(query)
    if spec.window is None:
        return
    yield from missing((spec.window.start,), merge.keys, "window.start")
    if spec.cumulative_by:
        yield from missing(spec.cumulative_by, merge.keys, "cumulative_by")
        start = spec.window.start
        others = [key for key in merge.keys if key not in (start, *spec.cumulative_by)]
        if others:
            yield 0, f"cumulative_by: name {', '.join(others)}, too: all of GROUP BY but {start}"
        for name, how in merge.functions.items():
            if how != "sum":
                yield 0, f"{name}: only sums and counts can be cumulative, this is {how}"


def _error_column(query: Query, spec: DerivedSpec) -> Iterator[Mistake]:
    if ERROR_COLUMN in query.columns and spec.kind != "rows":
        yield 0, f"`{ERROR_COLUMN}`: only kind: rows keeps bad rows apart, this is {spec.kind}"


def missing(names: Sequence[str], known: Sequence[str], word: str) -> Iterator[Mistake]:
    """Names of a spec's field that are no columns."""
    for name in names:
        if name not in known:
            yield 0, f"{word}: {name} is none of its columns; {nearest(name, known)}"
