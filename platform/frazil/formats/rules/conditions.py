"""Conditions in CEL as expressions over columns: true, false, or null where CEL has an error.

Null stands for an error since both go through logic in the same way: `false && error` is false, and
`true || error` is true, in any order. A record passes where its condition is true. What columns can't tell as
CEL does is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from frazil.expressions.parsing import joined
from frazil.expressions.tree import Call, Column, Constant, Expression, Node
from frazil.formats.logical import Field, List, Map, Primitive, Struct, Type
from frazil.formats.rules.syntax import KNOWN, Applied, Listed, Name, Term, read_cel

_KINDS = {
    "string": "text", "boolean": "boolean", "int": "whole", "long": "whole",
    "float": "float", "double": "double", "binary": "bytes",
}  # fmt: skip
_NUMBERS = ("whole", "float", "double")
_ALIKE = ({"text"}, {"boolean"})
_LOGIC = {"&&": "and", "||": "or"}
_ORDERS = ("<", "<=", ">", ">=")
_OF_TEXTS = {"startsWith": "starts with", "endsWith": "ends with", "contains": "contains", "matches": "rlike"}
_NULL = Constant("null", "")


@dataclass(frozen=True, slots=True)
class _Value:
    """A part of a condition.

    Args:
        kind: text, boolean, whole, float, double, bytes, list, record or null.
        fine: Where it is no error, though it may be null; empty where that is everywhere.
        unsure: Whether null may be an error, too: a JSON record that lacks the field, or has null in it.
    """

    node: Node
    kind: str
    fine: tuple[Node, ...] = ()
    unsure: bool = False


def condition_of(text: str, columns: Struct, *, may_lack: bool) -> Expression:
    """What records pass, as Confluent's clients have it: `guard; condition`, or the condition alone.

    Args:
        columns: Of the records, as they are decoded.
        may_lack: Whether a record may lack a field, which is an error to CEL, where a column has null.

    Raises:
        ValueError: It can't be asked of columns; says why.
    """
    guard, _, rest = text.partition(";") if ";" in text else ("", "", text)
    reading = _Reading(columns, may_lack)
    root = reading.truth(read_cel(rest), True)
    if guard.strip():
        guarded = reading.truth(read_cel(guard), None)
        root = Call("or", (Call("not", (guarded,)), Call("and", (guarded, root))))
    return Expression(text, root)


@dataclass(frozen=True, slots=True)
class _Reading:
    """Reads conditions over one record's columns.

    `wanted` says which answer lets a record pass: true, false, or None where either may. So it is known where
    a false answer may stand for an error: both make the record bad.
    """

    columns: Struct
    may_lack: bool

    def truth(self, term: Term, wanted: bool | None) -> Node:
        """What is true or false; raises ValueError where it is neither."""
        value = self._value(term, wanted)
        if value.kind != "boolean":
            raise ValueError(f"it is {value.kind}, not true or false")
        return value.node

    def _value(self, term: Term, wanted: bool | None = None) -> _Value:
        match term:
            case Constant():
                return _Value(term, term.kind)
            case Name():
                return self._column(term)
            case Applied(("&&" | "||") as sign, parts):
                return _Value(joined(_LOGIC[sign], [self.truth(part, wanted) for part in parts]), "boolean")
            case Applied("!", (inner,)):
                flipped = None if wanted is None else not wanted
                return _boolean(Call("not", (self.truth(inner, flipped),)))
            case Applied("?:", (asked, one, two)):
                return self._chosen(asked, one, two, wanted)
            case Applied("==" | "!=", (one, two)):
                return self._compared(term.name == "!=", self._value(one), self._value(two), wanted)
            case Applied("in", (one, Listed(of))) if of:
                value = self._value(one)
                equal = (self._compared(False, value, self._value(each), wanted).node for each in of)
                return _boolean(joined("or", [*equal]))
            case Applied():
                return _applied(term, [self._value(part) for part in term.of])
        raise ValueError("a list stands where none is known")

    def _column(self, name: Name) -> _Value:
        root, *path = name.path
        if root != "message" or not path:
            raise ValueError(f"{'.'.join(name.path)} is not known here; known are {KNOWN}")
        fields = [*_fields(self.columns, path)]
        fine = tuple(
            _is_there(Column(tuple(path[: depth + 1])))
            for depth, own in enumerate(fields[:-1])
            if own.optional
        )
        kind, unsure = _kind(fields[-1].type, name), self.may_lack and any(f.optional for f in fields)
        if kind == "double" and self.may_lack:
            kind = "float"  # JSON may write such a number as a whole one, which CEL does not add to others
        return _Value(Column(tuple(path)), kind, fine, unsure)

    def _chosen(self, asked: Term, one: Term, two: Term, wanted: bool | None) -> _Value:
        guarded = self.truth(asked, None)
        parts = self.truth(one, wanted), self.truth(two, wanted)
        return _boolean(Call("if", (Call("is null", (guarded,)), _NULL, Call("if", (guarded, *parts)))))

    def _compared(self, differs: bool, one: _Value, two: _Value, wanted: bool | None) -> _Value:
        """Whether two values are equal: null is equal to null, and to nothing else."""
        kinds = {one.kind, two.kind}
        of_null = "null" in kinds and len(kinds) == 2
        if not of_null and not kinds <= {*_NUMBERS} and kinds not in _ALIKE:
            raise ValueError(f"it compares {one.kind} with {two.kind}")
        unsure = [value for value in (one, two) if value.unsure]
        if unsure and (of_null or wanted is differs or wanted is None):
            names = ", ".join(".".join(v.node.path) for v in unsure if isinstance(v.node, Column))
            raise ValueError(f"a record may lack {names}, or have null there: its column is null for both")
        equal = _equal(one, two)
        fine = [*one.fine, *two.fine, *(_is_there(value.node) for value in unsure)]
        answer = Call("not", (equal,)) if differs else equal
        return _boolean(Call("if", (joined("and", fine), answer, _NULL)) if fine else answer)


def _boolean(node: Node) -> _Value:
    return _Value(node, "boolean", (_is_there(node),))


def _is_there(node: Node) -> Node:
    return Call("not", (Call("is null", (node,)),))


def _equal(one: _Value, two: _Value) -> Node:
    nulls = [Call("is null", (v.node,)) for v in (one, two) if v.kind != "null"]
    if len(nulls) == 1:
        return nulls[0]
    equal = Call("=", (one.node, two.node))
    if any(isinstance(value.node, Constant) for value in (one, two)):
        return Call("coalesce", (equal, Constant("boolean", "false")))
    return Call("coalesce", (equal, Call("and", tuple(nulls))))


def _applied(term: Applied, of: Sequence[_Value]) -> _Value:
    """Signs and functions whose value is an error wherever a part is null."""
    name, kinds = term.name, [value.kind for value in of]
    parts = tuple(value.node for value in of)
    match name, kinds:
        case "size", ["text" | "bytes"]:
            return _whole(Call("length", parts))
        case "size", ["list"]:
            return _whole(Call("size", parts))
        case "-", ["whole" | "double" as kind]:
            return _negative(parts[0], kind)
        case (("+" | "-" | "*"), ["whole", "whole"] | ["double", "double"]):
            return _Value(Call(name, parts), kinds[0], (_is_there(Call(name, parts)),))
        case _, [one, two] if name in _ORDERS and (one == two == "text" or {one, two} <= {*_NUMBERS}):
            return _boolean(Call(name, parts))
        case _, ["text", "text"] if name in _OF_TEXTS and isinstance(parts[1], Constant):
            return _boolean(Call(_OF_TEXTS[name], parts))
    whose = f" of {', '.join(kinds)}" if kinds else ""
    raise ValueError(f"{name}{whose} is not known here; known are {KNOWN}")


def _whole(node: Node) -> _Value:
    return _Value(node, "whole", (_is_there(node),))


def _negative(node: Node, kind: str) -> _Value:
    if isinstance(node, Constant):
        return _Value(Constant(kind, f"-{node.text}"), kind)
    return _Value(Call("negative", (node,)), kind, (_is_there(node),))


def _fields(columns: Type, path: Sequence[str]) -> Iterator[Field]:
    for depth, name in enumerate(path):
        own = columns.get(name) if isinstance(columns, Struct) else None
        if own is None:
            raise ValueError(f"there is no column {'.'.join(path[: depth + 1])}")
        yield own
        columns = own.type


def _kind(kind: Type, name: Name) -> str:
    if isinstance(kind, List | Map | Struct):
        return "record" if isinstance(kind, Struct) else "list"
    if isinstance(kind, Primitive) and kind.kind in _KINDS and not kind.of_json:
        return _KINDS[kind.kind]
    raise ValueError(f"{'.'.join(name.path)} is {kind}, which clients see in different ways")
