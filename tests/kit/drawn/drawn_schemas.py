"""Schemas that nobody thought of: depth, unions, parts of other subjects, names; and how they change."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any
from zlib import crc32

from frazil.formats.logical import Decimal, Field, List, Map, Primitive, Struct, Type
from kit.drawn import random_records
from kit.drawn.random_formats import RandomFormat
from kit.drawn.random_records import DECIMAL, Group, Many, Maybe, Named, Scalar

__all__ = [
    "HINTS",
    "NUMBERED",
    "Change",
    "Choice",
    "Kind",
    "changed",
    "columns_of",
    "drawn",
    "groups_of",
    "later",
    "refusals",
    "value_of",
]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several; the names are those of the columns."""

    branches: tuple[tuple[str, Kind], ...]


Kind = random_records.Kind | Choice

_NAMES = (
    "where",
    "message",
    "id",
    "key",
    "value",
    "element",
    "select",
    "from",
    "order",
    "a_b",
    "x1",
    "_",
    "timestamp",
    "topic",
)
_MORE = {
    "avro": ("Größe", "camelCase", "ALL", "שלום", "قيمة", "日本"),
    "json": (
        "with-dash", "$x", "日本", "camelCase", "ALL", "a.b", "x.y", "'", '"', "1st", "@id", "שלום", "🚋",
        "-", ".", "key.id", "a[0]", "{}", "#", "%41", "null",
    ),
    "protobuf": ("zz9", "long_name", "string", "group", "optional"),
}  # fmt: skip
_KEYS = ("", "a", "Ä", "0", "a.b", "a-b", "a b", "select", "שלום", "🚋", "_", "`", "'")
"""Keys of maps."""
_REFUSED = {
    "json": ("a b", "", "tab\t", "`", "\u200f", "_pos", "$path", "METADATA$x"),
    "avro": ("_file", "_Deleted", "_row_id"), "protobuf": ("_spec_id", "_partition"),
}  # fmt: skip
"""Names that no column has, and that engines keep for themselves; the latter only where a column has them."""
_KEPT = re.compile(r"_(file|pos|deleted|spec_id|partition|row_id)|\$path|metadata\$.*", re.IGNORECASE)
HINTS = {"a_b": "a.b", "x_y": "x-y", "select": "select", "o_ש": "o-ש", "uß": "uß"}
"""Names of Avro's branches as `confluent:union` gives them, by those that their columns have."""
NUMBERED = "connect_union_field_"
"""What a branch in JSON is called whose title is no name."""
_TYPES: dict[str, Type] = {
    **{w: Primitive(w) for w in ("boolean", "int", "long", "float", "double", "string", "date")},  # type: ignore[arg-type]
    "bytes": Primitive("binary"), "enum": Primitive("string"), "moment": Primitive("timestamptz"),
    "decimal": Decimal(*DECIMAL),
}  # fmt: skip
_WIDER = {"int": "long", "float": "double"}
_BRANCHES = {"avro": ("boolean", "int", "string", "bytes", "double"), "json": ("boolean", "long", "string")}
_CHANGES = "add", "add", "widen", "relax", "tighten", "reorder", "reorder", "require", "drop", "retype"
_TWIN = 0.04
_ODD = 0.02


def drawn(dice: Random, of: RandomFormat) -> Group:
    """A record; groups called Shared are of other subjects. Some of its names may differ by case only."""
    known: list[Group] = []
    for name in ("Shared0", "Shared1", "Own0", "Own1", "Own2")[dice.randrange(3) :]:
        if dice.random() < 0.7:
            known.append(_Drawer(dice, of, known).group(name))
    return _Drawer(dice, of, known).group("Root")


class _Drawer:
    def __init__(self, dice: Random, of: RandomFormat, known: list[Group]) -> None:
        self._dice, self._of, self._known = dice, of, list(known)

    def group(self, name: str) -> Group:
        dice = self._dice
        names = dice.sample([*_NAMES, *_MORE[self._of.name]], dice.randint(1, 6))
        twin = dice.choice(names).swapcase() if dice.random() < _TWIN else ""
        names += [twin] if twin not in (*names, "") else []
        if dice.random() < _ODD:
            names += {dice.choice(_REFUSED[self._of.name])} - set(names)
        fields = tuple((each, self.kind(f"m{crc32(each.encode())}")) for each in names)
        # The entries of two maps a_b and A_B would have one name, which protoc refuses.
        return Group(
            name, tuple((n, of.of if n == twin and isinstance(of, Named) else of) for n, of in fields)
        )

    def kind(self, path: str) -> Kind:
        """A kind that a field may be of."""
        inner = self._leaf()
        shapes: list[Any] = [inner, inner, Maybe(inner), Many(inner), Named(inner)]
        if self._of.bare_nesting:
            shapes += [Many(Maybe(inner)), Named(Many(inner)), Maybe(Many(Named(inner)))]
        choice = self._choice(path)
        return self._dice.choice([*shapes, choice, Maybe(choice)])  # type: ignore[arg-type]

    def _leaf(self) -> Kind:
        if self._known and self._dice.random() < 0.5:
            return self._dice.choice(self._known)
        return Scalar(self._dice.choice(sorted(self._of.scalars)))

    def _choice(self, path: str) -> Choice:
        """Branches that a reader can tell apart; Avro and JSON name them by their types."""
        words = list(_BRANCHES.get(self._of.name, sorted(self._of.scalars)))
        kinds: list[Kind] = [Scalar(w) for w in self._dice.sample(words, self._dice.randint(2, 3))]
        if self._known:
            # Two records may fit one text, which then is neither of `oneOf`.
            most = 1 if self._of.name == "json" else min(len(self._known), self._dice.choice([1, 1, 2]))
            kinds += self._dice.sample(self._known, most)
        return Choice(tuple(zip(self._names(kinds, path), kinds, strict=True)))

    def _names(self, kinds: list[Kind], path: str) -> list[str]:
        """What the columns of a union's branches are called; each format has its rule."""
        dice, words = self._dice, [_word(kind) for kind in kinds]
        match self._of.name:
            case "protobuf":
                return [f"{path}_{n}" for n, _ in enumerate(kinds)]
            case "avro" if dice.random() < 0.3:
                return dice.sample(sorted(HINTS), len(kinds))
            case "avro":
                simple = [re.sub(r"(Own)\d", r"\1", word) for word in words]
                return [
                    name if simple.count(name) == 1 else f"n_s{word[-1]}_{name}"
                    for name, word in zip(simple, words, strict=True)
                ]
            case _:
                return [f"{NUMBERED}{n}" if dice.random() < 0.3 else word for n, word in enumerate(words)]


def _word(kind: Kind) -> str:
    return kind.word if isinstance(kind, Scalar) else getattr(kind, "name", "")


def parts(kind: Kind) -> list[Kind]:
    """What stands directly within a kind."""
    match kind:
        case Group():
            return [of for _, of in kind.fields]
        case Choice():
            return [of for _, of in kind.branches]
        case Scalar():
            return []
        case _:
            return [kind.of]


def groups_of(kind: Kind) -> dict[str, Group]:
    """All records within a kind by name, deepest first."""
    inner_groups = {name: group for part in parts(kind) for name, group in groups_of(part).items()}
    return {**inner_groups, kind.name: kind} if isinstance(kind, Group) else inner_groups


def refusals(root: Group) -> set[str]:
    """Names for which a schema must be refused: twins, what no column has, and paths that are there twice."""
    names = [[name for name, _ in group.fields] for group in groups_of(root).values()]
    twins = {n for each in names for n in each if [m.lower() for m in each].count(n.lower()) > 1}
    odd = {n for each in names for n in each if not n.isprintable() or re.search(r"[\s`]|^$", n)}
    paths = list(_paths(root, ""))
    lower = [path.lower() for path in paths]
    return (
        twins
        | odd
        | {n for n, _ in root.fields if _KEPT.fullmatch(n)}
        | {p for p in paths if lower.count(p.lower()) > 1}
    )


def _paths(kind: Kind, above: str) -> Iterator[str]:
    """The paths of all that stands in a record, as Iceberg has them."""
    inner: tuple[tuple[str, Kind], ...] = ()
    match kind:
        case Maybe():
            yield from _paths(kind.of, above)
        case Many():
            inner = (("element", kind.of),)
        case Named():
            inner = (("key", Scalar("string")), ("value", kind.of))
        case Group():
            inner = kind.fields
        case Choice():
            inner = kind.branches
    for name, of in inner:
        yield f"{above}{name}"
        yield from _paths(of, f"{above}{name}.")


def columns_of(kind: Kind) -> Type:
    """The type that a kind must become; whether it is optional is not looked at."""
    match kind:
        case Scalar():
            return _TYPES[kind.word]
        case Maybe():
            return columns_of(kind.of)
        case Many():
            return List(columns_of(kind.of))
        case Named():
            return Map(Primitive("string"), columns_of(kind.of))
        case Group():
            return Struct(tuple(Field(name, columns_of(of)) for name, of in kind.fields))
        case Choice():
            return Struct(tuple(Field(name, columns_of(of)) for name, of in kind.branches))


def value_of(kind: Kind, dice: Random) -> Any:
    """A value as a row holds it."""
    match kind:
        case Maybe():
            return None if dice.random() < 0.3 else value_of(kind.of, dice)
        case Many():
            return [value_of(kind.of, dice) for _ in range(dice.choice([0, 1, 2]))]
        case Named():
            return {key: value_of(kind.of, dice) for key in dice.sample(_KEYS, dice.choice([0, 1, 2]))}
        case Group():
            return {name: value_of(of, dice) for name, of in kind.fields}
        case Choice():
            chosen = dice.randrange(len(kind.branches))
            return {n: value_of(of, dice) if i == chosen else None for i, (n, of) in enumerate(kind.branches)}
        case Scalar():
            return random_records.value_of(kind, dice)


def later(new: Kind, old: Kind, value: Any) -> Any:
    """What a row of the old kind holds once its table is of the new one."""
    new, old = (k.of if isinstance(k, Maybe) else k for k in (new, old))
    match new, old:
        case (_, _) if value is None:
            return None
        case (Many(), Many()):
            return [later(new.of, old.of, v) for v in value]
        case (Named(), Named()):
            return {k: later(new.of, old.of, v) for k, v in value.items()}
        case (Group(), Group()):
            had = dict(old.fields)
            return {n: later(of, had[n], value[n]) if n in had else None for n, of in new.fields}
        case (Choice(), Choice()):
            had = dict(old.branches)
            return {n: later(of, had[n], value[n]) for n, of in new.branches}
        case _:
            return value


@dataclass(frozen=True, slots=True)
class Change:
    """What a newer version does to one record: the field, and whether the table must refuse it."""

    word: str
    field: str
    refused: bool


def changed(dice: Random, root: Group, of: RandomFormat) -> tuple[Group, list[Change]]:
    """A newer version, with a change in some of its records."""
    changes = []
    for name in reversed(groups_of(root)):
        group = groups_of(root).get(name)  # gone where a record around it lost its only field of that kind
        if group and (name == "Root" or dice.random() < 0.5):
            made, change = _changed(dice, group, of)
            root, changes = _rebuilt(root, name, made.fields), [*changes, change]
    return root, changes


def _changed(dice: Random, group: Group, of: RandomFormat) -> tuple[Group, Change]:
    fields, place = list(group.fields), dice.randrange(len(group.fields))
    name, kind = fields[place]
    scalar = Scalar(dice.choice(sorted(of.scalars)))
    own = of.name == "protobuf"  # its lists, maps and messages are as they are
    bare = isinstance(kind, Scalar | Choice) or not own
    word = dice.choice(
        ["add", "add", "widen", "relax", "tighten", "reorder", "reorder", "require", "drop", "retype"]
    )
    change = Change(word, name, word in ("drop", "retype"))
    match word:
        case "add" | "require":
            fields.insert(place, ("added", Maybe(scalar) if word == "add" else scalar))
            change = Change(word, "added", word == "require" and not own)
        case "widen" if (word := _WIDER.get(_word(kind), "")) in of.scalars:
            fields[place] = name, Scalar(word)
        case "relax" if bare and not isinstance(kind, Maybe):
            fields[place] = name, Maybe(kind)
        case "tighten" if isinstance(kind, Maybe) and not isinstance(kind.of, Group):
            fields[place] = name, kind.of
        case "drop" if len(fields) > 1:
            del fields[place]
        case "retype" if kind == Scalar("string"):
            fields[place] = name, Scalar("long")
        case _:
            dice.shuffle(fields)
            change = Change("reorder", "", False)
    return replace(group, fields=tuple(fields)), change


def _rebuilt(kind: Any, name: str, fields: tuple[tuple[str, Any], ...]) -> Any:
    """The kind with other fields in the record of that name, wherever it stands."""
    match kind:
        case Group():
            kept = fields if kind.name == name else kind.fields
            return replace(kind, fields=tuple((n, _rebuilt(of, name, fields)) for n, of in kept))
        case Choice():
            return Choice(tuple((n, _rebuilt(of, name, fields)) for n, of in kind.branches))
        case Scalar():
            return kind
        case _:
            return type(kind)(_rebuilt(kind.of, name, fields))
