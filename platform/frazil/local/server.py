"""What the stack must know of one server, whichever it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

__all__ = ["Launch", "Server"]


@dataclass(frozen=True, slots=True)
class Launch:
    """How to start a server's process.

    Args:
        command: Program and arguments; no secrets, everybody can read them.
        environment: What it gets beside our own environment.
    """

    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Server:
    """One part of the stack.

    Args:
        name: For people, files and `--only`.
        ports: Names of the ports that it listens on.
        launch: Gets ready whatever the server needs (jars, files) and says how to start it.
        ask: Sends the server a real request; raises if the answer is not a good one.
        after: Parts that start before it and stop after it.
        patience: Seconds that its process may do nothing while there is no good answer.
        background: Once it is up, all others have the CPU first.
    """

    name: str
    ports: tuple[str, ...]
    launch: Callable[[], Launch]
    ask: Callable[[], None]
    after: tuple[str, ...] = ()
    patience: float = 300.0
    background: bool = False
