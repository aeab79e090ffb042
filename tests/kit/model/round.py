"""A round as it is drawn, played, told and shrunk."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count

from frazil.errors import PositionLostError
from frazil.landing.land import land
from frazil.tables.commits.works import LANDING
from frazil.upkeep.orphans import remove_orphans
from kit.model.oracle import Stuck
from kit.model.parts.edges import Edges
from kit.model.parts.stage import Dice
from kit.model.works.works import do
from kit.model.world import World

__all__ = ["Case", "drawn", "every", "every_death", "play", "played", "shrunk"]

Works = Mapping[str, tuple[str, ...]]
"""By actor what it does, one after the other."""


@dataclass(frozen=True)
class Case:
    """Everything that a round depends on.

    Args:
        works: Who does what.
        plan: The decisions that are not dull (`stage.Dice`).
        seed: Of what the works themselves draw: how many records, which snapshot.
        lane: Whether landings, and merges, write files without a branch.
        spoils: Odds that a reader loses a record or doubles one.
        keyed: Whether the table has a row per key.
        deaths: By actor the number of its effect, a commit or a deletion, before which it dies.
    """

    works: Works
    plan: Mapping[int, int] = field(default_factory=dict)
    seed: int = 0
    lane: bool = False
    spoils: float = 0.0
    keyed: bool = False
    deaths: Mapping[str, int] = field(default_factory=dict)


_LANDERS = (("land",), ("few", "land"), ("land", "land"), ("produce", "land"))
_OTHERS = (
    ("compact",), ("expire",), ("compact", "expire"), ("orphans",), ("redrive",), ("roll back",),
    ("seven hours",), ("retain",), ("seven hours", "expire"), ("seven hours", "seven hours", "orphans"),
    ("produce",), ("recreate",), ("compact", "compact"), ("seven hours", "expire rows"),
    ("seven hours", "land", "expire rows"), ("expire rows", "compact"),
    ("replay",), ("redrive", "replay"), ("mend", "replay"), ("cut",),
    ("forget",), ("redrive", "forget"), ("forget", "replay"), ("derive", "forget"), ("derive",),
    ("derive", "derive", "forget"),
)  # fmt: skip
_ENGINE = (
    (),
    (),
    (),
    ("append",),
    ("turn back",),
    ("delete",),
    ("append", "trim"),
    ("turn back", "trim"),
)


def drawn(seed: int) -> tuple[Case, Dice]:
    """A case of a seed, and the dice that draw its decisions."""
    dice = random.Random(seed)
    works = {
        "first": dice.choice(_LANDERS), "second": dice.choice(_LANDERS), "upkeep": dice.choice(_OTHERS),
        "more": dice.choice((*[()] * len(_OTHERS), *_OTHERS)), "engine": dice.choice(_ENGINE),
    }  # fmt: skip
    some = {actor: todo for actor, todo in works.items() if todo}
    lane, spoils, keyed = dice.random() < 0.4, dice.choice((0.0, 0.0, 0.1)), dice.random() < 0.4
    case = Case(some, seed=seed, lane=lane, spoils=spoils, keyed=keyed)
    return case, Dice(random=dice)


def play(edges: Edges, case: Case, dice: Dice | None = None) -> World:
    """Plays a round to its end; raises what was broken."""
    how = {"spoils": case.spoils, "lane": case.lane, "keyed": case.keyed, "deaths": case.deaths}
    world = World(dice or Dice(dict(case.plan)), **how)  # type: ignore[arg-type]
    world.goes_on_from(_begun(edges, keyed=case.keyed))
    world.may_lose_its_position = "turn back" in case.works.get("engine", ())
    edges.world = world
    own = random.Random(case.seed)
    for n in range(3):
        world.produce(n % 2, own, bad=own.random() < 0.2)
    actors = {
        actor: partial(_act, world, actor, todo, f"{case.seed} {actor}") for actor, todo in case.works.items()
    }
    world.stage.play(actors)
    _lawful(world)
    _settle(world)
    _lawful(world)
    return world


def _lawful(world: World) -> None:
    if world.oracle.broken:
        raise world.oracle.broken


def _begun(edges: Edges, *, keyed: bool) -> World:
    """A table of two landings, made once."""
    if keyed not in edges.begun:
        edges.begun[keyed] = edges.world = world = World(Dice(), keyed=keyed)
        for n in (0, 1):
            world.produce(0)
            world.produce(1, bad=n == 1)
            land(world.spec, world.connections)
    return edges.begun[keyed]


def _act(world: World, actor: str, todo: tuple[str, ...], seed: str) -> None:
    dice = random.Random(seed)
    for work in todo:
        do(world, actor, work, dice)


def _settle(world: World) -> None:
    """Nothing fails any more: two landings later all is as it should be, and no needed file ever goes."""
    world.catalog.arrive()
    world.named_files_exist()
    if not world.catalog.met and not world.stage.dead and (left := world.branches):
        raise Stuck(f"nothing failed, and branches are left: {left}")
    if world.stuck:
        return
    world.produce(0)
    for hours in (0, 7):
        world.store.now += hours * 3600
        try:
            land(world.spec, world.connections, adopt_topic=True)
        except PositionLostError:
            if world.may_lose_its_position:
                return
            raise
        if left := [branch for branch in world.branches if branch.startswith(LANDING) or hours]:
            raise Stuck(f"branches are left: {left}")
    world.at_rest()
    if len(world.dice.asked) % 4:
        return
    remove_orphans(world.spec, world.connections, world.store.now + 30 * 86400)
    world.named_files_exist()


def played(edges: Edges, case: Case, dice: Dice | None = None) -> World:
    """Plays a round; one that fails is shrunk and told first."""
    try:
        return play(edges, case, dice)
    except Exception:
        small = shrunk(edges, replace(case, plan=dict(dice.plan)) if dice else case)
        print(f"Again, and shrunk: play(edges, {small})")
        play(edges, small)
        raise


def every(
    edges: Edges, case: Case, at_once: int, *, only_turns: bool = False, share: tuple[int, int] = (0, 1)
) -> Iterator[World]:
    """Plays a case with every choice of so many decisions that are not dull, and with fewer.

    Of `share` the first one says which part of them is played, the second one how many parts there are.
    """
    dice, (part, parts) = Dice(dict(case.plan)), share
    yield played(edges, case, dice)
    later = [
        at for at in (dice.turns if only_turns else range(len(dice.asked))) if at > max(case.plan, default=-1)
    ]
    choices = [(at, choice) for at in later for choice in range(1, dice.asked[at])] if at_once else []
    for at, choice in choices[part::parts]:
        more = replace(case, plan={**case.plan, at: choice})
        yield from every(edges, more, at_once - 1, only_turns=only_turns)


def every_death(edges: Edges, case: Case, actor: str, at_once: int) -> Iterator[World]:
    """Plays a case in which an actor dies before any of its effects, each with every choice of turns."""
    for effect in count(1):
        dies, died = replace(case, deaths={actor: effect}), False
        for world in every(edges, dies, at_once, only_turns=True):
            died = died or actor in world.stage.dead
            yield world
        if not died:
            return


def shrunk(edges: Edges, case: Case) -> Case:
    """A smaller case that is still broken."""
    smaller = True
    while smaller:
        smaller = next((c for c in _smaller(case) if _breaks(edges, c)), None)
        case = smaller or case
    return case


def _smaller(case: Case) -> Iterator[Case]:
    for actor, todo in case.works.items():
        for n in range(len(todo)):
            less = {**case.works, actor: todo[:n] + todo[n + 1 :]}
            yield replace(case, works={a: t for a, t in less.items() if t})
    for at in reversed(case.plan):
        yield replace(case, plan={k: v for k, v in case.plan.items() if k != at})


def _breaks(edges: Edges, case: Case) -> bool:
    try:
        play(edges, case)
    except Exception:  # noqa: BLE001 - whatever it is
        return True
    return False
