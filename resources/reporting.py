"""Tells a Dagster instance what the command line did: runless events, as if an asset had run."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import stamina

from frazil.clients import Clients
from frazil.connections import Connections
from frazil.errors import PartDownError
from frazil.reporting import Done, Failure, Published
from frazil.settings.profile import Settings
from frazil.spec.names import AssetPath, things
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec

if TYPE_CHECKING:
    import dagster as dg


Arg = TypeVar("Arg")
T = TypeVar("T")


def _stored(tell: Callable[[Arg], T], what: Arg) -> T:
    """Tells Dagster's storage; again for a while where others hold its file.

    Raises PartDownError where it takes nothing. What is told of was done all the same.
    """
    from sqlalchemy.exc import DBAPIError

    try:
        for attempt in stamina.retry_context(on=DBAPIError, attempts=10, timeout=20, wait_max=2.0):
            with attempt:
                answer = tell(what)
    except DBAPIError as e:
        raise PartDownError(
            f"Dagster's storage took no event: {e.orig}.",
            meaning="What was done to the tables stands; Dagster does not know of it.",
            todo="Nothing: the next event of a table tells how it stands.",
        ) from None
    return answer


def reservation_key(path: AssetPath) -> str:
    """Under which Dagster's storage has the time until which another process lands a table."""
    return f"frazil/held/{'/'.join(path)}"


class DagsterReporter:
    """Reports to the instance of `$DAGSTER_HOME`, or of the profile's `dagster_home`.

    Dagster is imported when there is something to report: `frazil status` need not wait for it.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @property
    def listens(self) -> bool:
        """Whether there is an instance: a home with a dagster.yaml."""
        return self._home is not None

    def tell(self, spec: AnyTable, done: Done) -> None:
        """As if the table's asset, its check or a target's asset had run."""
        self.tell_all([(spec, done)])

    def tell_all(self, news: Iterable[tuple[AnyTable, Done]]) -> None:
        """See `Reporter`; events are gathered first, so that they stand together in Dagster's storage."""
        reportable = [(s, d, self._connections.of(s)) for s, d in news if not isinstance(d, Failure)]
        if not reportable:  # a command that fails need not wait for Dagster
            return
        from resources.events import as_reported, events_of

        events = [event for each in reportable for event in events_of(*each)]
        if events:
            with self._instance() as instance:
                for event in events:
                    _stored(instance.report_runless_asset_event, as_reported(event, instance))

    def hold(self, specs: Sequence[TableSpec], until: float) -> None:
        """See `Reporter`; the arrivals sensor goes by it."""
        keys = [reservation_key(things(spec, self._settings).iceberg_path) for spec in specs]
        with self._instance() as instance:
            _stored(instance.daemon_cursor_storage.set_cursor_values, dict.fromkeys(keys, str(until)))

    def published(self, paths: Iterable[AssetPath], since: float) -> Mapping[AssetPath, Published]:
        """See `Reporter`; by the materializations of the targets' assets, the newest of very many."""
        from resources.history import published_to

        with self._instance() as instance:
            return {path: published_to(instance, path, since) for path in paths}

    def _instance(self) -> dg.DagsterInstance:
        """Opens the instance; one process at a time, for the first one makes its databases.

        Of two that do so at once Dagster leaves a version table with two heads, which it can't open again.
        """
        import dagster as dg

        with (Path(str(self._home)) / "frazil.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return _stored(dg.DagsterInstance.from_config, str(self._home))

    @cached_property
    def _home(self) -> Path | None:
        named = os.environ.get("DAGSTER_HOME")
        home = Path(named) if named else self._settings.dagster_home
        return home if home and (home / "dagster.yaml").is_file() else None

    @cached_property
    def _connections(self) -> Connections:
        return Clients(self._settings)
