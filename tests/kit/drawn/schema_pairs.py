"""Random pairs of schemas, made change by change, so that what the rules must say of them is known."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

from hypothesis import strategies as st

from frazil.formats.logical import Decimal, Field, List, Map, Primitive, Struct, Type

__all__ = ["Expected", "Pair", "schema_pairs"]

Expected = tuple[str, str, str]
"""Path, change, outcome."""

_KINDS = ("boolean", "int", "long", "float", "double", "string", "binary", "date", "timestamp", "timestamptz")
LEAVES: tuple[Type, ...] = (*(Primitive(k) for k in _KINDS), Decimal(9, 2), Decimal(12, 2), Decimal(12, 4))  # type: ignore[arg-type]
WIDER = (
    (Primitive("int"), Primitive("long")),
    (Primitive("float"), Primitive("double")),
    (Decimal(9, 2), Decimal(12, 2)),
)
KEYS = (Primitive("string"), Primitive("int"), Primitive("long"))
DEEPEST = 3


@dataclass(frozen=True, slots=True)
class Pair:
    """A table's columns, what a newer schema asks for, and what the rules must say."""

    have: Struct
    wanted: Struct
    expected: tuple[Expected, ...]

    @property
    def is_refused(self) -> bool:
        """Whether any change is refused."""
        return any(outcome == "refused" for _, _, outcome in self.expected)


class _Maker:
    """Draws one pair; `allowed_only` leaves the refused changes out."""

    def __init__(self, draw: st.DrawFn, allowed_only: bool) -> None:
        self._draw = draw
        self._allowed_only = allowed_only
        self._names = (f"f{n}" for n in count())
        self.expected: list[Expected] = []

    def struct(self, path: str, depth: int) -> tuple[Struct, Struct]:
        have, wanted = [], []
        moves = ["keep", "keep", "keep", "add", "add default"]
        moves += [] if self._allowed_only else ["add required", "drop"]
        # One field stays at least: a struct without fields is no column.
        for move in ["keep", *self._draw(st.lists(st.sampled_from(moves), max_size=5))]:
            name = next(self._names)
            where = f"{path}.{name}".lstrip(".")
            if move == "keep":
                old, new = self.field(name, where, depth)
                have.append(old)
                wanted.append(new)
            elif move == "drop":
                have.append(self.new_field(name, depth))
                self.expected.append((where, "drop", "refused"))
            else:
                wanted.append(self.added(name, where, move, depth))
        return Struct(tuple(have)), Struct(tuple(self.shuffled(path, have, wanted)))

    def shuffled(self, path: str, have: list[Field], wanted: list[Field]) -> list[Field]:
        order: list[Field] = self._draw(st.permutations(wanted))
        known = [f.name for f in have]
        kept = [f.name for f in order if f.name in known]
        if kept != sorted(kept, key=known.index):
            self.expected.append((path, "reorder", "no change"))
        return order

    def added(self, name: str, where: str, move: str, depth: int) -> Field:
        made = self.new_field(name, depth, optional=move == "add", defaulted=move == "add default")
        self.expected.append((where, "add", "refused" if move == "add required" else "applied"))
        return made

    def new_field(self, name: str, depth: int, optional: bool = True, defaulted: bool = False) -> Field:
        return Field(name, self.any_type(depth), optional, defaulted=defaulted)

    def field(self, name: str, where: str, depth: int) -> tuple[Field, Field]:
        old, new = self.types(where, depth)
        was, now = self._draw(st.booleans()), self._draw(st.booleans())
        if was != now:
            self.expected.append((where, *(("relax", "applied") if now else ("tighten", "no change"))))
        return Field(name, old, was), Field(name, new, now)

    def types(self, path: str, depth: int) -> tuple[Type, Type]:
        changes = ["same", "widen", "narrow", *([] if self._allowed_only else ["retype"])]
        nested = ["struct", "list", "map"] if depth < DEEPEST else []
        match self._draw(st.sampled_from([*changes, *nested])):
            case "same":
                kind = self._draw(st.sampled_from(LEAVES))
                return kind, kind
            case "widen":
                self.expected.append((path, "widen", "applied"))
                return self._draw(st.sampled_from(WIDER))
            case "narrow":
                self.expected.append((path, "widen", "no change"))
                narrow, wide = self._draw(st.sampled_from(WIDER))
                return wide, narrow
            case "retype":
                return self.retyped(path, depth)
            case "struct":
                return self.struct(path, depth + 1)
            case "list":
                old, new = self.field("element", f"{path}[]", depth + 1)
                return List(old.type, old.optional), List(new.type, new.optional)
            case _:
                return self.maps(path, depth)

    def maps(self, path: str, depth: int) -> tuple[Type, Type]:
        old, new = self.field("value", f"{path}{{}}", depth + 1)
        key = other = self._draw(st.sampled_from(KEYS))
        if not self._allowed_only and self._draw(st.booleans()):
            other = self._draw(st.sampled_from([k for k in KEYS if k != key]))
            self.expected.append((f"{path}{{key}}", "retype", "refused"))
        return Map(key, old.type, old.optional), Map(other, new.type, new.optional)

    def retyped(self, path: str, depth: int) -> tuple[Type, Type]:
        old = self.any_type(depth)
        known = [{a, b} for a, b in WIDER]
        others = [k for k in LEAVES if k != old and {k, old} not in known]
        self.expected.append((path, "retype", "refused"))
        return old, self._draw(st.sampled_from(others))

    def any_type(self, depth: int) -> Type:
        match (
            self._draw(st.sampled_from(["leaf", "leaf", "list", "map", "struct"]))
            if depth < DEEPEST
            else "leaf"
        ):
            case "list":
                return List(self.any_type(depth + 1), self._draw(st.booleans()))
            case "map":
                return Map(self._draw(st.sampled_from(KEYS)), self.any_type(depth + 1), True)
            case "struct":
                return Struct((self.new_field("x", depth + 1), self.new_field("y", depth + 1)))
            case _:
                return self._draw(st.sampled_from(LEAVES))


@st.composite
def schema_pairs(draw: st.DrawFn, allowed_only: bool = False) -> Pair:
    """Pairs with up to some dozens of changes, at any depth."""
    maker = _Maker(draw, allowed_only)
    have, wanted = maker.struct("", 0)
    return Pair(have, wanted, tuple(maker.expected))
