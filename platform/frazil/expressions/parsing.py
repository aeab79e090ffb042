"""Reads expressions in SQL: what is not known here is refused, and so nothing else is ever computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from frazil.expressions.tree import Aggregate, Call, Column, Constant, Expression, Node, Now, aggregate_name

if TYPE_CHECKING:
    from sqlglot import exp

KNOWN = (
    "=, <>, <, <=, >, >=, and, or, not, is null, in (...), between, like, ilike, rlike, +, -, *, /, case, "
    "coalesce, abs, length, lower, upper, trim, size, isnan, now(), interval 1 hour, date '...', "
    "timestamp '...', and over all rows count, count_if, sum, avg, min, max"
)
"""What expressions are made of, for people."""

MICROS = {
    "MICROSECOND": 1, "MILLISECOND": 1000, "SECOND": 10**6, "MINUTE": 60 * 10**6, "HOUR": 3600 * 10**6,
    "DAY": 86_400 * 10**6, "WEEK": 7 * 86_400 * 10**6,
}  # fmt: skip
"""Microseconds of the units of intervals."""

_CALLS = {
    "EQ": "=", "NEQ": "<>", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">=", "Not": "not",
    "Add": "+", "Sub": "-", "Mul": "*", "Div": "/", "Neg": "negative", "Abs": "abs",
    "Like": "like", "ILike": "ilike", "RegexpLike": "rlike", "Length": "length", "Lower": "lower",
    "Upper": "upper", "Trim": "trim", "IsNan": "isnan", "ArraySize": "size",
}  # fmt: skip
"""Names of calls by sqlglot's classes."""

_NAMED = {"size": "size", "cardinality": "size", "char_length": "length", "isnan": "isnan"}
_ARGUMENTS = ("this", "expression")
_AGGREGATES = {
    "Count": "count",
    "CountIf": "count_if",
    "Sum": "sum",
    "Avg": "avg",
    "Min": "min",
    "Max": "max",
}
_LONGEST, _DEEPEST = 10_000, 100
"""Most signs of an expression, and levels of brackets and signs: what computes it goes down them all."""


def read_expression(text: str) -> Expression:
    """An expression over rows.

    Raises:
        ValueError: It is none, or has a part that is not known; says which.
    """
    reading = _Reading()
    root = reading.node(_tree(text))
    expression = Expression(text, root, tuple(reading.aggregates))
    if expression.aggregates and reading.bare:
        names = ", ".join(".".join(path) for path in reading.bare)
        raise ValueError(f"{names} stands beside an aggregate; write it within one, such as max({names})")
    return expression


def _tree(text: str) -> exp.Expr:
    import sqlglot
    from sqlglot.errors import SqlglotError

    if len(text) > _LONGEST:
        raise ValueError(f"it has more than {_LONGEST:,} signs")
    try:
        statements = sqlglot.parse(text)
    except (SqlglotError, RecursionError) as e:
        problem: dict[str, Any] = next(iter(getattr(e, "errors", ())), {})
        near = problem.get("highlight") or ""
        raise ValueError(f"not understood{f' at {near!r}' if near else ''}") from None
    if len(statements) != 1 or statements[0] is None:
        raise ValueError("one expression is expected")
    return statements[0]


@dataclass
class _Reading:
    """Reads one expression, and notes its aggregates."""

    aggregates: list[Aggregate] = field(default_factory=list)
    bare: list[tuple[str, ...]] = field(default_factory=list)  # columns outside of aggregates
    within: bool = False
    depth: int = 0

    def node(self, of: exp.Expr) -> Node:
        """A part of the expression."""
        if self.depth >= _DEEPEST:
            raise ValueError("it is too deep")
        self.depth += 1
        try:
            return self._node(of)
        finally:
            self.depth -= 1

    def _node(self, of: exp.Expr) -> Node:
        word = type(of).__name__
        if word in _AGGREGATES:
            return self._aggregate(of, _AGGREGATES[word])
        if special := _SPECIAL.get(word):
            return special(self, of)
        if word == "Anonymous":
            return self._named(of)
        if word in _CALLS and not _others(of):
            given = (of.args[name] for name in _ARGUMENTS if of.args.get(name))
            return Call(_CALLS[word], tuple(map(self.node, given)))
        raise _unknown(of)

    def _named(self, of: exp.Expr) -> Node:
        """A function that sqlglot knows by its name alone."""
        name, given = of.name.lower(), of.expressions
        if name == "now" and not given:
            return Now()
        if name in _NAMED and len(given) == 1:
            return Call(_NAMED[name], (self.node(given[0]),))
        raise _unknown(of)

    def _aggregate(self, of: Any, name: str) -> Node:
        if self.within:
            raise ValueError(f"{of.sql()!r} is an aggregate within another one")
        if _others(of) - {"big_int"}:
            raise ValueError(f"{of.sql()!r}: an aggregate takes one value")
        self.within = True
        node = self._counted(of.this) if name == "count" else Aggregate(name, self.node(of.this))
        self.within = False
        if node not in self.aggregates:
            self.aggregates.append(node)
        return Column((aggregate_name(self.aggregates.index(node)),))

    def _counted(self, of: Any) -> Aggregate:
        word = type(of).__name__
        if word == "Star":
            return Aggregate("count")
        if word == "Distinct" and len(of.expressions) == 1:
            return Aggregate("count_distinct", self.node(of.expressions[0]))
        if word == "Distinct":
            raise ValueError("count(distinct ...) takes one value")
        return Aggregate("count", self.node(of))

    def column(self, of: exp.Column) -> Node:
        """A column by its parts."""
        path = tuple(part.name for part in of.parts)
        if not self.within and path not in self.bare:
            self.bare.append(path)
        return Column(path)

    def dotted(self, of: exp.Dot) -> Node:
        """A field of a field of a field of a field of a column."""
        inner = self.node(of.this)
        if not isinstance(inner, Column):
            raise _unknown(of)
        if inner.path in self.bare:
            self.bare.remove(inner.path)
        column = Column((*inner.path, of.expression.name))
        if not self.within:
            self.bare.append(column.path)
        return column

    def branches(self, of: exp.Case) -> Node:
        """CASE WHEN; with a value behind CASE each branch compares with it."""
        default = of.args.get("default")
        node: Node = self.node(default) if default else Constant("null", "")
        for branch in reversed(of.args["ifs"]):
            condition = self.node(branch.this)
            if of.this:
                condition = Call("=", (self.node(of.this), condition))
            node = Call("if", (condition, self.node(branch.args["true"]), node))
        return node

    def listed(self, of: exp.In) -> Node:
        """IN, of values that stand there."""
        if _others(of) - {"expressions"} or not of.expressions:
            raise ValueError(f"{of.sql()!r}: write the values, as in x in (1, 2)")
        value = self.node(of.this)
        return joined("or", [Call("=", (value, self.node(each))) for each in of.expressions])

    def chained(self, of: exp.Connector) -> Node:
        """AND, OR: of as many parts as a program may write."""
        return joined(type(of).__name__.lower(), [self.node(part) for part in of.flatten(unnest=False)])

    def between(self, of: exp.Between) -> Node:
        """BETWEEN, both ends included."""
        value = self.node(of.this)
        low, high = (self.node(of.args[end]) for end in ("low", "high"))
        return Call("and", (Call(">=", (value, low)), Call("<=", (value, high))))

    def is_(self, of: exp.Is) -> Node:
        """IS NULL, IS TRUE, IS FALSE."""
        what = type(of.expression).__name__
        if what == "Null":
            return Call("is null", (self.node(of.this),))
        if what == "Boolean":
            value = self.node(of.this)
            wanted = value if of.expression.this else Call("not", (value,))
            return Call("coalesce", (wanted, Constant("boolean", "false")))
        raise _unknown(of)

    def coalesced(self, of: exp.Coalesce) -> Node:
        """The first value that is not null."""
        return Call("coalesce", tuple(map(self.node, [of.this, *of.expressions])))


def joined(name: str, parts: Sequence[Node]) -> Node:
    """All parts; no branch is deeper than it must be."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return Call(name, (joined(name, parts[:half]), joined(name, parts[half:])))


def _others(of: exp.Expr) -> set[str]:
    """Arguments beyond those that a call takes."""
    return {name for name, value in of.args.items() if value}.difference(_ARGUMENTS)


def _unknown(of: exp.Expr) -> ValueError:
    return ValueError(f"{of.sql()!r} is not known here; known are {KNOWN}")


def _literal(_: _Reading, of: Any) -> Node:
    if of.is_string:
        return Constant("text", of.name)
    text = of.name.lower()
    kind = "double" if "e" in text else "decimal" if "." in text else "whole"
    if kind != "double" and len(text.replace(".", "").lstrip("0")) > 38:
        raise ValueError(f"{of.name} has more than 38 digits")
    return Constant(kind, text)


def _typed(_: _Reading, of: Any) -> Node:
    """DATE '...' and TIMESTAMP '...', which sqlglot reads as casts."""
    kind = {"DATE": "date", "TIMESTAMP": "timestamp", "TIMESTAMPTZ": "timestamp"}.get(of.to.sql())
    if kind is None or type(of.this).__name__ != "Literal" or not of.this.is_string:
        raise ValueError(f"{of.sql()!r} is not known here: values keep their types")
    return Constant(kind, of.this.name)


def _interval(_: _Reading, of: Any) -> Node:
    unit = (of.unit.name if of.unit else "").upper().removesuffix("S")
    number = of.this.name if of.this else ""
    if unit not in MICROS or not number.isdecimal() or len(number) > 9:
        raise ValueError(f"{of.sql()!r}: write interval 90 minute; months have no one length")
    return Constant("interval", str(int(number) * MICROS[unit]))


_SPECIAL: dict[str, Callable[[_Reading, Any], Node]] = {
    "Column": _Reading.column,
    "Dot": _Reading.dotted,
    "Paren": lambda reading, of: reading.node(of.this),
    "Case": _Reading.branches,
    "In": _Reading.listed,
    "And": _Reading.chained,
    "Or": _Reading.chained,
    "Between": _Reading.between,
    "Is": _Reading.is_,
    "Coalesce": _Reading.coalesced,
    "Literal": _literal,
    "Cast": _typed,
    "Interval": _interval,
    "CurrentTimestamp": lambda *_: Now(),
    "Boolean": lambda _, of: Constant("boolean", "true" if of.this else "false"),
    "Null": lambda *_: Constant("null", ""),
}
"""What is more than a call of its arguments, by sqlglot's classes."""
