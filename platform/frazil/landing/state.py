"""How tables stand: rows, files, position, lag, freshness. From metadata only."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

from frazil.connections import Connections, apart
from frazil.errors import FaultError, FrazilError, PartDownError, TopicChangedError, explain
from frazil.kafka.facts import TopicFacts, topic_facts
from frazil.landing.history import Accepted, look, starts
from frazil.landing.ledger import Ledger, bytes_per_record, ledgers, read_ledger
from frazil.settings.profile import Settings
from frazil.spec.names import TableName, things
from frazil.spec.topic import TableSpec
from frazil.tables.branches import started_at
from frazil.tables.catalog import catalog_errors, load_table_or_none
from frazil.tables.snapshots import summary_of
from frazil.tables.stage import SUSPENDED

if TYPE_CHECKING:
    from pyiceberg.table import Table


_AT_ONCE = 8


State = Literal[
    "new", "current", "behind", "suspended", "topic missing", "topic changed", "records lost", "unknown"
]  # fmt: skip
"""Unknown: Kafka does not answer."""

BLOCKED: frozenset[State] = frozenset({"suspended", "topic changed", "records lost"})
"""No landing gets on before somebody does what the reason says."""


@dataclass(frozen=True, slots=True)
class TableState:
    """One table and its topic, side by side.

    `lag` counts offsets that wait, and that the topic still holds. `freshness` is 0 where none waits, else
    the seconds since the last landing; None before the first one. `dead_letters`: those that were not
    redriven. `landed`: records of all landings.
    """

    identifier: str
    topic: str
    mode: str
    snapshot_id: int | None
    rows: int
    files: int
    bytes: int
    position: Mapping[int, int]
    lag: int
    freshness: float | None
    state: State
    reason: str = ""
    bytes_per_record: float | None = None
    landed_at: float | None = None
    dead_letters: int = 0
    delete_files: int = 0
    landed: int = 0


def table_states(
    specs: Sequence[TableSpec], connections: Connections, clock: Callable[[], float] = time.time
) -> list[TableState]:
    """The state of each table, in the order of the specs.

    Raises:
        PartDownError: Kafka or the catalog does not answer.
    """
    states, down = known_states(specs, connections, clock)
    for error in down.values():
        raise error.__cause__ if isinstance(error, FaultError) and error.__cause__ else error
    return states


def known_states(
    specs: Sequence[TableSpec], connections: Connections, clock: Callable[[], float] = time.time
) -> tuple[list[TableState], dict[str, FrazilError]]:
    """The states that can be told, as far as they can; and by table what keeps the rest from being told."""
    down: dict[str, FrazilError] = {}
    names = [things(spec, connections.settings).table for spec in specs]
    try:
        topics: Mapping[str, TopicFacts] | None = topic_facts(connections.admin, {s.topic for s in specs})
    except PartDownError as e:
        topics, down = None, dict.fromkeys(map(str, names), e)
    now = clock()

    def state(spec: TableSpec, name: TableName) -> TableState | None:
        try:
            with catalog_errors(connections.settings):
                table = load_table_or_none(connections.catalog, name)
            return _state(spec, name, table, topics, connections.settings, now)
        except Exception as e:  # noqa: BLE001 - one broken table must not hide the others
            down[str(name)] = explain(e)
            return None

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return [found for found in pool.map(state, specs, names) if found], down


def look_at_parts(specs: Iterable[TableSpec], connections: Connections) -> dict[str, FrazilError | None]:
    """Why Kafka or the catalog of a connection does not answer, asked for one table; None where it does."""
    found: dict[str, FrazilError | None] = {}
    for (spec, *_), clients in apart(specs, connections):
        behind = f" of {spec.connection}" if spec.connection else ""
        found[f"kafka{behind}"] = _silence(partial(topic_facts, clients.admin, {spec.topic}))
        found[f"catalog{behind}"] = _silence(partial(_ask_catalog, spec, clients))
    return found


def _ask_catalog(spec: TableSpec, connections: Connections) -> None:
    with catalog_errors(connections.settings):
        load_table_or_none(connections.catalog, things(spec, connections.settings).table)


def _silence(ask: Callable[[], object]) -> FrazilError | None:
    try:
        ask()
    except Exception as e:  # noqa: BLE001 - an expired password is as bad as a server that is down
        return explain(e)
    return None


def waiting(facts: TopicFacts, position: Mapping[int, int]) -> int:
    """Offsets of the topic behind a position, as far as the topic still holds them."""
    return sum(max(0, facts.end[p] - at) for p, at in starts(facts, position).items())


def _state(
    spec: TableSpec,
    name: TableName,
    table: Table | None,
    topics: Mapping[str, TopicFacts] | None,
    settings: Settings,
    now: float,
) -> TableState:
    facts = topics.get(spec.topic) if topics is not None else None
    ledger, unknown = _told(table)
    position = ledger.position if ledger else {}
    lag = waiting(facts, position) if facts else 0
    landed_at = _landed_at(table, ledger) if table and ledger else None
    summary = _summary(table)
    stopped = unknown or (table.properties.get(SUSPENDED, "") if table else "")
    refused = look(settings, name, facts, ledger, Accepted.by(spec)).trouble if facts else None
    head = table.current_snapshot() if table else None
    return TableState(
        identifier=str(name),
        topic=spec.topic,
        mode=spec.mode,
        snapshot_id=head.snapshot_id if head else None,
        rows=int(summary.get("total-records", 0)),
        files=int(summary.get("total-data-files", 0)),
        bytes=int(summary.get("total-files-size", 0)),
        position=position,
        lag=lag,
        freshness=None if landed_at is None else round(now - landed_at, 3) if lag else 0.0,
        state="unknown" if topics is None else _word(facts, ledger, lag, stopped, refused),
        reason=stopped or (f"{refused.what} {refused.where}: {refused.todo}" if refused else ""),
        bytes_per_record=bytes_per_record(table.metadata) if table and not unknown else None,
        landed_at=landed_at,
        dead_letters=ledger.total_dead_letters if ledger else 0,
        delete_files=int(summary.get("total-delete-files", 0)),
        landed=ledger.total_records if ledger else 0,
    )


def _told(table: Table | None) -> tuple[Ledger | None, str]:
    """The table's newest ledger, or why it can't be told."""
    try:
        return read_ledger(table.metadata) if table else None, ""
    except FrazilError as e:
        return None, f"{e.what} {e.todo}"


def _word(
    facts: TopicFacts | None, ledger: Ledger | None, lag: int, stopped: str, refused: FrazilError | None
) -> State:
    if facts is None:
        return "topic missing"
    if stopped:
        return "suspended"
    if refused:
        return "topic changed" if isinstance(refused, TopicChangedError) else "records lost"
    if ledger is None:
        return "new"
    return "behind" if lag else "current"


def _summary(table: Table | None) -> Mapping[str, str]:
    return summary_of(table.current_snapshot() if table else None)


def _landed_at(table: Table, newest: Ledger) -> float:
    """When the newest landing was committed, in seconds since the epoch; where it expired: begun.

    What brings nothing that waits in the topic is no landing.
    """
    for snapshot, ledger in ledgers(table.metadata):
        if ledger.is_landing:
            return snapshot.timestamp_ms / 1000
    return started_at(newest.landing)
