"""How the totals of new rows are merged with the totals that a table holds."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from sqlglot import ErrorLevel, exp

from frazil.derive.queries.query import Mistake, Query, refusal
from frazil.derive.queries.syntax import function_name, is_aggregate, names_of, start_of, windows_of

MergeFunction = Literal["sum", "min", "max", "bool_and", "bool_or"]
"""What makes one total of two; counts are summed."""

_MERGED_BY: Mapping[str, MergeFunction] = {
    "sum": "sum", "count": "sum", "count_if": "sum", "min": "min", "max": "max",
    "bool_and": "bool_and", "every": "bool_and", "bool_or": "bool_or", "some": "bool_or", "any": "bool_or",
}  # fmt: skip

_INSTEAD = {
    "avg": "; keep a sum and a count, and divide where it is read",
    "mean": "; keep a sum and a count, and divide where it is read",
}


_WINDOWS = ("window", "session_window")


@dataclass(frozen=True, slots=True)
class Merge:
    """The columns of a table of totals: its keys, and by column how two totals become one."""

    keys: tuple[str, ...]
    functions: Mapping[str, MergeFunction]
    # The column that counts the rows of a key; None where none does.
    rows: str | None = None
    # By each sum that is none of counts: the column that counts the values in it; None where none does.
    values: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def subtracts(self) -> bool:
        """Whether what some rows made can be taken out again, and it is known what is left."""
        summed = all(how == "sum" for how in self.functions.values())
        return summed and self.rows is not None and None not in self.values.values()


def merge_of(query: Query) -> Merge:
    """How the rows of a table of totals or windows are merged.

    Raises:
        SpecError: It is no SELECT of totals, or has some that can't be merged, such as averages.
    """
    if mistakes := list(unmergeable(query)):
        raise refusal(query, mistakes)
    totals = {names_of(item)[0]: item.unalias() for item in query.tree.expressions}
    named = {name: function for name, node in totals.items() if (function := _total(node))}
    functions = {name: _MERGED_BY[function] for name, function in named.items()}
    counts = {_counted(totals[name]): name for name, function in named.items() if function == "count"}
    values = {name: counts.get(_counted(totals[name])) for name, of in named.items() if of == "sum"}
    keys = tuple(name for name in totals if name not in named)
    return Merge(keys, functions, counts.get((_EVERY, "")), values)


_EVERY = "*"


def _counted(total: exp.Expr) -> tuple[str, str]:
    """Which values a sum or a count looks at, `*` where that is one in each row, and the rows' FILTER."""
    alone = isinstance(total, exp.Filter)
    function = total.this if alone else total
    parts = [part for part in (function.this, *function.expressions) if part is not None]
    every = bool(parts) and all(map(_never_null, parts))
    values = _EVERY if every else ", ".join(map(_text, parts))
    return values, _text(total.expression) if alone else ""


def _never_null(node: exp.Expr) -> bool:
    if isinstance(node, exp.Coalesce):
        return any(map(_never_null, (node.this, *node.expressions)))
    return isinstance(node, exp.Star | exp.Literal)


def is_grouped(query: Query) -> bool:
    """Whether it is one SELECT with GROUP BY."""
    return isinstance(query.tree, exp.Select) and query.tree.args.get("group") is not None


def unmergeable(query: Query) -> Iterator[Mistake]:
    """What keeps the totals of some rows and those of others from adding up to the totals of all."""
    tree, group = query.tree, query.tree.args.get("group")
    if group is None or not is_grouped(query):
        yield start_of(tree), "totals are those of one SELECT with GROUP BY, over one input"
        return
    yield from (mistake for item in tree.expressions for mistake in _odd_item(item))
    if not group.args.get("all"):
        yield from _odd_keys(tree, group)


def shadowed(query: Query, columns: Collection[str]) -> Iterator[Mistake]:
    """Keys that name an alias and a column of the input: Spark groups by the input's, and shows the alias.

    Args:
        query: The query of a table of totals.
        columns: Names of the input's columns.
    """
    group, inputs = query.tree.args.get("group"), {name.lower() for name in columns}
    aliases = {
        item.alias.lower(): item
        for item in query.tree.expressions
        if isinstance(item, exp.Alias) and _words(item.this) != item.alias.lower()
    }
    for key in group.expressions if group else ():
        if isinstance(key, exp.Column) and (name := key.name.lower()) in aliases.keys() & inputs:
            text = f"{name}: a column of the input, by which Spark groups, and of the SELECT, which hides it"
            yield start_of(key), f"{text}; name the new one otherwise, or group by its number"


def _odd_item(item: exp.Expr) -> Iterator[Mistake]:
    if names_of(item) == ("*",):
        yield start_of(item), "*: name the columns that it is grouped by"
        return
    node = item.unalias()
    inside = [part for part in node.walk() if is_aggregate(part)]
    name = _total(node)
    if name is None and inside:
        text = "a total stands alone in its column: put what is computed inside, such as sum(coalesce(x, 0))"
        yield start_of(item), text
    elif name is not None and name not in _MERGED_BY:
        known = "sum, count, count_if, min, max, bool_and and bool_or are"
        yield start_of(item), f"{name}: can't be merged; {known}{_INSTEAD.get(name, '')}"
    elif name is not None and _distinct(inside[0]):
        yield start_of(item), f"{name}(DISTINCT ...): can't be merged: what was counted is not kept"


def _total(node: exp.Expr) -> str | None:
    """The name of the aggregate function that an expression is, with its FILTER or without; else None."""
    function = node.this if isinstance(node, exp.Filter) else node
    return function_name(function) if is_aggregate(function) else None


def _distinct(node: exp.Expr) -> bool:
    return isinstance(node.this, exp.Distinct)


def _odd_keys(tree: exp.Query, group: exp.Group) -> Iterator[Mistake]:
    if any(group.args.get(word) for word in ("grouping_sets", "cube", "rollup", "totals")):
        yield start_of(group), "GROUPING SETS, CUBE and ROLLUP can't be merged: write plain columns"
        return
    counts = _numbers_by_word(tree, windows_of(tree))
    grouped = {_words(key): key for key in group.expressions}
    for word, key in grouped.items():
        if word not in counts:
            yield start_of(key), "it is grouped by what is no column of the table: add it to the SELECT"
        if word.startswith("session_window("):
            yield (
                start_of(key),
                "session_window: new rows may make one session of two old ones; kind: full may",
            )
    by = {counts[word] for word in grouped if word in counts}
    for n, item in _keys(tree):
        if n not in by and not _window_part(item):
            yield start_of(item), f"{item.alias_or_name}: neither a total nor in GROUP BY: add it there"


def _keys(tree: exp.Query) -> list[tuple[int, exp.Expr]]:
    """The columns that are keys, not totals, each with its number."""
    items = enumerate(tree.expressions, 1)
    return [(n, item) for n, item in items if not any(map(is_aggregate, item.walk()))]


def _numbers_by_word(tree: exp.Query, windows: Sequence[exp.Expr]) -> dict[str, int]:
    """The ways to say each key in GROUP BY, with the key's number; one of a window may be the window."""
    counts: dict[str, int] = {}
    for n, item in _keys(tree):
        words = [str(n), _words(item.unalias()), item.alias_or_name.lower()]
        if part := _window_part(item):
            calls = [_words(call) for call in windows]
            words += [*(f"{call}.{part}" for call in calls), *(calls if part == "start" else ())]
        for word in words:
            counts.setdefault(word, n)
    return counts


def _window_part(item: exp.Expr) -> str:
    """`start` or `end` of `window(...)`; empty where it is something else."""
    node = item.unalias()
    column = isinstance(node, exp.Column) and node.table.lower() in _WINDOWS
    call = isinstance(node, exp.Dot) and function_name(node.this) in _WINDOWS
    return node.name.lower() if column or call else ""


def _words(node: exp.Expr) -> str:
    """An expression, so that equal ones are equal: in lower case, columns without the table's name."""
    plain = node.copy()
    for column in list(plain.find_all(exp.Column)):
        column.set("table", None if not column.db else column.args.get("table"))
    return _text(plain).replace("`", "").lower()


def _text(node: exp.Expr) -> str:
    return str(node.sql("spark", comments=False, unsupported_level=ErrorLevel.IGNORE))
