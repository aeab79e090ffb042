"""What a parsed query is made of: tables, output, parameters, functions, and where they stand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlglot import Token, exp

__all__ = [
    "branches",
    "cte_of",
    "function_name",
    "input_name",
    "input_tables",
    "is_aggregate",
    "is_chance",
    "is_clock",
    "names_of",
    "output_of",
    "parameters_of",
    "parsed",
    "start_of",
    "windows_of",
    "words_of",
]


def parsed(text: str) -> list[exp.Expr]:
    """The statements of a text in Spark's SQL.

    Raises:
        sqlglot.errors.SqlglotError: It is none.
    """
    from sqlglot.dialects.spark import Spark

    return [tree for tree in Spark().parser().parse(_tokens_of(text), text) if tree]


def _tokens_of(text: str) -> list[Token]:
    """The words of a text; comments are none."""
    from sqlglot import Token, TokenType
    from sqlglot.dialects.spark import Spark

    tokens = Spark().tokenize(text)
    for i, (word, after) in enumerate(pairwise(tokens)):
        # In GROUP BY sqlglot takes the function for the clause WINDOW.
        if word.token_type == TokenType.WINDOW and after.token_type == TokenType.L_PAREN:
            tokens[i] = Token(TokenType.VAR, word.text, word.line, word.col, word.start, word.end)
    return tokens


def parameters_of(text: str) -> Iterator[tuple[int, str]]:
    """Each `:name` of a text, with its place."""
    from sqlglot import TokenType

    tokens = _tokens_of(text)
    for colon, name in pairwise(tokens):
        if colon.token_type == TokenType.COLON and name.start == colon.end + 1:
            yield colon.start, name.text


def input_tables(tree: exp.Expr) -> Iterator[exp.Table]:
    """The tables of a query that are no WITH of its own, once per mention."""
    from sqlglot import exp

    for table in tree.find_all(exp.Table):
        if isinstance(table.this, exp.Identifier) and cte_of(table) is None:
            yield table


def input_name(table: exp.Table) -> str:
    """A table's name as written, without quotes and blanks."""
    return ".".join(part.name for part in table.parts)


def cte_of(table: exp.Table) -> exp.CTE | None:
    """The WITH that a table's name means, where it means one: of the nearest ones around it."""
    if table.db:
        return None
    inner: Any = table
    while outer := inner.parent:
        for cte in reversed(_named_before(outer, inner)):
            if cte.alias.lower() == table.name.lower():
                return cte
        inner = outer
    return None


def _named_before(outer: Any, inner: Any) -> list[exp.CTE]:
    """What a WITH has named where `inner` begins: within it, only what comes earlier."""
    from sqlglot import exp

    if isinstance(outer, exp.With):
        return outer.expressions[: inner.index]
    return list(outer.ctes) if isinstance(outer, exp.Query) and not isinstance(inner, exp.With) else []


def branches(tree: exp.Expr) -> list[exp.Expr]:
    """The SELECTs that a UNION puts together, in order; a SELECT alone is one."""
    from sqlglot import exp

    if isinstance(tree, exp.Subquery) and not tree.alias:
        return branches(tree.this)
    if isinstance(tree, exp.SetOperation):
        return [*branches(tree.left), *branches(tree.right)]
    return [tree]


def output_of(tree: exp.Expr) -> list[exp.Expr]:
    """What the first SELECT of a query puts out: it names the columns."""
    return list(branches(tree)[0].expressions)


def names_of(item: exp.Expr) -> tuple[str, ...]:
    """The columns that one expression of a SELECT makes, by Spark's rules; empty where it has no name.

    `*` stands for all columns of a table.
    """
    from sqlglot import exp

    match item:
        case exp.Aliases():
            return tuple(alias.name for alias in item.aliases)
        case exp.Alias():
            return (item.alias,)
        case exp.Dot() if not isinstance(item.parts[0], exp.Identifier):
            return ("",)
        case exp.Column() | exp.Dot():
            return ("*",) if isinstance(item.parts[-1], exp.Star) else (item.parts[-1].name,)
        case exp.Star():
            return ("*",)
        case exp.Cast() if isinstance(item.this, exp.Column):
            return names_of(item.this)
        case _:
            return ("",)


def windows_of(tree: exp.Expr) -> list[exp.Anonymous]:
    """Calls of `window` in GROUP BY: each makes a column of that name, a struct of start and end."""
    from sqlglot import exp

    group = tree.args.get("group")
    calls = group.find_all(exp.Anonymous) if group else ()
    return [call for call in calls if call.name.lower() in ("window", "session_window")]


def start_of(node: exp.Expr | None) -> int:
    """Where a part of a query begins, or what it belongs to, where that alone is known."""
    while node is not None:
        if found := list(_starts(node)):
            return min(found)
        node = node.parent
    return 0


def _starts(node: exp.Expr) -> Iterator[int]:
    return (part.meta["start"] for part in node.walk() if "start" in part.meta)


def words_of(text: str) -> Sequence[str]:
    """A text's words as they mean the same: in lower case, unless they are quoted."""
    words = (text[t.start : t.end + 1] for t in _tokens_of(text))
    return [w if w[0] in "'\"`" else w.lower() for w in words]


_SPARK_NAMES = {
    "approx_distinct": "approx_count_distinct",
    "approx_quantile": "percentile_approx",
    "arg_max": "max_by",
    "arg_min": "min_by",
    "array_agg": "collect_list",
    "array_unique_agg": "collect_set",
    "logical_and": "bool_and",
    "logical_or": "bool_or",
    "quantile": "percentile",
}
"""Where sqlglot calls a function otherwise."""

_AGGREGATES = {
    "any", "count_min_sketch", "every", "histogram_numeric", "hll_sketch_agg", "hll_union_agg",
    "kll_sketch_agg_bigint", "mean", "product", "schema_of_variant_agg", "some", "std", "theta_sketch_agg",
    "try_avg", "try_sum",
}  # fmt: skip
"""Those that sqlglot takes for any other function."""

_CLOCKS = {
    "curdate", "current_date", "current_datetime", "current_time", "current_timestamp", "localtime",
    "localtimestamp", "now",
}  # fmt: skip

_MOMENTS = ("now", "today", "tomorrow", "yesterday")
"""Texts that Spark takes for a time of the present day where they are cast to one."""

_CHANCE = {
    "input_file_block_length", "input_file_block_start", "input_file_name", "monotonically_increasing_id",
    "java_method", "rand", "randn", "random", "randstr", "reflect", "shuffle", "spark_partition_id",
    "try_reflect", "uniform", "uuid",
}  # fmt: skip


def function_name(node: exp.Expr) -> str:
    """The name of a function as Spark has it; empty where it is none."""
    from sqlglot import exp

    if isinstance(node, exp.Anonymous):
        return node.name.lower()
    name = node.sql_name().lower() if isinstance(node, exp.Func) else type(node).__name__.lower()
    return _SPARK_NAMES.get(name, name)


def is_aggregate(node: exp.Expr) -> bool:
    """Whether it makes one value of many rows."""
    from sqlglot import exp

    return isinstance(node, exp.AggFunc) or (_calls(node) and function_name(node) in _AGGREGATES)


def is_clock(node: exp.Expr) -> bool:
    """Whether it tells the time of day."""
    from sqlglot import exp

    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal):
        return node.this.is_string and node.this.name.strip().lower() in _MOMENTS
    return _calls(node) and function_name(node) in _CLOCKS


def is_chance(node: exp.Expr) -> bool:
    """Whether it tells something else each time it is asked."""
    return _calls(node) and function_name(node) in _CHANCE


def _calls(node: exp.Expr) -> bool:
    from sqlglot import exp

    return isinstance(node, exp.Func | exp.Any)
