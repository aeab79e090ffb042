"""Expressions of SQL over the values of one record. Source: docs/checks.md, "What a check may say".

Whole numbers and decimals are exact. Moments and intervals are microseconds, dates are days. Of null comes
null.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from frazil_verify.filters.reading import Tree
from frazil_verify.filters.texts import FUNCTIONS, PATTERNS, constant_of
from frazil_verify.findings import UnverifiableError
from frazil_verify.table.metadata import columns_of
from frazil_verify.values.bad import NotComparedError

Record = Mapping[str, Any]
Take = Callable[[Record], Any]

_DAY = 86_400 * 1_000_000
_KINDS = {
    "boolean": "boolean", "int": "exact", "long": "exact", "float": "single", "double": "double",
    "string": "text", "binary": "bytes", "date": "date", "timestamp": "timestamp", "timestamptz": "timestamp",
}  # fmt: skip
_NUMBERS = ("exact", "single", "double")
_TIMES = ("date", "timestamp")
_SIGNS: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge, "+": operator.add, "-": operator.sub, "*": operator.mul,
}  # fmt: skip


@dataclass(frozen=True)
class Part:
    """A part of an expression: the kind of its values, and what computes one.

    Args:
        constant: Its value, where it is a text that stands there.
    """

    kind: str
    take: Take
    constant: str | None = None


def computed(tree: Tree, types: Mapping[str, Any]) -> Part:
    """What computes an expression over columns of these types.

    Raises:
        UnverifiableError: It asks for what is not known here.
    """
    name, *rest = tree
    if name == "column":
        return _column(rest[0], types)
    if name == "constant":
        kind, value = rest
        made = constant_of(kind, value) if kind in _TIMES else value
        return Part(kind, lambda _: made, value if kind == "text" else None)
    return _call(name, [computed(part, types) for part in rest])


def _call(name: str, parts: list[Part]) -> Part:
    if name in ("and", "or"):
        return Part("boolean", _LOGIC[name](*(_truth(part) for part in parts)))
    if name in PATTERNS:
        return _pattern(name, *parts)
    if name in _SPECIAL:
        return _SPECIAL[name](*parts)
    if name in FUNCTIONS:
        return _function(name, parts[0])
    one, two = _alike(*parts)
    if name in ("=", "<>", "<", "<=", ">", ">="):
        return _compared(name, one, two)
    return _moved(name, one, two)


def _column(names: Iterable[str], types: Mapping[str, Any]) -> Part:
    first, *inner = names
    if first not in types:
        raise UnverifiableError(f"its where names {first}, which the verifier can't read")
    kind, places = types[first], []
    for name in inner:
        fields = columns_of(kind) if _is_struct(kind) else ()
        at = next((at for at, field in enumerate(fields) if field.name == name), None)
        if at is None:
            raise UnverifiableError(f"its where names {name} in {first}, which the verifier can't read")
        places.append(at)
        kind = fields[at].type
    word, made = _plain(kind)
    return Part(word, _some(lambda record: _within(record.get(first), places), made))


def _within(value: Any, places: list[int]) -> Any:
    for at in places:
        if value is None:
            return None
        value = value[at]
    return value


def _plain(kind: Any) -> tuple[str, Callable[[Any], Any]]:
    """The kind of a column's values, and how a canonical value is computed with."""
    if not isinstance(kind, str):
        return "many", lambda value: value
    if kind.startswith("decimal("):
        factor = 10 ** int(kind.removesuffix(")").split(",")[1])
        return "exact", lambda value: Fraction(value, factor)
    if kind not in _KINDS:
        raise UnverifiableError(f"its where asks for a {kind}, which the verifier does not compute with")
    return _KINDS[kind], lambda value: value


def _some(take: Take, made: Callable[[Any], Any]) -> Take:
    def of(record: Record) -> Any:
        value = take(record)
        return None if value is None else made(value)

    return of


def _both(one: Part, two: Part, made: Callable[[Any, Any], Any]) -> Take:
    def of(record: Record) -> Any:
        first, second = one.take(record), two.take(record)
        return None if first is None or second is None else made(first, second)

    return of


def _truth(part: Part) -> Take:
    if part.kind not in ("boolean", "null"):
        raise UnverifiableError(f"its where takes a {part.kind} for true or false")
    return part.take


def _and(one: Take, two: Take) -> Take:
    def of(record: Record) -> Any:
        values = one(record), two(record)
        return False if False in values else None if None in values else True

    return of


def _or(one: Take, two: Take) -> Take:
    def of(record: Record) -> Any:
        values = one(record), two(record)
        return True if True in values else None if None in values else False

    return of


def _not(part: Part) -> Part:
    return Part("boolean", _some(_truth(part), operator.not_))


def _is_null(part: Part) -> Part:
    return Part("boolean", lambda record: part.take(record) is None)


def _alike(one: Part, two: Part) -> tuple[Part, Part]:
    """Two parts of kinds that go together: a text that stands there becomes what stands beside it."""
    if one.kind != "text" and two.constant is not None:
        return one, _as(one.kind, two)
    if two.kind != "text" and one.constant is not None:
        return _as(two.kind, one), two
    return one, two


def _as(kind: str, part: Part) -> Part:
    if kind == "null":
        return part
    value = constant_of(kind, str(part.constant))
    return Part(kind, lambda _: value)


def _compared(name: str, one: Part, two: Part) -> Part:
    kinds, sign = {one.kind, two.kind} - {"null"}, _SIGNS[name]
    if "single" in kinds and len(kinds) > 1:
        return Part("boolean", _both(one, two, lambda a, b: _of_singles(sign, a, b)))
    if kinds <= {*_NUMBERS} and len(kinds) > 1:
        return Part("boolean", _both(one, two, lambda a, b: sign(float(a), float(b))))
    if kinds == {*_TIMES}:
        one, two = _moment(one), _moment(two)
    elif len(kinds) > 1 or "many" in kinds:
        raise UnverifiableError(f"its where compares {' with '.join(sorted(kinds))}")
    return Part("boolean", _both(one, two, sign))


def _of_singles(sign: Callable[[Any, Any], Any], one: Any, two: Any) -> Any:
    """A float beside another number, where rounding that to a float or not makes no difference."""
    exact, near = sign(float(one), float(two)), sign(_single(one), _single(two))
    if exact != near:
        raise NotComparedError("a float beside a number that is none")
    return exact


def _single(value: Any) -> float:
    try:
        near: float = struct.unpack("f", struct.pack("f", float(value)))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return near


def _moment(part: Part) -> Part:
    return part if part.kind != "date" else Part("timestamp", _some(part.take, lambda days: days * _DAY))


def _moved(name: str, one: Part, two: Part) -> Part:
    kinds = {one.kind, two.kind} - {"null"}
    if name == "/" and kinds <= {*_NUMBERS}:
        return Part("double", _both(one, two, lambda a, b: float(a) / float(b) if b else None))
    if kinds <= {"exact"}:
        return Part("exact", _both(one, two, _SIGNS[name]))
    if kinds <= {"exact", "double"}:
        sign = _SIGNS[name]
        return Part("double", _both(one, two, lambda a, b: sign(float(a), float(b))))
    if name in ("+", "-") and kinds <= {*_TIMES, "interval"}:
        return _of_times(name, _moment(one), _moment(two))
    raise UnverifiableError(f"its where computes {name} of {' and '.join(sorted(kinds))}")


def _of_times(name: str, one: Part, two: Part) -> Part:
    moments = sum(part.kind == "timestamp" for part in (one, two))
    if moments == 2 and name == "+":
        raise UnverifiableError("its where adds two moments")
    return Part("timestamp" if moments == 1 else "interval", _both(one, two, _SIGNS[name]))


def _either(condition: Take, one: Part, two: Part) -> Part:
    one, two = _alike(one, two)
    kinds = {one.kind, two.kind} - {"null"}
    if kinds == {"exact", "double"}:
        one, two = (Part("double", _some(part.take, float)) for part in (one, two))
    elif len(kinds) > 1:
        raise UnverifiableError(f"its where has a value of {' or '.join(sorted(kinds))}")
    kind = next((part.kind for part in (one, two) if part.kind != "null"), "null")
    constant = one.constant if one.constant == two.constant else None
    return Part(kind, lambda r: one.take(r) if condition(r) is True else two.take(r), constant)


def _if(condition: Part, one: Part, two: Part) -> Part:
    return _either(_truth(condition), one, two)


def _coalesced(*parts: Part) -> Part:
    first, *others = parts
    if not others:
        return first
    return _either(lambda record: first.take(record) is not None, first, _coalesced(*others))


def _pattern(name: str, value: Part, pattern: Part) -> Part:
    if pattern.constant is None or value.kind not in ("text", "null"):
        raise UnverifiableError(f"its where has {name} of something else than a text and a pattern")
    return Part("boolean", _some(value.take, PATTERNS[name](pattern.constant)))


def _function(name: str, part: Part) -> Part:
    takes, kind, made = FUNCTIONS[name]
    if part.kind not in (*takes, "null"):
        raise UnverifiableError(f"its where has {name} of a {part.kind}")
    return Part(kind or part.kind, _some(part.take, made))


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, Mapping) and kind["type"] == "struct"


_LOGIC = {"and": _and, "or": _or}
_SPECIAL: Mapping[str, Callable[..., Part]] = {
    "not": _not, "null?": _is_null, "if": _if, "coalesce": _coalesced,
}  # fmt: skip
