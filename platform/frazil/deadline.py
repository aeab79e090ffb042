"""Calls to the outside that end in time, whatever their clients' own limits add up to."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from threading import Thread


def call_all(calls: Mapping[str, Callable[[], object]], seconds: float) -> dict[str, Exception | None]:
    """Makes all calls at once, and waits for so long.

    Returns:
        By name what the call raised; None where it went well. One that takes longer goes on beside, and
        is a TimeoutError: nobody knows what becomes of it.
    """
    met: dict[str, Exception | None] = {name: TimeoutError(f"{seconds:g} s have passed") for name in calls}

    def make(name: str, call: Callable[[], object]) -> None:
        try:
            call()
        except Exception as e:  # noqa: BLE001 - it is the result
            met[name] = e
        else:
            met[name] = None

    threads = [Thread(target=make, args=pair, daemon=True) for pair in calls.items()]
    end = time.monotonic() + seconds
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    return dict(met)
