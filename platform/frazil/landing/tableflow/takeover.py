"""A topic moves from Tableflow to Frazil: its table goes on here, from the position that its rows tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, ClassVar

from frazil.connections import Connections
from frazil.errors import (
    ConfigureError,
    DifferentError,
    OvertakenError,
    RepairError,
    SpecError,
    TopicChangedError,
)
from frazil.formats.columns.columns import metadata_columns
from frazil.formats.evolution import refused
from frazil.formats.logical import Struct
from frazil.formats.record import topic_columns
from frazil.formats.types import from_iceberg
from frazil.kafka.facts import TopicFacts, topic_fact
from frazil.landing.position.history import look
from frazil.landing.position.ledger import Ledger, read_ledger
from frazil.landing.schema.evolve import plan_evolution
from frazil.landing.tableflow.position import (
    Comparison,
    beside_topic,
    compare_rows,
    ledger_of_files,
    place_columns,
)
from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.catalogs.handle import TableHandle, name_of, writable_handle
from frazil.tables.commits.stage import Staged, StagedFiles, audit_failed, publish
from frazil.tables.commits.works import work_name
from frazil.tables.creation import make_namespace, register
from frazil.tables.metadata.rows import stored_rows
from frazil.tables.metadata.snapshots import number, summary_of

if TYPE_CHECKING:
    from pyiceberg.table import Table

TAKEOVER = "takeover_"
"""How the name of a takeover begins, in its ledger."""

_UNTOUCHED = "Nothing was changed; the table is Tableflow's as before."


@dataclass(frozen=True, slots=True)
class TakeoverReport:
    """What was taken over. `gaps` are offsets that hold no record, `given_up` those that nobody tells of."""

    table: str
    topic: str
    source: str
    snapshot_id: int | None
    rows: int
    position: Mapping[int, int]
    gaps: int
    given_up: int


def take_over(
    spec: TableSpec,
    connections: Connections,
    source: TableName,
    of: Connections,
    *,
    accept_gaps: bool = False,
    run_id: str = "",
) -> TakeoverReport:
    """Makes a table of Tableflow's the table of a spec; its next landing goes on where the rows end.

    The files stay where they are: Frazil's catalog names the same metadata, then follows a ledger of its own.
    One that died on its way goes on when it is called again.

    Args:
        source: Tableflow's table, in the catalog `of` a connection. Tableflow must no longer write it.
        accept_gaps: Go on without offsets that have no row, where the topic no longer tells why.

    Raises:
        DifferentError: The table is not laid out as the spec wants it.
        TopicChangedError: The rows are of another topic than the one that has its name now.
        AuditFailedError: Rows are there twice, or missing.
        RepairError: Rows are missing, and the topic no longer tells whether they were records.
        OvertakenError: Somebody else took it over, or wrote to it, meanwhile.
    """
    handle = writable_handle(spec, connections)
    if spec.mode != "append":
        raise SpecError(
            f"{handle} can't be taken over from Tableflow with mode: {spec.mode}.",
            meaning="Nothing was changed.",
            todo="Write mode: append; or land the topic into a table of another name, from its first offset.",
        )
    with catalog_errors(connections.settings):
        own = handle.load_or_none()
        _may_begin(handle.name, own, source, TableHandle(of.catalog, source).load_or_none())
        table = own or TableHandle(of.catalog, source).load()
        entry = _entry(spec, connections, handle.name, table, accept_gaps)
        if own is None:
            _register(handle, table)
        signed = replace(
            entry, because=f"taken over from Tableflow's {source}", landing=work_name(TAKEOVER),
            run_id=run_id, version=version("frazil"),
        )  # fmt: skip
        head = table.metadata.current_snapshot_id or 0
        published = publish(handle, _Takeover(StagedFiles(), signed, head))
    return TakeoverReport(
        str(handle), spec.topic, str(source), published.snapshot_id, entry.records, entry.position,
        sum(entry.gaps.values()), sum(entry.lost.values()),
    )  # fmt: skip


@dataclass(frozen=True)
class _Takeover(Staged):
    """No rows: only the ledger of those that are there, at the head that was counted."""

    work: ClassVar[str] = "takeover"

    entry: Ledger
    head: int

    def next_entry(self, table: Table) -> Ledger:
        """See `Staged.next_entry`."""
        if read_ledger(table.metadata) is None and table.metadata.current_snapshot_id == self.head:
            return self.entry.following(None)
        raise OvertakenError(
            f"{name_of(table)} was taken over, or written to, by others meanwhile.",
            where=f"its head was {self.head}, and is {table.metadata.current_snapshot_id}",
            meaning="Nothing was changed now.",
            todo="Make sure that Tableflow is off for this topic; then try again.",
        )


def _may_begin(name: TableName, own: Table | None, source: TableName, theirs: Table | None) -> None:
    if own and (ledger := read_ledger(own.metadata)):
        raise DifferentError(
            f"Frazil lands {name} already.",
            where=f"position {ledger.position}",
            meaning="Nothing was changed.",
            todo=f"`frazil land {name}` goes on; `frazil resume {name}` does, if it was released.",
        )
    if own and theirs and own.metadata.table_uuid != theirs.metadata.table_uuid:
        raise DifferentError(
            f"There is a table {name} already, and it is not {source}.",
            where=f"{own.location()} and {theirs.location()}",
            meaning="Nothing was changed.",
            todo="Give the table another name in the spec.",
        )


def _register(handle: TableHandle, table: Table) -> None:
    """Raises ConfigureError where the catalog does not name the table then, as SeaweedFS' does not."""
    make_namespace(handle.catalog, handle.name.namespace)
    register(handle, table.metadata_location)
    made = handle.load()
    if made.metadata.table_uuid != table.metadata.table_uuid:
        raise ConfigureError(
            f"The catalog can't take over tables that are there: it made an empty {handle} instead.",
            where=f"asked for {table.metadata_location}, it names {made.metadata_location}",
            meaning=f"Tableflow's table is as it was. {handle} has no row.",
            todo="Use Glue, or a catalog that reads what it registers. Or let Frazil land the topic from its "
            "first offset, into a table of another name: the empty one is in nobody's way.",
        )


def _entry(
    spec: TableSpec, connections: Connections, name: TableName, table: Table, accept_gaps: bool
) -> Ledger:
    """The ledger of the rows that are there, once all is proved of them."""
    _fits(spec, connections, table)
    facts = topic_fact(connections.admin, spec.topic)
    ledger = beside_topic(ledger_of_files(spec, table), facts)
    merged = number(summary_of(table.current_snapshot()), "total-delete-files")
    if ledger is None or merged:
        why = "is an upsert table: its rows are merged by key" if merged else "has no row of the topic"
        raise DifferentError(
            f"{'.'.join(table.name())} {why}.",
            meaning=_UNTOUCHED,
            todo="Let Frazil land the topic from its first offset, into a table of another name.",
        )
    ledger = replace(ledger, topic_id=facts.topic_id)
    _of_this_topic(connections, name, ledger, facts)
    if strange := stored_rows(table, table.current_snapshot()) - ledger.records:
        raise audit_failed(_what(spec), f"{strange} rows name no partition, or no offset")
    comparison = compare_rows(connections.settings, table, place_columns(spec, table), ledger, facts)
    _adds_up(spec, ledger, facts, comparison, accept_gaps)
    return replace(ledger, gaps=comparison.gaps, lost=comparison.unknown)


def _fits(spec: TableSpec, connections: Connections, table: Table) -> None:
    """Raises DifferentError unless a landing could append to the table as it is."""
    changes = plan_evolution(spec, table, topic_columns(spec, connections.registry)).verdicts
    odd = [*_other_metadata(spec, from_iceberg(table.schema())), *map(str, refused(changes))]
    if odd:
        raise DifferentError(
            f"The columns of {'.'.join(table.name())} are not those that the spec asks for.",
            where="; ".join(odd),
            meaning=_UNTOUCHED,
            todo="Write `metadata: full`, for Tableflow's nine columns, and the metadata_names that it has. "
            "Else land the topic into a table of another name.",
        )


def _other_metadata(spec: TableSpec, there: Struct) -> Iterator[str]:
    """Metadata columns of the table, or of the spec, that the other one has not, or has otherwise."""
    wanted = {c.name(spec.metadata_names): c.type for c in metadata_columns(spec)}
    for name, kind in wanted.items():
        field = there.get(name)
        if field is None or field.type != kind:
            yield f"{name}: {field.type if field else 'missing'}, not {kind}"
    for column in metadata_columns(spec.model_copy(update={"metadata": "full"})):
        name = column.name(spec.metadata_names)
        if there.get(name) and name not in wanted:
            yield f"{name}: the spec has no such column"


def _of_this_topic(connections: Connections, name: TableName, ledger: Ledger, facts: TopicFacts) -> None:
    """Raises TopicChangedError where the topic's log ends, or forks, before the rows do."""
    trouble = look(connections.settings, name, facts, ledger).trouble
    if isinstance(trouble, TopicChangedError):
        raise TopicChangedError(
            f"The rows are not of the topic that is called {facts.topic} now.",
            where=trouble.where,
            meaning=_UNTOUCHED,
            todo="Land the topic into a table of another name; the old rows stay in Tableflow's.",
        )


def _adds_up(
    spec: TableSpec, ledger: Ledger, facts: TopicFacts, comparison: Comparison, accept_gaps: bool
) -> None:
    if comparison.wrong:
        reasons = "; ".join(f"partition {p}: {why}" for p, why in comparison.wrong.items())
        raise audit_failed(_what(spec), reasons)
    doubtful = list(_doubts(ledger, facts, comparison))
    if doubtful and not accept_gaps:
        raise RepairError(
            f"The table lacks records of {spec.topic}, or nobody tells whether it does.",
            where="; ".join(doubtful),
            meaning=_UNTOUCHED,
            todo="`frazil adopt --accept-gaps` goes on without them, and notes how many. Or land the topic "
            "into a table of another name.",
        )


def _what(spec: TableSpec) -> str:
    return f"Tableflow's table of {spec.topic}"


def _doubts(ledger: Ledger, facts: TopicFacts, comparison: Comparison) -> Iterator[str]:
    for p, at in ledger.start.items():
        if (first := facts.first.get(p, at)) < at:
            yield f"partition {p}: the topic still holds [{first}, {at}), before the first row"
    for p, missing in comparison.unknown.items():
        yield f"partition {p}: {missing} offsets have no row, and the topic no longer holds them"
