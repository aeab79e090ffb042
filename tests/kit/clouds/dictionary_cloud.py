"""A cloud that is a dictionary: it shows objects late, loses answers, throttles, refuses, and is killed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from frazil_cloud.resource import AnswerLost, Facts, Known, NotYet, RefusedYet, Throttled


class Killed(BaseException):
    """The process is gone."""


@dataclass
class Cloud:
    """Objects by number, as clouds give ids; names need not be unique."""

    objects: dict[int, dict[str, Any]] = field(default_factory=dict)
    late: float = 0.0  # seconds until a new object is seen
    calls: int = 0
    lose_every: int = 0  # the deed is done, the answer is lost
    throttle_every: int = 0
    kill_at: int = 0
    done: list[str] = field(default_factory=list)
    born: dict[int, float] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def call(self, deed: Callable[[], Any]) -> Any:
        with self._lock:
            self.calls += 1
            if self.throttle_every and self.calls % self.throttle_every == 0:
                raise Throttled("429 too many requests", 0.01)
            if self.calls == self.kill_at:
                raise Killed
            answer = deed()
            if self.lose_every and self.calls % self.lose_every == 0:
                raise AnswerLost("500 internal error")
            return answer

    def add(self, name: str, fields: dict[str, Any]) -> None:
        number = len(self.done) + 1
        self.done.append(f"create {name}")
        self.born[number] = time.monotonic()
        self.objects[number] = {"name": name, **fields, "id": f"{name}-{number}"}

    def seen(self, name: str) -> dict[str, Any] | None:
        for number, there in self.objects.items():
            if there["name"] == name and time.monotonic() - self.born[number] >= self.late:
                return dict(there)
        return None

    def change(self, name: str, fields: dict[str, Any]) -> None:
        self.done.append(f"update {name}")
        next(o for o in self.objects.values() if o["name"] == name).update(fields)

    def remove(self, name: str) -> None:
        self.done.append(f"delete {name}")
        self.objects = {n: o for n, o in self.objects.items() if o["name"] != name}

    def names(self) -> list[str]:
        return sorted(o["name"] for o in self.objects.values())


@dataclass(frozen=True)
class Thing:
    """One object of that cloud. It bears the ids of what it needs, as an IAM role bears an external id."""

    cloud: Cloud = field(repr=False)
    address: str
    needs: tuple[str, ...] = ()
    fields: Facts = field(default_factory=dict)
    fixed: frozenset[str] = frozenset()
    works: Callable[[Facts], str] = lambda _: ""

    def wanted(self, known: Known) -> Facts:
        return {**self.fields, **({"of": [known[need]["id"] for need in self.needs]} if self.needs else {})}

    def read(self, known: Known) -> Facts | None:
        there: Facts | None = self.cloud.call(lambda: self.cloud.seen(self.address))
        if there and there.get("phase") == "PENDING":
            raise NotYet(f"{self.address} is PENDING")
        return there

    def create(self, known: Known) -> None:
        fields = dict(self.wanted(known))
        self.cloud.call(lambda: self.cloud.add(self.address, fields))

    def update(self, there: Facts, known: Known) -> None:
        fields = dict(self.wanted(known))
        self.cloud.call(lambda: self.cloud.change(self.address, fields))

    def delete(self, there: Facts, known: Known) -> None:
        self.cloud.call(lambda: self.cloud.remove(self.address))

    def verify(self, there: Facts, known: Known) -> None:
        if problem := self.works(there):
            raise RefusedYet(problem)
