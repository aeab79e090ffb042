"""Which spans may be replayed: those that the table holds of this log, and that Kafka still has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.errors import (
    ConfigureError,
    NotYetError,
    OffsetsLostError,
    RepairError,
    TopicChangedError,
    UsageError,
)
from frazil.kafka.facts import TopicFacts, topic_fact
from frazil.landing.plan import Plan
from frazil.landing.position.history import look
from frazil.landing.position.ledger import Ledger, Span, read_ledger
from frazil.landing.repairs.acceptance import foreign_commits, ways_on
from frazil.landing.repairs.selection import offset_columns
from frazil.landing.upsert.key import why_no_older_records
from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import name_of

if TYPE_CHECKING:
    from pyiceberg.table import Table

_NOTHING = "Nothing was changed."


def refuse_keyed(spec: TableSpec) -> None:
    """Refuses tables of rows by key: what a row says there does not follow from one record alone."""
    if spec.is_keyed:
        raise UsageError(
            f"Records of {spec.topic} can't be replayed: its table has mode: {spec.mode}.",
            meaning=f"{why_no_older_records(spec)} {_NOTHING}",
            todo="Send what should hold to the topic again, as a new record; or land the topic into a table "
            "of another name.",
        )


def plan_replay(spec: TableSpec, connections: Connections, table: Table, spans: Mapping[int, Span]) -> Plan:
    """What is read once more.

    Args:
        spans: Half-open ranges of offsets, by partition.

    Raises:
        UsageError: Spans that the table does not hold, or that several logs of the topic's name have.
        OffsetsLostError: Kafka no longer has them.
        TopicChangedError: The topic was recreated, or its log was cut.
        ConfigureError: The table has no columns of partition and offset.
        RepairError: Another engine deleted rows, and nobody has accepted that.
        NotYetError: Nothing was landed yet.
    """
    name = name_of(table)
    ledger = read_ledger(table.metadata)
    if ledger is None:
        raise NotYetError(f"Nothing was landed into {name} yet.", todo=f"`frazil land {name}` lands it.")
    facts = topic_fact(connections.admin, spec.topic)
    trouble = look(connections.settings, name, facts, ledger).trouble
    if isinstance(trouble, TopicChangedError):
        raise trouble
    _refuse_columns(spec, table)
    refuse_rows(table, spans)
    _refuse_gone(facts, spans)
    return Plan(
        facts.topic, facts.topic_id, dict(sorted(spans.items())), capped=False,
        leader_epochs=facts.leader_epochs, before=ledger, ledger=ledger,
    )  # fmt: skip


def refuse_rows(table: Table, spans: Mapping[int, Span]) -> None:
    """Refuses a head whose rows of the spans are not those of the records: asked of each head that is met.

    Raises:
        UsageError: It does not hold them, perhaps because of a rollback.
        RepairError: Another engine deleted rows, and nobody has accepted that.
    """
    ledger = read_ledger(table.metadata)
    assert ledger, "it had one"
    _refuse_foreign(table)
    _refuse_outside(name_of(table), ledger, spans)


def _refuse_columns(spec: TableSpec, table: Table) -> None:
    if missing := [c for c in offset_columns(spec) if c not in table.schema().column_names]:
        raise ConfigureError(
            f"Table {name_of(table)} has no column {missing[0]}.",
            meaning=f"Nothing tells which rows are of these offsets. {_NOTHING}",
            todo="Fix metadata_names in the spec; where columns were dropped, only a new landing helps.",
        )


def _refuse_foreign(table: Table) -> None:
    name = name_of(table)
    if foreign := foreign_commits(table.metadata):
        raise RepairError(
            f"Another engine changed rows of {name}, and nobody has accepted that.",
            where=f"snapshot {foreign[0].snapshot_id}",
            meaning=f"A replay could not tell which rows it brings back. {_NOTHING}",
            todo=f"{ways_on(name, table.metadata, foreign[0])}. Then replay.",
        )


def _refuse_outside(name: TableName, ledger: Ledger, spans: Mapping[int, Span]) -> None:
    position = ledger.logs[-1][1]
    for p, (start, to) in spans.items():
        first, last = position.get(p, (0, 0))
        if not first <= start < to <= last:
            raise UsageError(
                f"Span {p}:{start}-{to} is not within what {name} holds.",
                where=f"partition {p}: [{first}, {last})" if p in position else f"partition {p}: nothing",
                meaning=_NOTHING,
                todo=f"Name offsets within it. `frazil land {name}` lands what comes later.",
            )
        for _, log in ledger.earlier_logs:
            first, last = log.get(p, (0, 0))
            if start < last and first < to:
                raise UsageError(
                    f"Span {p}:{start}-{to} of {name} is also one of an earlier log of the topic's name.",
                    where=f"earlier log, partition {p}: [{first}, {last})",
                    meaning=f"Partition and offset do not tell its rows from the older ones. {_NOTHING}",
                    todo="Name offsets that only the present log has.",
                )


def _refuse_gone(facts: TopicFacts, spans: Mapping[int, Span]) -> None:
    gone = {p: (a, min(b, facts.first.get(p, b))) for p, (a, b) in spans.items() if a < facts.first.get(p, b)}
    if gone:
        raise OffsetsLostError(
            f"Topic {facts.topic} no longer holds records that should be replayed.",
            where=", ".join(f"partition {p}: [{a}, {b})" for p, (a, b) in sorted(gone.items())),
            meaning=f"The table still has what was landed of them. {_NOTHING}",
            todo="Name offsets that the topic still holds.",
        )
