"""The collector that OpenLineage's own configuration names; calls to it end in time, and stop nothing."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from frazil.continuous.schedule import Backoff, Clock
from frazil.deadline import call_all
from frazil.errors import ConfigureError, FrazilError, PartDownError, explain
from frazil.extras import require

if TYPE_CHECKING:
    from openlineage.client import OpenLineageClient
    from openlineage.client.event_v2 import RunEvent

    Events = Callable[[], Sequence[RunEvent]]

_NAME = "the collector of lineage"
_LONGEST = 60.0  # seconds between two attempts, while it does not answer
_OWN: dict[str, Any] = {"facets": {"source_code_location": {"disabled": True}}}
"""No event names the repository of the working directory, which is no part of the work."""

_log = logging.getLogger(__name__)


class Collector:
    """Takes events. While it does not answer nothing is sent, and what was not sent is not kept.

    Args:
        seconds: How long a batch may take.
    """

    def __init__(self, seconds: float, clock: Clock = time.monotonic) -> None:
        self._seconds = seconds
        self._backoff = Backoff(clock, longest=_LONGEST)
        self._silent = False

    def send(self, events: Events) -> None:
        """Sends a batch, whose events are made here as well; a failure is logged once, and once its end."""
        if self._backoff.rests(_NAME):
            return
        error = call_all({_NAME: lambda: send_now(events)}, self._seconds)[_NAME]
        if error is None:
            self._answered()
        else:
            self._failed(error)

    def _answered(self) -> None:
        self._backoff.worked(_NAME)
        if self._silent:
            self._silent = False
            _log.warning("Events of lineage are sent again.")

    def _failed(self, error: Exception) -> None:
        met = failure(error)
        self._backoff.failed(_NAME, met)
        if not self._silent:
            self._silent = True
            _log.warning("%s", met)


def send_now(events: Events) -> None:
    """Sends a batch, without a time limit.

    Raises:
        ConfigureError: The extra is not installed, or OpenLineage is told of no collector.
        Exception: Whatever the transport raises.
    """
    require("lineage", "OpenLineage", "openlineage")
    client = open_client()
    try:
        for event in _made(events):
            client.emit(event)
    finally:
        client.close()


def _made(events: Events) -> Sequence[RunEvent]:
    """The events; what goes wrong before any of them is sent is none of the collector's faults."""
    try:
        return events()
    except Exception as e:
        raise explain(e) from e


def open_client() -> OpenLineageClient:
    """A client of OpenLineage, by its own configuration; raises ConfigureError where there is none."""
    from openlineage.client import OpenLineageClient
    from openlineage.client.transport.http import HttpTransport

    client = OpenLineageClient(config=_OWN)
    transport = client.config.transport or {}
    if not transport.get("type") and not _is_named():
        raise ConfigureError(
            "OpenLineage is told of no collector.",
            meaning="No event of lineage is sent.",
            todo="Set OPENLINEAGE__TRANSPORT__TYPE and what it needs, or write an openlineage.yml; "
            "see docs/lineage.md.",
        )
    if isinstance(client.transport, HttpTransport) and "retry" not in transport:
        client.transport.config.retry = {"total": 0}  # a collector that is down is asked with the next batch
    return client


def failure(error: Exception) -> FrazilError:
    """Why a batch was not sent; addresses, which may hold a password, are not repeated."""
    if isinstance(error, FrazilError):
        return error
    status = getattr(getattr(error, "response", None), "status_code", None)
    late = isinstance(error, TimeoutError)
    why = f"the answer was {status}" if status else str(error) if late else type(error).__name__
    return PartDownError(
        "The collector of lineage took no events.",
        where=why,
        meaning="What was done to the tables stands; the collector does not know of it.",
        todo="Look at the collector that OpenLineage's configuration names; docs/lineage.md.",
    )


def _is_named() -> bool:
    return bool(os.environ.get("OPENLINEAGE_URL")) or os.environ.get("OPENLINEAGE_DISABLED", "") == "true"
