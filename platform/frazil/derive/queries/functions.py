"""Functions of Spark by what they look at: many rows, the clock, or chance."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["function_name", "is_aggregate", "is_chance", "is_clock"]

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

_CHANCE = {
    "input_file_block_length", "input_file_block_start", "input_file_name", "monotonically_increasing_id",
    "rand", "randn", "random", "randstr", "shuffle", "spark_partition_id", "uniform", "uuid",
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
    return _calls(node) and function_name(node) in _CLOCKS


def is_chance(node: exp.Expr) -> bool:
    """Whether it tells something else each time it is asked."""
    return _calls(node) and function_name(node) in _CHANCE


def _calls(node: exp.Expr) -> bool:
    from sqlglot import exp

    return isinstance(node, exp.Func | exp.Any)
