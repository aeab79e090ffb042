"""What a kind of table does not take: parts of a query, and fields of the spec that its query has not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from frazil.derive.queries.query import ERROR_COLUMN, NOW, Mistake, Query, refusal
from frazil.derive.queries.scopes import ALL, nearest
from frazil.derive.queries.syntax import (
    function_name,
    is_aggregate,
    is_chance,
    is_clock,
    is_foreign_source,
    parameters_of,
    start_of,
)
from frazil.derive.queries.totals import Merge, is_grouped, merge_of, unmergeable
from frazil.spec.derived import DerivedSpec

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

_FULL_READS = "kind: full may read it"


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
    yield from (mistake for node in query.tree.walk() for mistake in _unrepeatable(node))
    totals = spec.kind in ("totals", "windows")
    if totals:
        yield from unmergeable(query)
    if spec.kind != "full" and (not totals or is_grouped(query)):
        yield from _not_by_row(query.tree, totals)


def unfollowed(spec: DerivedSpec, *, uses_now: bool) -> str:
    """Why a table can't follow rows of an input that change; empty where it can."""
    if spec.cumulative_by and not spec.adds_late_rows:
        return "and running totals go on from windows that are closed; late_rows: update changes these, too"
    if uses_now:
        return f"and :now was another time when they were read; {_FULL_READS}"
    return "and a topic that it feeds takes no record back; leave out feeds" if spec.feeds else ""


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
    if isinstance(node, exp.Window):
        yield start_of(node), f"a window function looks at other rows than the new ones; {_FULL}"
    elif is_aggregate(node) and not grouping and not isinstance(node.parent, exp.Window):
        yield (
            start_of(node),
            f"{function_name(node)} is of many rows, and each is looked at by itself; kind: totals adds up",
        )


def _unrepeatable(node: exp.Expr) -> Iterator[Mistake]:
    """What no kind of table may hold: nobody could make its rows again."""
    if is_clock(node):
        word = node.this.sql() if isinstance(node, exp.Cast) else function_name(node)
        yield start_of(node), f"{word}: write :now, the time of the run, which tests can set"
    elif is_chance(node):
        what = f"{function_name(node)}: may differ each time, so the table could never be recreated"
        yield start_of(node), what
    elif isinstance(node, exp.Anonymous) and function_name(node) == "identifier":
        yield (
            start_of(node),
            "IDENTIFIER: write the name itself; no other table, and no Java, is named by a text",
        )
    elif is_foreign_source(node):
        yield start_of(node), f"{function_name(node.this)}: its rows come from no input"
    elif isinstance(node, exp.TableSample):
        yield start_of(node), "TABLESAMPLE takes other rows each time, so the table could never be recreated"


def _within_expression(node: exp.Query) -> bool:
    plain = (exp.From, exp.CTE, exp.SetOperation, exp.Subquery, exp.Join, exp.Lateral)
    return node.parent is not None and not isinstance(node.parent, plain)


def odd_fields(query: Query, spec: DerivedSpec, columns: Sequence[str], merge: Merge | None) -> Iterator[str]:
    """What is wrong with the fields of a spec, each named.

    `*` is among the columns of the query's output where not all are known. `merge` is that of totals and
    windows, where their totals can be merged.
    """
    for name in spec.parameters:
        if name not in query.parameters:
            yield f"parameters: {name} is nowhere in the query; {nearest(name, query.parameters)}"
    if ERROR_COLUMN in columns and spec.kind != "rows":
        yield f"kind: {spec.kind} keeps no bad rows apart, and the query has `{ERROR_COLUMN}`; rows does"
    if ALL not in columns:
        table = [name for name in columns if name != ERROR_COLUMN]
        for field, names in _columns_of(spec).items():
            yield from _strange(field, names, table)
    if spec.window and merge:
        yield from _odd_window(spec, spec.window.start, merge)


def _columns_of(spec: DerivedSpec) -> dict[str, Sequence[str]]:
    """Columns by the field that names them; of a column within another, the outer one."""
    named: dict[str, Sequence[str]] = {
        "key": spec.key,
        "latest_by": spec.latest_by,
        "partition_by": [column for _, column in spec.transforms],
        "sort_by": [column for term in spec.sort_terms for column in term.columns],
        "feeds.key": spec.feeds.key if spec.feeds else (),
        **{f"checks.{c.name}": sorted(path[0] for path in c.expression.columns) for c in spec.checks},
    }
    return {field: [name.partition(".")[0] for name in names] for field, names in named.items()}


def _odd_window(spec: DerivedSpec, start: str, merge: Merge) -> Iterator[str]:
    yield from _strange("window.start", [start], merge.keys, "GROUP BY")
    if not spec.cumulative_by:
        return
    yield from _strange("cumulative_by", spec.cumulative_by, merge.keys, "GROUP BY")
    if others := [key for key in merge.keys if key not in (start, *spec.cumulative_by)]:
        yield f"cumulative_by: name {', '.join(others)}, too: all of GROUP BY but {start}"
    for name, how in merge.functions.items():
        if how != "sum":
            yield f"cumulative_by: {name} is a {how}; only sums and counts add up over windows"


def _strange(
    field: str, names: Sequence[str], known: Sequence[str], of: str = "the query's columns"
) -> Iterator[str]:
    for name in names:
        if name not in known:
            yield f"{field}: {name} is none of {of}; {nearest(name, known)}"
