"""Tables made of topics: is every record there exactly once, under the right columns, and soon enough?"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from frazil.checks.result import Number, Severity, Subject, Verdict
from frazil.formats.columns.columns import metadata_names, names_by_word
from frazil.formats.evolution import refused
from frazil.formats.halves import half_schemas
from frazil.formats.protocol import VALUE, HalfSchemas
from frazil.formats.record import topic_columns
from frazil.formats.row_key import row_key
from frazil.formats.types import from_iceberg
from frazil.landing.position.ledger import Ledger, ledgers, read_ledger
from frazil.landing.position.state import BLOCKED, TableState, table_states
from frazil.landing.repairs.acceptance import commit_text, foreign_commits, ways_on
from frazil.landing.schema.evolve import plan_evolution
from frazil.landing.upsert.key import difference, key_columns
from frazil.quoting import quoted
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import name_of
from frazil.tables.spark.session import live_rows, spark_name

if TYPE_CHECKING:
    from pyiceberg.table import Table

_EMPTY = Verdict(True, "Nothing was landed yet: no row, no offset.", {"offsets": 0, "rows": 0})
_HARMLESS = ("reorder", "tighten")  # changes that leave the table as it is, for good


def count_rows(subject: Subject[TableSpec]) -> Verdict:
    """Offsets landed = rows + what is known to be no row, and spans follow each other without a hole."""
    table = subject.handle.load()
    ledger = read_ledger(table.metadata)
    rows = live_rows(subject.connections, subject.things.table, table.current_snapshot())
    if ledger is None:
        return Verdict(False, f"{rows} rows that no landing brought.", {"rows": rows}) if rows else _EMPTY
    adds_up = ledger.offsets == rows + ledger.known
    broken = _breaks(table)
    others = "" if adds_up else _others(table)
    equal = "=" if adds_up else "!="
    text = (
        f"{ledger.offsets} offsets of {len(ledger.spans)} partitions landed{_of_earlier(ledger)} {equal} "
        f"{rows} rows + {_known(ledger)}; {broken or 'spans are contiguous'}.{others}"
    )
    return Verdict(adds_up and not broken, text, _numbers(ledger, rows))


def count_offsets(subject: Subject[TableSpec]) -> Verdict:
    """Counts every (partition, offset) of the table: none twice, none missing, none out of range."""
    ledger = read_ledger(subject.handle.load().metadata)
    if ledger is None:
        return _EMPTY
    counts = _count_by_partition(subject, ledger)
    rows = sum(c["n"] for c in counts.values())
    twice = sum(c["twice"] for c in counts.values())
    holes = ledger.offsets - (rows - twice)
    stray = [p for p, c in counts.items() if not _in_range(ledger, p, c)]
    again = _keys_again(subject)
    passed = not twice and holes == ledger.known and not stray and not again
    text = (
        f"{rows} rows counted: {twice} offsets are there twice, {holes} are missing where {ledger.known} are "
        f"known to be no rows ({_known(ledger)}), "
        f"{'partitions ' + str(stray) + ' hold offsets' if stray else 'none lies'} out of range"
        f"{f'; {again} rows have the key of another one' if again else ''}."
    )
    numbers = {**_numbers(ledger, rows), "duplicates": twice + again, "holes": holes}
    return Verdict(passed, text, numbers)


def compare_schema(subject: Subject[TableSpec]) -> Verdict:
    """The registry's newest schemas, and the spec's columns of metadata and key, against the table's."""
    spec, registry = subject.spec, subject.connections.registry
    columns, loaded = topic_columns(spec, registry), subject.handle.load()
    table, own = from_iceberg(loaded.schema()), metadata_names(spec)
    changes = [v for v in plan_evolution(spec, loaded, columns).verdicts if v.change not in _HARMLESS]
    missing = [name for name in own if table.get(name) is None]  # of other fields the verdicts speak
    unlike = difference(loaded, spec, row_key(spec, columns))
    schemas = half_schemas(spec, VALUE, registry)
    words = [
        *(f"{v} {v.todo}".rstrip() for v in changes),
        *(f"{m}: column is missing" for m in missing),
        *((f"{unlike.what} {unlike.where}. {unlike.todo}",) if unlike else ()),
    ]
    return Verdict(
        passed=not words,
        text=f"{len(table.fields)} columns against {_source_of_columns(spec, schemas)} "
        f"({len(columns.fields)} fields, the key's included) and {len(own)} columns of "
        f"metadata: {'; '.join(words) or 'names, types and nullability agree'}.{_unasked(schemas)}",
        numbers={
            "registry_version": _version(schemas),
            "registry_fields": len(columns.fields),
            "table_columns": len(table.fields),
            "differences": len(changes) + len(missing),
        },
        severity="ERROR" if refused(changes) or missing or unlike else "WARN",
    )


def _version(schemas: HalfSchemas) -> int:
    """Of the newest schema; 0 where the registry has none."""
    return schemas.writers[-1].version if schemas.writers else 0


def _source_of_columns(spec: TableSpec, schemas: HalfSchemas) -> str:
    if version := _version(schemas):
        return f"version {version} of {schemas.subject}"
    return "the fields that its spec lists" if spec.fields else f"values of {spec.value_format}"


def _unasked(schemas: HalfSchemas) -> str:
    """The rules of a contract that are for readers; empty where there are none."""
    asked = ", ".join(schemas.unasked_rules)
    return f" Its rules {asked} are for readers, and nobody asks them here (rules: ignore)." if asked else ""


_NEXT = {
    "suspended": "When that is fixed, `frazil resume {0}` lands what waits.",
    "paused": "`frazil resume {0}` ends the pause.",
}
"""What follows, where the reason alone does not say it, by the table's state."""


def judge_freshness(subject: Subject[TableSpec]) -> Verdict:
    """Records wait no longer than the spec allows, and nothing keeps them from being landed."""
    return freshness_of(subject.spec, table_states([subject.spec], subject.connections)[0])


def freshness_of(spec: TableSpec, state: TableState) -> Verdict:
    """The same of a table that was looked at already. A topic that is quiet makes no table stale."""
    if state.state == "topic missing":
        return _missing(state)
    if state.state in BLOCKED:
        return _blocked(state)
    limit = state.land_interval.freshness if state.land_interval else spec.freshness
    late = (
        "never landed"
        if state.freshness is None
        else f"late by {state.freshness:.0f} s"
        if state.held
        else f"last landing {state.freshness:.0f} s ago"
    )
    age = None if state.freshness is None and state.lag else state.freshness or 0.0
    passed = limit is None or (age is not None and age <= limit.total_seconds())
    allowed = "no limit set" if limit is None else f"{limit.total_seconds():.0f} s allowed"
    late = late if state.lag else "so the table is current"
    late += f"; {state.waiting_text}" if state.held else ""
    mends = "" if passed or state.held else f" `frazil land {state.identifier}` lands them."
    text = f"Records waiting: {state.lag}, {late}; {allowed}.{mends}"
    numbers: dict[str, Number] = {"lag": state.lag}
    if age is not None:
        numbers["seconds"] = age
    if state.held:
        numbers["behind_transaction"] = state.held
    return Verdict(passed, text, numbers, severity="WARN")


def _missing(state: TableState) -> Verdict:
    text = (
        f"Topic {state.topic} does not exist: nobody can tell whether its table is current. Make it, "
        f"`frazil land {state.identifier} --make-topic`, or fix the topic's name in defs.yaml."
    )
    return Verdict(False, text, {}, severity="WARN")


def _blocked(state: TableState) -> Verdict:
    stopped = f"{state.identifier} is stopped ({state.state}): {state.reason.rstrip('.')}."
    following = _NEXT.get(state.state, "").format(state.identifier)
    severity: Severity = "WARN" if state.state == "paused" else "ERROR"
    return Verdict(False, f"{stopped} {following}".rstrip(), {"lag": state.lag}, severity=severity)


def judge_dead_letters(subject: Subject[TableSpec]) -> Verdict:
    """Dead letters per record landed, of all landings and of the newest; redriven ones no longer count."""
    table = subject.handle.load()
    ledger, most = read_ledger(table.metadata), subject.spec.max_dead_letter_rate
    if ledger is None:
        return Verdict(True, "Nothing was landed yet: no dead letter.", {"rate": 0.0}, severity="WARN")
    newest = next((each for _, each in ledgers(table.metadata) if each.is_landing), ledger)
    every, few = ledger.total_read, newest.read
    rate, of_late = _rate(ledger.total_dead_letters, every), _rate(newest.dead_letters, few)
    passed = max(rate, of_late) <= most
    text = (
        f"{ledger.total_dead_letters} of {every} records are dead letters ({rate:.2%}), "
        f"{newest.dead_letters} of {few} of the newest landing ({of_late:.2%}); "
        f"{most:.2%} allowed"
        f"{'.' if passed else f': see {subject.things.table.dead_letters} for the reasons.'}"
    )
    numbers: dict[str, Number] = {
        "dead_letters": ledger.total_dead_letters,
        "records": every,
        "rate": rate,
        "newest_dead_letters": newest.dead_letters,
        "newest_records": few,
        "newest_rate": of_late,
    }
    return Verdict(passed, text, numbers, severity="WARN")


def _known(ledger: Ledger) -> str:
    bad, gaps, expired = ledger.total_bad, ledger.total_gaps, ledger.total_expired
    lost = f" + {ledger.total_lost} lost" if ledger.total_lost else ""
    accepted = f" + {ledger.total_accepted} deleted by others" if ledger.total_accepted else ""
    forgotten = f" + {ledger.total_forgotten} forgotten" if ledger.total_forgotten else ""
    merged = f" + {ledger.total_merged} merged by key" if ledger.total_merged else ""
    returned = f" - {ledger.total_returned} returned by replays" if ledger.total_returned else ""
    gone = f"{lost} + {expired} expired{forgotten}{accepted}{merged}{returned}"
    return f"{bad} bad or left out + {gaps} known gaps{gone}"


def _of_earlier(ledger: Ledger) -> str:
    logs = len(ledger.earlier_logs)
    return f", those of {logs} earlier log{'s' * (logs > 1)} included," if logs else ""


def _others(table: Table) -> str:
    """The newest commit that explains the difference, and what to do about it."""
    newest = next(iter(foreign_commits(table.metadata)), None)
    if newest is None:
        return ""
    ways = ways_on(name_of(table), table.metadata, newest)
    return f" Another engine changed rows in snapshot {commit_text(newest)}: {ways}."


def _breaks(table: Table) -> str:
    """Where the spans of two landings in a row do not meet, as far back as snapshots are kept."""
    for (_, newer), (_, older) in pairwise(ledgers(table.metadata)):
        if newer.log != older.log:
            continue
        for p, (start, _) in sorted(newer.spans.items()):
            end = older.position.get(p, start)
            if start != end + newer.lost.get(p, 0):
                return f"partition {p}: one landing ends at {end}, the next starts at {start}"
    return ""


def _count_by_partition(subject: Subject[TableSpec], ledger: Ledger) -> dict[int, dict[str, Any]]:
    """An offset may be there once for each log that held it."""
    names = names_by_word(subject.spec)
    partition, offset = quoted(names["partition"]), quoted(names["offset"])
    each = f"SELECT {partition} AS p, {offset} AS o, count(1) AS n FROM {spark_name(subject.things.table)}"
    rows = subject.connections.spark.sql(
        f"SELECT p, sum(n) AS n, sum(greatest(n - {_times(ledger)}, 0)) AS twice, "
        f"min(o) AS first, max(o) AS last FROM ({each} GROUP BY 1, 2) GROUP BY p"
    ).collect()
    return {row["p"]: row.asDict() for row in rows}


def _keys_again(subject: Subject[TableSpec]) -> int:
    """Rows of an upsert table that have the key of another one."""
    key = key_columns(subject.handle.load())
    if not key:
        return 0
    each = (
        f"SELECT count(1) AS n FROM {spark_name(subject.things.table)} GROUP BY {', '.join(map(quoted, key))}"
    )
    counted = subject.connections.spark.sql(f"SELECT coalesce(sum(n - 1), 0) FROM ({each})").collect()
    return int(counted[0][0])


def _times(ledger: Ledger) -> str:
    """How often an offset may be there, as SQL."""
    if not ledger.earlier_logs:
        return "1"
    spans = [each for _, log in ledger.logs for each in log.items()]
    conditions = [f"int(p = {p} AND o BETWEEN {start} AND {to - 1})" for p, (start, to) in spans]
    return f"greatest(1, {' + '.join(conditions) or 1})"


def _in_range(ledger: Ledger, partition: int, counts: dict[str, Any]) -> bool:
    spans = [log[partition] for _, log in ledger.logs if partition in log]
    first, last = (min(s for s, _ in spans), max(t for _, t in spans)) if spans else (0, 0)
    return bool(first <= counts["first"] and counts["last"] < last)


def _numbers(ledger: Ledger, rows: int) -> dict[str, Number]:
    return {
        "offsets": ledger.offsets,
        "rows": rows,
        "bad_or_left_out": ledger.total_bad,
        "known_gaps": ledger.total_gaps,
        "lost": ledger.total_lost,
        "accepted": ledger.total_accepted,
        "expired": ledger.total_expired,
        "forgotten": ledger.total_forgotten,
        "merged": ledger.total_merged,
        "returned": ledger.total_returned,
        "partitions": len(ledger.spans),
    }


def _rate(bad: int, of: int) -> float:
    return bad / of if of else 0.0
