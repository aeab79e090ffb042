"""Several actors of whom one moves at a time: who goes on, and what fails, is decided call by call.

A decision is a number, and 0 is the dull one: the same actor goes on, the call is answered. So a round is
told by the few decisions that are not 0, and shrinks by forgetting them.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

__all__ = ["Dice", "Killed", "Stage"]


class Killed(BaseException):
    """The process that an actor is has died: none of its calls reaches anybody any more."""


@dataclass
class Dice:
    """Decisions, in the order in which they are asked for.

    Args:
        plan: The decisions that are not 0, by their number; drawn ones are added.
        random: Draws further ones; None: all others are 0.
    """

    plan: dict[int, int] = field(default_factory=dict)
    random: random.Random | None = None
    asked: list[int] = field(default_factory=list)  # of each decision so far, the number of options
    turns: list[int] = field(default_factory=list)  # the numbers of those that say who goes on

    def choose(self, options: int, odds: float) -> int:
        """One of some options; `odds` is the share of draws that are not 0."""
        here = len(self.asked)
        self.asked.append(options)
        if self.random and options > 1 and self.random.random() < odds:
            self.plan[here] = self.random.randrange(1, options)
        return min(self.plan.get(here, 0), options - 1)


class Stage:
    """Where actors take turns.

    Args:
        dice: Decides.
        turns: The odds that another actor goes on at a step.
        deaths: By actor the number of its effect before which it dies.
    """

    def __init__(self, dice: Dice, turns: float = 0.1, deaths: Mapping[str, int] | None = None) -> None:
        self.dice, self.turns, self.deaths = dice, turns, deaths or {}
        self.effects: Counter[str] = Counter()
        self.now = ""  # the actor who moves; empty: nobody plays, and nothing is decided
        self.dead: set[str] = set()
        self.failure: tuple[str, BaseException] | None = None
        self._waiting: dict[str, threading.Semaphore] = {}
        self._over = threading.Semaphore(0)

    def play(self, actors: Mapping[str, Callable[[], object]]) -> None:
        """Lets all actors end; raises what one of them raised that is neither an answer nor its death."""
        self._waiting = {name: threading.Semaphore(0) for name in actors}
        threads = [
            threading.Thread(target=self._live, args=each, daemon=True, name=each[0])
            for each in actors.items()
        ]
        for thread in threads:
            thread.start()
        self._hand_over()
        self._over.acquire()
        for thread in threads:
            thread.join()
        self.now = ""
        if self.failure:
            raise self.failure[1]

    def step(self, *, waits: bool = False) -> None:
        """A call to the outside: another actor may move first; of one that `waits` another one does."""
        if not self.now:
            return
        self.die_if_dead()
        me = self.now
        others = [name for name in self._waiting if name != me]
        if waits:
            self._turn_to(me, (*others, me)[self._turn(len(others) + 1)])
        else:
            self._turn_to(me, (me, *others)[self._turn(len(others) + 1)])
        self.die_if_dead()

    def effect(self) -> None:
        """What the next call does others will see: before it an actor may die, as `deaths` says."""
        self.effects[self.now] += 1
        if self.now and self.deaths.get(self.now) == self.effects[self.now]:
            self.kill()

    def kill(self) -> None:
        """Ends the actor who moves."""
        self.dead.add(self.now)
        self.die_if_dead()

    def die_if_dead(self) -> None:
        """Raises in an actor who was killed, at whatever it tries next."""
        if self.now in self.dead:
            raise Killed

    def _turn(self, options: int) -> int:
        self.dice.turns.append(len(self.dice.asked))
        return self.dice.choose(options, self.turns)

    def _turn_to(self, me: str, other: str) -> None:
        if other != me:
            self.now = other
            self._waiting[other].release()
            self._waiting[me].acquire()

    def _live(self, name: str, act: Callable[[], object]) -> None:
        self._waiting[name].acquire()
        try:
            act()
        except Killed:
            pass
        except BaseException as e:  # noqa: BLE001 - told by `play`
            self.failure = self.failure or (name, e)
        del self._waiting[name]
        self._hand_over()

    def _hand_over(self) -> None:
        if left := list(self._waiting):
            self.now = left[self._turn(len(left))]
            self._waiting[self.now].release()
        else:
            self._over.release()
