"""What a stand-in does wrong when it is told to: an ASGI layer, and its knobs at `/_knobs`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from random import Random
from typing import Any, Literal

from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

Fault = Literal["throttle", "fail", "lose", "drop"]
"""Refused as too many; an error 5xx; done, but the answer is lost; the connection dropped, nothing done."""

FAULTS: tuple[Fault, ...] = ("throttle", "fail", "lose", "drop")


@dataclass
class Knobs:
    """How a stand-in misbehaves. `POST /_knobs` sets those that it names, and all others back."""

    throttle_every: int = 0  # one of each n calls meets that fault; 0: none does
    fail_every: int = 0
    lose_every: int = 0
    drop_every: int = 0
    once: dict[str, Fault] = field(default_factory=dict)  # the next call of that name meets that fault
    propagation: float = 0.0  # seconds until a change is seen by others
    more: dict[str, Any] = field(default_factory=dict)  # what one stand-in alone understands

    def set(self, settings: Mapping[str, Any]) -> None:
        """Turns the knobs."""
        self.__init__(**settings)  # type: ignore[misc]

    def fault(self, call: str, number: int) -> Fault | None:
        """What a call meets, by its name and its number since the start."""
        if fault := self.once.pop(call, None):
            return fault
        return next((each for each in FAULTS if _hits(getattr(self, f"{each}_every"), number)), None)


def _hits(every: int, number: int) -> bool:
    """Whether a call fails: one of `every`, each time another, or work of three calls would never end."""
    if not every:
        return False
    block, place = divmod(number, every)
    return place == Random(block).randrange(every)


@dataclass(frozen=True, slots=True)
class Call:
    """A request as the layers before a stand-in see it."""

    name: str  # such as CreateRole, or `POST /iam/v2/api-keys`; empty: no fault meets it
    method: str
    path: str
    headers: Mapping[str, str]  # names in lower case
    body: bytes


class Faulty:
    """The ASGI layer.

    Args:
        app: The stand-in.
        knobs: Read at each call.
        name_of: The name of a call.
        refuse: The answer to a call that is throttled (429) or fails (500).
    """

    def __init__(
        self,
        app: ASGIApp,
        knobs: Knobs,
        name_of: Callable[[Call], str],
        refuse: Callable[[Call, int], Response],
    ) -> None:
        self._app, self._knobs, self._name_of, self._refuse = app, knobs, name_of, refuse
        self._calls = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request, rightly or not."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        call = await read(scope, receive)
        if call.path == "/_knobs":
            await self._turn(call)(scope, receive, send)
            return
        self._calls += 1
        name = self._name_of(call)
        fault = self._knobs.fault(name, self._calls) if name else None
        await self._answer(fault, call, scope, receive, send)

    def _turn(self, call: Call) -> Response:
        if call.method == "POST":
            self._knobs.set(json.loads(call.body))
        return JSONResponse({**asdict(self._knobs), "calls": self._calls})

    async def _answer(
        self, fault: Fault | None, call: Call, scope: Scope, receive: Receive, send: Send
    ) -> None:
        again = replay(call.body)
        if fault in ("throttle", "fail"):
            await self._refuse(call, 429 if fault == "throttle" else 500)(scope, again, send)
            return
        if fault != "drop":
            await self._app(scope, again, send if fault is None else _nowhere)
        if fault is not None:
            _hang_up(receive)


async def read(scope: Scope, receive: Receive) -> Call:
    """A request with its whole body."""
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    headers = {name.decode().lower(): value.decode("latin-1") for name, value in scope["headers"]}
    return Call("", scope["method"], scope["path"], headers, body)


def replay(body: bytes) -> Receive:
    """Gives the body again to the next layer."""

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


async def _nowhere(_: Message) -> None:
    """Takes an answer that nobody gets."""


def _hang_up(receive: Receive) -> None:
    """Drops the connection; ASGI has no word for it, so uvicorn's own object is asked."""
    cycle = receive.__self__  # type: ignore[attr-defined]
    cycle.disconnected = True  # else uvicorn answers 500 for us
    cycle.transport.abort()
