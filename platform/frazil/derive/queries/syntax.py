"""What a parsed query is made of: tables, output, parameters, functions, and where they stand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError
from sqlglot.parsers.spark import SparkParser

_STEPS = 200_000
"""Most steps of the parser for a short text; one of 1,000 words takes 10,000."""


class _Parser(SparkParser):
    """sqlglot's, which ends: over `x(a, NOT b)` it goes back and forth forever, over 30 STRUCT( too long."""

    def __init__(self, steps: int) -> None:
        super().__init__(dialect=Spark())
        self._steps = steps

    def _advance(self, times: int = 1) -> None:
        self._steps -= 1
        if self._steps < 0:
            raise TokenError("it is nested or put together in a way that takes too long to read")
        super()._advance(times)


def parsed(text: str) -> list[exp.Expr]:
    """The statements of a text in Spark's SQL.

    Raises:
        sqlglot.errors.SqlglotError: It is not SQL.
    """
    tokens = _tokens_of(text)
    return [tree for tree in _Parser(_STEPS + 20 * len(tokens)).parse(tokens, text) if tree]


def _tokens_of(text: str) -> list[Token]:
    """The words of a text; comments are none."""
    tokens = Spark().tokenize(text)
    for i, (word, after) in enumerate(pairwise(tokens)):
        # In GROUP BY sqlglot takes the function for the clause WINDOW.
        if word.token_type == TokenType.WINDOW and after.token_type == TokenType.L_PAREN:
            tokens[i] = Token(TokenType.VAR, word.text, word.line, word.col, word.start, word.end)
    return tokens


def parameters_of(text: str) -> Iterator[tuple[int, str]]:
    """Each `:name` of a text, with its place."""
    tokens = _tokens_of(text)
    for colon, name in pairwise(tokens):
        if colon.token_type == TokenType.COLON and name.start == colon.end + 1:
            yield colon.start, name.text


def input_tables(tree: exp.Expr) -> Iterator[exp.Table]:
    """The tables of a query that are no WITH of its own, once per mention."""
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
    if isinstance(outer, exp.With):
        return outer.expressions[: inner.index]
    return list(outer.ctes) if isinstance(outer, exp.Query) and not isinstance(inner, exp.With) else []


def branches(tree: exp.Expr) -> list[exp.Expr]:
    """The SELECTs that a UNION puts together, in order; a SELECT alone is one."""
    if isinstance(tree, exp.Subquery) and not tree.alias:
        return branches(tree.this)
    if isinstance(tree, exp.SetOperation):
        return [*branches(tree.left), *branches(tree.right)]
    return [tree]


def is_deep(tree: exp.Expr, levels: int) -> bool:
    """Whether a query nests deeper than `levels`."""
    level = [tree]
    for _ in range(levels):
        level = [inner for node in level for inner in node.iter_expressions()]
    return bool(level)


def output_of(tree: exp.Expr) -> list[exp.Expr]:
    """What the first SELECT of a query puts out: it names the columns."""
    return list(branches(tree)[0].expressions)


def names_of(item: exp.Expr) -> tuple[str, ...]:
    """The columns that one expression of a SELECT makes, by Spark's rules; empty where it has no name.

    `*` stands for all columns of a table.
    """
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
    group = tree.args.get("group")
    calls = group.find_all(exp.Anonymous) if group else ()
    return [call for call in calls if call.name.lower() in ("window", "session_window")]


def start_of(node: exp.Expr | None) -> int:
    """Where a part of a query begins, or what it belongs to, where that alone is known."""
    while node is not None:
        if places := list(_starts(node)):
            return min(places)
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
    "timestamp_trunc": "date_trunc",
    "ts_or_ds_add": "date_add",
    "ts_or_ds_to_date": "to_date",
}
"""Where sqlglot calls a function otherwise."""

_AGGREGATES = {
    "any", "bitmap_and_agg", "count_min_sketch", "every", "histogram_numeric", "hll_sketch_agg",
    "hll_union_agg", "kll_merge_agg_bigint", "kll_merge_agg_double", "kll_merge_agg_float",
    "kll_sketch_agg_bigint", "kll_sketch_agg_double", "kll_sketch_agg_float", "mean", "product",
    "schema_of_variant_agg", "some", "std", "theta_intersection_agg", "theta_sketch_agg", "theta_union_agg",
    "try_avg", "try_sum",
}  # fmt: skip
"""Aggregates that sqlglot does not know as such."""

_SKETCHES = re.compile("percentile_approx|approx_top_k|histogram_numeric|(hll|kll|theta)_.*_agg.*")
"""Aggregates whose result depends on the order of rows; an approx_count_distinct does not."""

_CLOCKS = {
    "curdate", "current_date", "current_datetime", "current_time", "current_timestamp", "localtime",
    "localtimestamp", "now",
}  # fmt: skip

_MOMENT = re.compile(r"\s*(now|today|tomorrow|yesterday)\s*", re.IGNORECASE)
"""Texts that Spark takes for a time of the present day where it wants a time."""

_READ_AS_TIME = {
    "date_add", "date_trunc", "to_date", "to_timestamp_ltz", "to_timestamp_ntz", "try_to_date",
    "try_to_timestamp",
}  # fmt: skip
"""Functions that take a text for a time; to_timestamp is a cast to sqlglot."""

_CHANCE = {
    "current_user", "input_file_block_length", "input_file_block_start", "input_file_name",
    "monotonically_increasing_id", "java_method", "rand", "randn", "random", "randstr", "reflect",
    "session_user", "shuffle", "spark_partition_id", "try_reflect", "uniform", "user", "uuid",
}  # fmt: skip


_SOURCES = {
    "explode", "explode_outer", "inline", "inline_outer", "json_tuple", "posexplode", "posexplode_outer",
    "range", "stack", "variant_explode", "variant_explode_outer",
}  # fmt: skip
"""Functions that make rows of their arguments alone; others read files, or topics."""


def function_name(node: exp.Expr) -> str:
    """The name of a function as Spark has it; empty for anything else."""
    if isinstance(node, exp.Anonymous):
        return node.name.lower()
    name = node.sql_name().lower() if isinstance(node, exp.Func) else type(node).__name__.lower()
    return _SPARK_NAMES.get(name, name)


def is_aggregate(node: exp.Expr) -> bool:
    """Whether it makes one value of many rows."""
    return isinstance(node, exp.AggFunc) or (_calls(node) and function_name(node) in _AGGREGATES)


def is_clock(node: exp.Expr) -> bool:
    """Whether it tells the time of day."""
    if isinstance(node, exp.Cast) or function_name(node) in _READ_AS_TIME:
        return is_moment(node.expressions[0] if isinstance(node, exp.Anonymous) else node.this)
    return _calls(node) and function_name(node) in _CLOCKS


def is_moment(node: exp.Expr) -> bool:
    """Whether it is a text that is the time of day where a time is wanted."""
    text = node.unnest()
    return text.is_string and _MOMENT.fullmatch(text.name) is not None


def is_sketch(node: exp.Expr) -> bool:
    """Whether it estimates, and not the same where the rows come in another order."""
    return _calls(node) and _SKETCHES.fullmatch(function_name(node)) is not None


def is_chance(node: exp.Expr) -> bool:
    """Whether it tells something else each time it is asked."""
    return _calls(node) and function_name(node) in _CHANCE


def is_foreign_source(node: exp.Expr) -> bool:
    """Whether it is a function in a FROM that may read what is no input."""
    call = node.this if isinstance(node, exp.Table | exp.Lateral) else None
    return isinstance(call, exp.Func) and function_name(call) not in _SOURCES


def _calls(node: exp.Expr) -> bool:
    return isinstance(node, exp.Func | exp.Any)
