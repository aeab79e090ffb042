"""The types of expressions, as Spark writes them: of columns, functions, sums and products.

Where Spark's rules are not plain, a type is unknown rather than wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

from sqlglot import exp

from frazil.quoting import quoted

UNKNOWN = "unknown"
"""A type that only Spark can tell."""

VOID = "void"
"""The type of NULL."""

_WHOLE = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}
"""Whole numbers by width, and the digits that Spark counts for each."""

_INEXACT = ("float", "double")
_MOST = 38


def _decimal(kind: str) -> tuple[int, int] | None:
    """Digits and scale of a decimal, or of the one that holds a whole number."""
    if kind in _WHOLE:
        return _WHOLE[kind], 0
    match = re.fullmatch(r"decimal\((\d+),(\d+)\)", kind)
    return (int(match[1]), int(match[2])) if match else None


def element(kind: str) -> str:
    """What `[...]` picks: an array's element, or a map's value."""
    if kind.startswith("array<"):
        return kind[6:-1]
    return list(_parts(kind[4:-1]))[-1] if kind.startswith("map<") else UNKNOWN


def fields(kind: str) -> dict[str, str]:
    """The fields of a struct; of an array of structs each is an array."""
    if kind.startswith("array<struct<"):
        return {name: f"array<{inner}>" for name, inner in fields(kind[6:-1]).items()}
    return dict(map(_field, _parts(kind[7:-1]))) if kind.startswith("struct<") else {}


def _field(text: str) -> tuple[str, str]:
    match = re.fullmatch(r"\s*(?:`((?:[^`]|``)+)`|([^:]+?))\s*:\s*(.+)", text)
    if match is None:
        return text, UNKNOWN
    return (match[1] or match[2]).replace("``", "`"), match[3]


def _parts(text: str) -> Iterator[str]:
    """Split at commas that are in no brackets and no quotes."""
    depth = start = 0
    quoted = False
    for i, sign in enumerate(text):
        quoted ^= sign == "`"
        depth += 0 if quoted else (sign in "<(") - (sign in ">)")
        if sign == "," and not depth and not quoted:
            yield text[start:i]
            start = i + 1
    yield text[start:]


def wider(a: str, b: str) -> str:
    """The type that holds the values of both, where Spark's rules are plain; else unknown."""
    if a == b or VOID in (a, b):
        return a if b == VOID else b
    if a in _WHOLE and b in _WHOLE:
        return max(a, b, key=lambda kind: _WHOLE[kind])
    if "double" in (a, b) and all(kind in _INEXACT or _decimal(kind) for kind in (a, b)):
        return "double"
    if (one := _decimal(a)) and (two := _decimal(b)):
        scale = max(one[1], two[1])
        digits = max(one[0] - one[1], two[0] - two[1]) + scale
        return f"decimal({digits},{scale})" if digits <= _MOST else UNKNOWN
    return "timestamp" if {a, b} == {"date", "timestamp"} else UNKNOWN


def _summed(kind: str) -> str:
    """The type of a sum."""
    if kind in _WHOLE:
        return "bigint"
    if parts := _decimal(kind):
        return f"decimal({min(_MOST, parts[0] + 10)},{parts[1]})"
    return "double" if kind in _INEXACT else UNKNOWN


def _arithmetic(sign: str, a: str, b: str) -> str:
    """The type of `a sign b`, of numbers."""
    one, two = _decimal(a), _decimal(b)
    if a in _WHOLE and b in _WHOLE:
        return "double" if sign == "/" else wider(a, b)
    if one and two:
        return _of_decimals(sign, *one, *two)
    if a == b == "float":
        return "double" if sign == "/" else "float"
    return wider(a, b) if "double" in (a, b) else UNKNOWN


def _of_decimals(sign: str, p1: int, s1: int, p2: int, s2: int) -> str:
    """https://spark.apache.org/docs/latest/sql-ref-ansi-compliance.html#arithmetic-operations."""
    match sign:
        case "+" | "-":
            scale = max(s1, s2)
            return _adjusted(max(p1 - s1, p2 - s2) + scale + 1, scale)
        case "*":
            return _adjusted(p1 + p2 + 1, s1 + s2)
        case "/":
            scale = max(6, s1 + p2 + 1)
            return _adjusted(p1 - s1 + s2 + scale, scale)
        case "%":
            scale = max(s1, s2)
            return _adjusted(min(p1 - s1, p2 - s2) + scale, scale)
        case _:
            return UNKNOWN


def _adjusted(precision: int, scale: int) -> str:
    """Digits before the point are kept; those behind it are given up, but for six."""
    if precision > _MOST:
        scale = max(_MOST - (precision - scale), min(scale, 6))
    return f"decimal({min(precision, _MOST)},{scale})"


@dataclass(frozen=True, slots=True)
class Named:
    """The types of what an expression names: columns and parameters."""

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
    digits = node.name.lstrip("0") or "0"
    if len(digits) > 19 or int(digits) >= 2**63:  # Python reads 4,300 digits at most
        return f"decimal({len(digits)},0)"
    return "int" if int(digits) < 2**31 else "bigint"


def _decimal_literal(text: str) -> str:
    whole, _, fraction = text.partition(".")
    return f"decimal({max(len((whole + fraction).lstrip('0')), len(fraction))},{len(fraction)})"


def _signed(sign: str) -> _Rule:
    def rule(node: exp.Binary, named: Named) -> str:
        kinds = [type_of(part, named) for part in (node.this, node.expression)]
        if "interval" in kinds:  # plus and minus are for times, too
            times = [kind for kind in kinds if kind.startswith("timestamp")]
            return times[0] if times else UNKNOWN
        return _arithmetic(sign, _beside(node.this, *kinds), _beside(node.expression, *reversed(kinds)))

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


def _widest(nodes: Iterable[exp.Expr], named: Named) -> str:
    """The type that holds the values of all."""
    return reduce(wider, (type_of(node, named) for node in nodes), VOID)


def _average(node: exp.Avg, named: Named) -> str:
    kind = type_of(node.this, named)
    if kind == UNKNOWN:
        return UNKNOWN
    parts = _decimal(kind) if kind.startswith("decimal") else None
    return f"decimal({min(38, parts[0] + 4)},{min(38, parts[1] + 4)})" if parts else "double"


def _text(node: exp.Expr, named: Named) -> str:
    """The type of `||`, of strings only: it joins arrays and bytes, too."""
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


_FIRST = "Paren Neg Abs Nullif Min Max First Last AnyValue ArgMax ArgMin Filter Distinct"
"""What is of the type of its first argument."""

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
    "Bracket": lambda node, named: element(type_of(node.this, named)),
    "Dot": lambda node, named: fields(type_of(node.this, named)).get(node.name, UNKNOWN),
    "DateDiff": lambda node, _: "bigint" if node.args.get("unit") else "int",
    "Case": _case,
    "If": _if,
    "Coalesce": _all_of_them,
    "Greatest": _all_of_them,
    "Least": _all_of_them,
    "Sum": lambda node, named: _summed(type_of(node.this, named)),
    "Avg": _average,
    "DPipe": _text,
    "Concat": _text,
    "Struct": _struct,
    "window": _window,
    "session_window": _window,
    **dict.fromkeys(_FIRST.split(), _first),
}
