"""All kinds of faults by name, and drawn cases in which one of a kind was planted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random

from kit.planted.faults import COUNT, Found, Plant, counts_amiss
from kit.planted.leaks import FILTERED, MASKED
from kit.planted.ledgers import COMPACTIONS, COUNTS, LEDGERS, LETTERS
from kit.planted.places import KEYS, ROWS, VERSIONS
from kit.planted.tables import Case, case_of
from kit.planted.topics import Shape
from kit.planted.values import METADATA, VALUES

KINDS: Mapping[str, Plant] = {
    **VALUES, **METADATA, **ROWS, **KEYS, **LEDGERS, **COUNTS, **LETTERS, **COMPACTIONS,
    **MASKED, **FILTERED, **VERSIONS,
}  # fmt: skip


@dataclass(frozen=True)
class Planted:
    """A case with a fault in it, and what must be found."""

    case: Case
    must: list[Found]


def planted(kind: str, chance: Random) -> Planted:
    """A drawn case with a fault of a kind; others are drawn until one has room for it."""
    for _ in range(500):
        case = case_of(_shape(kind, chance), chance)
        if chance.random() < 0.5:
            case.claimed.clear()  # what was lost was not counted either
        if must := KINDS[kind](case, chance):
            return Planted(case, [*(each for each in must if each != COUNT), *counts_amiss(case)])
    raise AssertionError(f"no case has room for {kind}")


def shape(chance: Random) -> Shape:
    """What a topic and its table are like."""
    form, mode = chance.choice(_FORMS)
    evolved, compacted, letters = (chance.random() < 0.5 for _ in range(3))
    return Shape(form, mode, evolved, compacted, letters)


_FORMS = (
    ("avro", "append"), ("json", "append"), ("protobuf", "append"), ("avro", "upsert"), ("json", "upsert"),
    ("protobuf", "upsert"), ("avro", "cdc"), ("json", "cdc"),
)  # fmt: skip


def guarded(shape: Shape, chance: Random) -> Shape:
    """The same, with masks or with a filter, or with both; some of a database's with all versions."""
    filtered, masked, history = (chance.random() < 0.5 for _ in range(3))
    history = history and shape.mode == "cdc"
    return replace(shape, masked=masked, filtered=filtered and shape.mode == "append", history=history)


def _shape(kind: str, chance: Random) -> Shape:
    """One that has what the kind is a fault of."""
    while True:
        drawn = shape(chance)
        drawn = replace(drawn, masked=kind in MASKED, filtered=kind in FILTERED, history=kind in VERSIONS)
        if kind in VERSIONS and drawn.mode != "cdc":
            continue
        if kind in FILTERED and drawn.mode != "append":
            continue
        if kind in KEYS and drawn.mode == "append":
            continue
        if kind in LETTERS and not drawn.letters:
            continue
        if kind in COMPACTIONS and not drawn.compacted:
            continue
        return drawn
