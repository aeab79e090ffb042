"""The type of an expression, where Spark's rules are plain; else unknown, rather than wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from frazil.derive.queries.type_rules import (
    UNKNOWN,
    VOID,
    arithmetic,
    decimal,
    element,
    fields,
    summed,
    widest,
)
from frazil.quoting import quoted

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["Named", "type_of"]


@dataclass(frozen=True, slots=True)
class Named:
    """The types of what an expression names.

    Args:
        column: Of a column.
        parameter: Of a parameter.
    """

    column: Callable[[exp.Column], str]
    parameter: Callable[[str], str]


def type_of(node: exp.Expr, named: Named) -> str:
    """The type of an expression's values."""
    word = node.name.lower() if type(node).__name__ == "Anonymous" else type(node).__name__
    if rule := _RULES.get(word):
        return rule(node, named)
    return _FIXED.get(word, UNKNOWN)


_Rule = Callable[[Any, Named], str]

_RESULTS = {
    "string": "Upper Lower Trim Substring Replace RegexpReplace RegexpExtract ConcatWs ToBase64 MD5 SHA2 "
    "JSONFormat TimeToStr Pad Format Initcap UnixToStr JSONExtractScalar Typeof Translate Repeat Hex",
    "boolean": "EQ NEQ GT GTE LT LTE NullSafeEQ NullSafeNEQ And Or Not Is In Between Like ILike RegexpLike "
    "Exists Boolean StartsWith EndsWith Contains ArrayContains LogicalAnd LogicalOr every some Any isnull "
    "isnotnull is_valid_utf8",
    "timestamp": "TimestampTrunc try_to_timestamp StrToTime timestamp_seconds timestamp_millis "
    "timestamp_micros AtTimeZone FromTimeZone CurrentTimestamp now",
    "timestamp_ntz": "to_timestamp_ntz Localtimestamp",
    "date": "TsOrDsToDate TsOrDsAdd DateTrunc LastDay make_date AddMonths DateFromUnixDate CurrentDate",
    "int": "Length StrPosition Year Month Day DayOfMonth Hour Minute Second DayOfWeek WeekOfYear Quarter "
    "weekday UnixDate Ascii hash",
    "bigint": "Count CountIf UnixMillis UnixMicros UnixSeconds StrToUnix TimestampDiff xxhash64 crc32 "
    "ApproxDistinct IntDiv",
    "double": "Sqrt Pow Ln Exp",
    "binary": "HexString Unhex FromBase64 Encode",
    VOID: "Null",
}
_FIXED = {word: kind for kind, words in _RESULTS.items() for word in words.split()}
"""What is of one type whatever it is given; by sqlglot's class, or by Spark's name where it knows none."""


def _literal(node: exp.Literal, _: Named) -> str:
    if node.is_string:
        return "string"
    if not node.name.isdigit():
        return "double" if "e" in node.name.lower() else _decimal_literal(node.name)
    value = int(node.name)
    return "int" if value < 2**31 else "bigint" if value < 2**63 else f"decimal({len(str(value))},0)"


def _decimal_literal(text: str) -> str:
    whole, _, fraction = text.partition(".")
    return f"decimal({max(len((whole + fraction).lstrip('0')), len(fraction))},{len(fraction)})"


def _signed(sign: str) -> _Rule:
    def rule(node: exp.Binary, named: Named) -> str:
        kinds = [type_of(part, named) for part in (node.this, node.expression)]
        if "interval" in kinds:  # plus and minus are for times, too
            times = [kind for kind in kinds if kind.startswith("timestamp")]
            return times[0] if times else UNKNOWN
        return arithmetic(sign, _beside(node.this, *kinds), _beside(node.expression, *reversed(kinds)))

    return rule


def _beside(node: exp.Expr, kind: str, other: str) -> str:
    """Beside a decimal, a written whole number has as many digits as it needs, not all of an int's."""
    written = kind == "int" and type(node).__name__ == "Literal"
    return f"decimal({len(node.name)},0)" if written and other.startswith("decimal") else kind


def _cast(node: exp.Cast, _: Named) -> str:
    kind = str(node.to.sql("spark")).lower().replace(", ", ",")
    nested = node.to.args.get("nested")
    # A bare decimal is that of a CAST, or of a literal such as 1.5BD: they differ.
    return UNKNOWN if nested or kind == "decimal" else kind


def _bracket(node: exp.Bracket, named: Named) -> str:
    return element(type_of(node.this, named))


def _dot(node: exp.Dot, named: Named) -> str:
    return fields(type_of(node.this, named)).get(node.name, UNKNOWN)


def _first(node: exp.Expr, named: Named) -> str:
    return type_of(node.this, named)


def _case(node: exp.Case, named: Named) -> str:
    results = [branch.args["true"] for branch in node.args["ifs"]]
    default = node.args.get("default")
    return _widest([*results, *([default] if default else [])], named)


def _if(node: exp.If, named: Named) -> str:
    return _widest([part for word in ("true", "false") if (part := node.args.get(word))], named)


def _all_of_them(node: exp.Func, named: Named) -> str:
    return _widest([node.this, *node.expressions], named)


def _widest(nodes: list[exp.Expr], named: Named) -> str:
    return widest(type_of(node, named) for node in nodes)


def _sum(node: exp.Sum, named: Named) -> str:
    return summed(type_of(node.this, named))


def _average(node: exp.Avg, named: Named) -> str:
    kind = type_of(node.this, named)
    if kind == UNKNOWN:
        return UNKNOWN
    parts = decimal(kind) if kind.startswith("decimal") else None
    return f"decimal({min(38, parts[0] + 4)},{min(38, parts[1] + 4)})" if parts else "double"


def _text(node: exp.Expr, named: Named) -> str:
    """Of strings only: arrays and bytes are put together by the same sign."""
    parts = [node.this, node.expression] if node.args.get("expression") else node.expressions
    return "string" if {type_of(part, named) for part in parts} <= {"string", VOID} else UNKNOWN


def _struct(node: exp.Struct, named: Named) -> str:
    kinds = [(part.name, type_of(part.expression, named)) for part in node.expressions if part.expression]
    if len(kinds) < len(node.expressions) or any(kind == UNKNOWN for _, kind in kinds):
        return UNKNOWN
    return f"struct<{','.join(f'{quoted(name)}:{kind}' for name, kind in kinds)}>"


def _window(node: exp.Anonymous, named: Named) -> str:
    kind = type_of(node.expressions[0], named) if node.expressions else UNKNOWN
    return f"struct<`start`:{kind},`end`:{kind}>" if kind.startswith("timestamp") else UNKNOWN


_RULES: Mapping[str, _Rule] = {
    "Literal": _literal,
    "Column": lambda node, named: named.column(node),
    "Placeholder": lambda node, named: named.parameter(node.name),
    "Interval": lambda node, named: "interval",
    "Add": _signed("+"),
    "Sub": _signed("-"),
    "Mul": _signed("*"),
    "Div": _signed("/"),
    "Mod": _signed("%"),
    "Cast": _cast,
    "TryCast": _cast,
    "Bracket": _bracket,
    "Dot": _dot,
    "DateDiff": lambda node, _: "bigint" if node.args.get("unit") else "int",
    "Case": _case,
    "If": _if,
    "Coalesce": _all_of_them,
    "Greatest": _all_of_them,
    "Least": _all_of_them,
    "Sum": _sum,
    "Avg": _average,
    "DPipe": _text,
    "Concat": _text,
    "Struct": _struct,
    "window": _window,
    "session_window": _window,
    **dict.fromkeys(
        (
            "Paren",
            "Neg",
            "Abs",
            "Nullif",
            "Min",
            "Max",
            "First",
            "Last",
            "AnyValue",
            "ArgMax",
            "ArgMin",
            "Filter",
            "Distinct",
        ),
        _first,
    ),
}
