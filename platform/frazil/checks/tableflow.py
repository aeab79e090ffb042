"""Tables that Tableflow lands: is every offset between the first and the last there, once?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil.checks.result import Number, Severity, Subject, Verdict
from frazil.kafka.facts import TopicFacts, topic_fact
from frazil.landing.position.ledger import Ledger
from frazil.landing.tableflow.position import compare_rows, ledger_of_files, place_columns
from frazil.spec.topic import TableSpec
from frazil.tables.metadata.rows import stored_rows
from frazil.tables.metadata.snapshots import number, summary_of

if TYPE_CHECKING:
    from pyiceberg.table import Table

_EMPTY = Verdict(True, "Tableflow has not written a row yet.", {"offsets": 0, "rows": 0})
_UPSERT = "its rows are merged by key, so they are fewer than its offsets"


def compare_count(subject: Subject[TableSpec]) -> Verdict:
    """Rows = offsets from the first to the last of each partition; and the topic holds no others before."""
    spec, connections = subject.spec, subject.connections
    table = subject.handle.load()
    ledger = _countable(spec, table)
    if isinstance(ledger, Verdict):
        return ledger
    strange = _strange(ledger, topic_fact(connections.admin, spec.topic))
    if placeless := stored_rows(table, table.current_snapshot()) - ledger.records:
        strange.append(f"{placeless} rows name no partition, or no offset")
    missing = ledger.offsets - ledger.records
    doubled = f"{-missing} rows more than offsets: some are there twice"
    gaps = (
        f"{missing} offsets have no row: markers of transactions, records that were compacted away or left "
        f"out, or a loss; `frazil check --deep {subject.things.table}` reads the topic to tell"
    )
    problems = [*strange, *([doubled] if missing < 0 else [gaps] if missing else [])]
    text = (
        f"{ledger.records} rows of {len(ledger.spans)} partitions span {ledger.offsets} offsets: "
        f"{'; '.join(problems) or 'none is missing'}."
    )
    severity: Severity = "ERROR" if strange or missing < 0 else "WARN"
    return Verdict(not problems, text, _numbers(ledger), severity)


def count_each(subject: Subject[TableSpec]) -> Verdict:
    """Reads partition and offset of every row: none twice, and none missing that the topic has."""
    spec, connections = subject.spec, subject.connections
    table = subject.handle.load()
    ledger = _countable(spec, table)
    if isinstance(ledger, Verdict):
        return ledger
    facts, names = topic_fact(connections.admin, spec.topic), place_columns(spec, table)
    comparison = compare_rows(connections.settings, table, names, ledger, facts)
    sentences = [*(f"partition {p}: {why}" for p, why in comparison.wrong.items()), *_strange(ledger, facts)]
    if unknown := sum(comparison.unknown.values()):
        sentences.append(
            f"{unknown} offsets have no row, and the topic no longer tells whether they held records"
        )
    gaps = sum(comparison.gaps.values())
    well = f"each record is there once; {gaps} offsets hold none, as the topic says"
    text = f"{ledger.records} rows against {ledger.offsets} offsets: {'; '.join(sentences) or well}."
    return Verdict(not sentences, text, {**_numbers(ledger), "known_gaps": gaps})


def _countable(spec: TableSpec, table: Table) -> Ledger | Verdict:
    """What the rows tell of their offsets; a verdict where there is nothing to count."""
    if number(summary_of(table.current_snapshot()), "total-delete-files"):
        return Verdict.skip(_UPSERT)
    return ledger_of_files(spec, table) or _EMPTY


def _strange(ledger: Ledger, facts: TopicFacts) -> list[str]:
    """Where the topic is not the one that the rows are of, or the table begins behind the topic."""
    position = ledger.position
    beyond = [p for p, at in position.items() if at > facts.end.get(p, -1)]
    late = {p: at - facts.first[p] for p, at in ledger.start.items() if at > facts.first.get(p, at)}
    return [
        *(f"partition {p} has rows up to offset {position[p]}, the topic ends before" for p in beyond),
        *(f"partition {p} lacks the topic's first {n} offsets" for p, n in late.items()),
    ]


def _numbers(ledger: Ledger) -> dict[str, Number]:
    return {"offsets": ledger.offsets, "rows": ledger.records, "partitions": len(ledger.spans)}
