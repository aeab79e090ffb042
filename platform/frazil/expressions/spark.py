"""Expressions as SQL of Spark's, of the same meaning: over the rows of a whole table."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from frazil.expressions.tree import (
    Aggregate,
    Call,
    Column,
    Constant,
    Expression,
    Node,
    Now,
    aggregate_name,
)
from frazil.quoting import literal, quoted


def spark_sql(of: Expression) -> str:
    """The expression; one with aggregates is for a SELECT without GROUP BY."""
    known = {aggregate_name(n): aggregate_sql(each) for n, each in enumerate(of.aggregates)}
    return _sql(of.root, known)


def aggregate_sql(of: Aggregate) -> str:
    """One aggregate."""
    if of.of is None:
        return "count(1)"
    inner = _sql(of.of, {})
    return f"count(DISTINCT {inner})" if of.name == "count_distinct" else f"{of.name}({inner})"


def _sql(node: Node, known: Mapping[str, str]) -> str:
    match node:
        case Column():
            own = known.get(node.path[0]) if len(node.path) == 1 else None
            return own or quoted(*node.path)
        case Now():
            return "current_timestamp()"
        case Constant():
            return _CONSTANTS[node.kind](node.text)
    parts = [_sql(part, known) for part in node.of]
    return _CALLS.get(node.name, _function(node))(*parts)


def _function(call: Call) -> Callable[..., str]:
    return lambda *parts: f"{call.name}({', '.join(parts)})"


def _infix(sign: str) -> Callable[[str, str], str]:
    return lambda one, two: f"({one} {sign} {two})"


_CONSTANTS: Mapping[str, Callable[[str], str]] = {
    "text": literal,
    "boolean": str,
    "whole": str,
    "decimal": lambda text: f"{text}BD",
    "double": lambda text: f"double({literal(text)})",
    "date": lambda text: f"date({literal(text)})",
    "timestamp": lambda text: f"timestamp({literal(text)})",
    "interval": lambda text: f"make_dt_interval(0, 0, 0, {int(text) / 1_000_000:.6f}BD)",
    "null": lambda _: "NULL",
}

_CALLS: Mapping[str, Callable[..., str]] = {
    **{sign: _infix(sign) for sign in ("=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "and", "or", "like")},
    "ilike": _infix("ilike"),
    "rlike": _infix("rlike"),
    "starts with": lambda text, part: f"startswith({text}, {part})",
    "ends with": lambda text, part: f"endswith({text}, {part})",
    "/": lambda one, two: f"try_divide(double({one}), double({two}))",
    "not": lambda one: f"(NOT {one})",
    "is null": lambda one: f"({one} IS NULL)",
    "negative": lambda one: f"(- {one})",
    "length": lambda one: f"length({one})",
}
"""Calls that Spark writes otherwise than as a function of the same name."""
