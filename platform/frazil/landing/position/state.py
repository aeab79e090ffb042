"""How tables stand: rows, files, position, lag, freshness. From metadata only."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from frazil.connections import Connections, apart
from frazil.deadline import call_all
from frazil.errors import (
    FaultError,
    FrazilError,
    MissingError,
    PartDownError,
    TopicChangedError,
    explain,
)
from frazil.formats.registry.subjects import have_subject, subject_versions
from frazil.kafka.facts import TopicFacts, known_facts, topic_facts
from frazil.kafka.open_transactions import open_since
from frazil.landing.position.history import Accepted, look, starts
from frazil.landing.position.interval import ChosenInterval
from frazil.landing.position.standing import Standing, Standings, ask_tables
from frazil.landing.tableflow.position import WHAT_TO_DO, beside_topic, past_markers
from frazil.settings.profile import Settings
from frazil.spec.names import TableName, subject_name, things
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.catalogs.handle import handle_of

_AT_ONCE = 8
_PATIENCE = 15.0  # seconds: a look from a sensor must end within Dagster's minute, also if a server hangs


State = Literal[
    "new", "current", "behind", "suspended", "paused", "topic missing", "topic changed", "records lost",
    "unknown",
]  # fmt: skip
"""Unknown: Kafka does not answer."""

BLOCKED: frozenset[State] = frozenset({"suspended", "paused", "topic changed", "records lost"})
"""No landing gets on before somebody does what the reason says."""


@dataclass(frozen=True, slots=True)
class TableState:
    """One table and its topic, side by side.

    `lag` counts offsets that wait, and that the topic still holds; `held`: those of them that nobody can read
    before a transaction ends, which is open since `open_since`, where that is known. `freshness` is 0 where
    none waits, else the seconds since the last landing, or since the transaction began if that is more; None
    before the first landing. `dead_letters`: those that were not redriven. `landed`: records of all landings.
    `land_interval`: how often it lands, where a budget chose that.
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
    held: int = 0
    open_since: float | None = None
    land_interval: ChosenInterval | None = None

    @property
    def readable(self) -> int:
        """Offsets that wait and can be landed."""
        return self.lag - self.held

    @property
    def waiting_text(self) -> str:
        """What waits for a transaction, in words; empty where nothing does."""
        from frazil.exact import iso_moment

        if not self.held:
            return ""
        # The time of a producer's record: no moment of Python's holds any.
        began = self.open_since and iso_moment(int(self.open_since) * 1_000_000, zoned=False).replace(
            "T", " "
        )
        since = f" open since {began} UTC" if began else ""
        return f"{self.held:,} records wait behind a transaction{since}"


def table_states(
    specs: Sequence[TableSpec], connections: Connections, clock: Callable[[], float] = time.time
) -> list[TableState]:
    """The state of each table, in the order of the specs.

    Raises:
        PartDownError: Kafka or the catalog does not answer.
    """
    states, down = known_states(specs, connections, clock)
    raise_first(down.values())
    return states


def raise_first(errors: Iterable[FrazilError]) -> None:
    """Raises what kept the first of some tables from being told, if anything did."""
    for error in errors:
        raise error.__cause__ if isinstance(error, FaultError) and error.__cause__ else error


def known_states(
    specs: Sequence[TableSpec], connections: Connections, clock: Callable[[], float] = time.time
) -> tuple[list[TableState], dict[str, FrazilError]]:
    """The states that can be told, as far as they can; and by table what keeps the rest from being told."""
    names = {things(spec, connections.settings).table: spec for spec in specs}
    standings: Standings = {}
    silent = ask_tables(names, connections, standings)
    topics, untold = _topics(specs, connections, names)  # later: a table is never ahead of its topic
    down = untold | {str(name): error for name, error in silent.items()}
    now = clock()

    def state(name: TableName) -> TableState | None:
        try:
            of_kafka = None if str(name) in untold else topics
            return state_of(names[name], name, standings[name], of_kafka, connections.settings, now)
        except Exception as e:  # noqa: BLE001 - one broken table must not hide the others
            down[str(name)] = explain(e)
            return None

    with ThreadPoolExecutor(_AT_ONCE) as pool:  # some may have to ask Kafka
        looked_at = pool.map(state, [name for name in names if name in standings])
        return [each for each in looked_at if each], down


def _topics(
    specs: Iterable[TableSpec], connections: Connections, names: Mapping[TableName, TableSpec]
) -> tuple[Mapping[str, TopicFacts], dict[str, FrazilError]]:
    """Facts by topic; and by table why there are none."""
    try:
        known, refused = known_facts(connections.admin, {spec.topic for spec in specs})
    except PartDownError as e:
        return {}, dict.fromkeys(map(str, names), e)
    return known, {str(n): refused[spec.topic] for n, spec in names.items() if spec.topic in refused}


def look_at_parts(
    specs: Iterable[TableSpec], connections: Connections, seconds: float = _PATIENCE
) -> dict[str, FrazilError | None]:
    """Why a system of a connection does not answer, asked for one table; None where it does.

    The schema registry is asked where a table needs it.
    """
    asked: dict[str, Callable[[], object]] = {}
    for (spec, *others), clients in apart(specs, connections):
        behind = f" of {spec.connection}" if spec.connection else ""
        asked[f"kafka{behind}"] = partial(_ask_kafka, spec, clients)
        asked[f"catalog{behind}"] = partial(_ask_catalog, spec, clients)
        if subject := next(filter(None, map(_subject_of, (spec, *others))), ""):
            asked[f"registry{behind}"] = partial(_ask_registry, subject, clients)
    return {part: _silence(part, error) for part, error in call_all(asked, seconds).items()}


def _ask_kafka(spec: TableSpec, connections: Connections) -> None:
    topic_facts(connections.admin, {spec.topic})


def _subject_of(spec: TableSpec) -> str:
    """A subject that a landing of the table asks for; empty where it asks for none."""
    if spec.is_read_only or not have_subject(spec):
        return ""
    return subject_name(spec, "value")


def _ask_registry(subject: str, connections: Connections) -> None:
    with suppress(MissingError):  # it answers
        subject_versions(connections.registry, subject)


def _ask_catalog(spec: TableSpec, connections: Connections) -> None:
    with catalog_errors(connections.settings):
        handle_of(spec, connections).load_or_none()


def _silence(part: str, error: Exception | None) -> FrazilError | None:
    """What keeps a part from answering; an expired password is as bad as a server that is down."""
    if isinstance(error, TimeoutError):
        return PartDownError(f"No answer of {part}: {error}.", todo="Look at that server.")
    return explain(error) if error else None


def waiting(facts: TopicFacts, position: Mapping[int, int]) -> int:
    """Offsets of the topic behind a position, as far as the topic still holds them."""
    return sum(max(0, facts.end[p] - at) for p, at in starts(facts, position).items())


def state_of(
    spec: TableSpec,
    name: TableName,
    table: Standing,
    topics: Mapping[str, TopicFacts] | None,
    settings: Settings,
    now: float,
    *,
    forks: bool = True,
    again: bool = False,
) -> TableState:
    """A table beside its topic; `topics` is None where Kafka does not tell of it.

    Args:
        forks: Whether a broker is asked, where that may be, if the log is another one by now, since when a
            transaction is open, and whether what Tableflow did not land yet holds a record.
        again: Whether the caller looks again soon.
    """
    facts = topics.get(spec.topic) if topics is not None else None
    if spec.is_read_only and facts:
        table = _of_tableflow(table, facts, settings, forks=forks)
    readable = waiting(facts, table.position) if facts else 0
    unreadable = facts.behind_transactions(table.position) if facts else {}
    held, asks, accepted = sum(unreadable.values()), forks and bool(unreadable), Accepted.by(spec)
    since = open_since(settings, facts, unreadable, now, at_first_sight=not again) if facts and asks else None
    refused = look(settings, name, facts, table.ledger, accepted, ask=forks).trouble if facts else None
    return TableState(
        identifier=str(name),
        topic=spec.topic,
        mode=spec.mode,
        snapshot_id=table.snapshot_id,
        rows=table.rows,
        files=table.files,
        bytes=table.bytes,
        position=table.position,
        lag=readable + held,
        freshness=_freshness(table.landed_at, readable, held, since, now),
        state="unknown" if topics is None else _word(facts, table, readable + held, refused),
        reason=table.stopped or _reason(spec, refused),
        bytes_per_record=table.bytes_per_record,
        landed_at=table.landed_at,
        dead_letters=table.ledger.total_dead_letters if table.ledger else 0,
        delete_files=table.delete_files,
        landed=table.ledger.total_records if table.ledger else 0,
        held=held,
        open_since=since,
        land_interval=table.land_interval if spec.budget else None,
    )


def _of_tableflow(table: Standing, facts: TopicFacts, settings: Settings, *, forks: bool) -> Standing:
    """A table that Tableflow fills, with what it has of the topic as its ledger."""
    ledger = beside_topic(table.ledger, facts)
    return replace(table, ledger=past_markers(settings, facts, ledger) if forks else ledger)


def _reason(spec: TableSpec, refused: FrazilError | None) -> str:
    """What is wrong with a topic's offsets, and what to do."""
    if refused is None:
        return ""
    todo = WHAT_TO_DO if spec.is_read_only else refused.todo
    return f"{refused.what} {refused.where}: {todo}"


def _freshness(
    landed_at: float | None, readable: int, unreadable: int, since: float | None, now: float
) -> float | None:
    """Seconds for which what waits is late; see `TableState`."""
    if landed_at is None:
        return None
    ages = [now - landed_at] if readable else []
    if unreadable:  # a transaction that nobody knows the age of has not lasted for two looks
        ages.append(now - since if since else 0.0)
    return max(0.0, round(max(ages, default=0.0), 3))


def _word(facts: TopicFacts | None, table: Standing, lag: int, refused: FrazilError | None) -> State:
    if facts is None:
        return "topic missing"
    if table.stopped:
        return "paused" if table.paused else "suspended"
    if refused:
        return "topic changed" if isinstance(refused, TopicChangedError) else "records lost"
    if table.ledger is None:
        return "new"
    return "behind" if lag else "current"
