"""The engine's work with warm clients: what opens them anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from frazil.clients import Clients
from frazil.continuous import work
from frazil.continuous.work import WarmWork
from frazil.errors import (
    CommitConflictError,
    ConfigureError,
    FaultError,
    FrazilError,
    NotAllowedError,
    PartDownError,
    SuspendedError,
)
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec
from kit.graph.many_tables import Topics, clients_of
from kit.runs.continuous import Clock

SPEC = TableSpec(topic="t", namespace="n", publish=[])


class Opened:
    """Clients that were opened, and a landing that fails with each of them."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.clients: list[Clients] = []
        self.used: list[Any] = []
        self.clock = Clock()
        patch.setattr(work.time, "monotonic", self.clock)
        self._patch = patch
        self.work = WarmWork(self._open, "run-1")

    def _open(self) -> Clients:
        self.clients.append(clients_of(Settings(), Topics({"t": 1})))
        return self.clients[-1]

    def land(self, after: float, met: Exception) -> None:
        """A landing that meets an error so many seconds later."""
        self.clock.now += after

        def fail(_: TableSpec, connections: object, **__: object) -> None:
            self.used.append(connections)
            raise met

        self._patch.setattr(work, "land", fail)
        with pytest.raises(type(met)):
            self.work.land(SPEC, 10)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Opened:
    return Opened(monkeypatch)


@pytest.mark.parametrize(
    "kind", [PartDownError, FaultError, NotAllowedError, ConfigureError, FrazilError, RuntimeError]
)
def test_a_session_that_spark_forgot_is_made_anew_for_the_next_landing(
    opened: Opened, kind: Callable[[str], Exception]
) -> None:
    opened.land(3600, kind("Spark stopped answering."))
    opened.land(1, kind("Spark stopped answering."))
    opened.land(1, kind("Spark stopped answering."))

    first, second = opened.clients
    assert opened.used == [first, second, second]


@pytest.mark.parametrize("kind", [SuspendedError, CommitConflictError])
def test_what_no_new_client_mends_keeps_them(opened: Opened, kind: Callable[[str], Exception]) -> None:
    for _ in range(2):
        opened.land(3600, kind("No."))

    assert len(opened.clients) == 1


def test_a_look_that_fails_opens_new_clients_for_the_next_one(opened: Opened) -> None:
    opened.clients[0].__dict__["admin"] = None
    opened.clock.now += 3600

    opened.work.look([SPEC])
    _, silent = opened.work.look([SPEC])

    assert len(opened.clients) == 2
    assert "AttributeError" not in [type(error).__name__ for error in silent]


def test_a_look_that_fails_as_nobody_foresaw_is_told_and_ends_nothing(opened: Opened) -> None:
    opened.clients[0].__dict__["admin"] = None

    seen, silent = opened.work.look([SPEC])

    assert seen == []
    assert [type(error) for error in silent] == [AttributeError]
