"""All checks by name, of tables made of topics and of tables made of others, and running them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from frazil.checks.derived import compare_columns, compare_query, count_derived, judge_inputs
from frazil.checks.layers.judge import FRESH, judge_state, layer_checks
from frazil.checks.own import own_checks
from frazil.checks.readers import Reader, judge_reader
from frazil.checks.result import Check, CheckResult, Subject, Verdict
from frazil.checks.table import compare_shown, judge_files
from frazil.checks.tableflow import compare_count, count_each
from frazil.checks.topic import (
    compare_schema,
    count_offsets,
    count_rows,
    freshness_of,
    judge_dead_letters,
    judge_freshness,
)
from frazil.checks.values import compare_values
from frazil.checks.verification import judge_rows
from frazil.connections import Connections
from frazil.errors import FrazilError, RetryError
from frazil.landing.position.state import TableState
from frazil.publishing.target import Target
from frazil.publishing.targets import targets_of
from frazil.settings.profile import Settings
from frazil.spec.freshness import TABLE
from frazil.spec.names import Things, things
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.catalog import catalog_errors

VERIFIED = "verified"
"""The check that compares all values of all records."""


def checks_of(spec: AnyTable, settings: Settings) -> Mapping[str, Check]:
    """Every check that makes sense for one table, by name; also those that read the data."""
    names = things(spec, settings)
    own = _of_topics(spec, names) if isinstance(spec, TableSpec) else _of_derived(spec, names)
    targets = targets_of(spec, settings)
    shown = (*map(_of_target, targets), *layer_checks(spec, names, targets))
    return {check.name: check for check in (*own, *_of_files(spec, names), *shown)}


def _of_files(spec: AnyTable, names: Things) -> Iterator[Check]:
    what = "Files, manifests and snapshots are in order."
    if not spec.is_read_only:  # else nothing that Frazil could mend
        yield Check("file_health", names.iceberg_path, False, what, judge_files)


def _of_topics(spec: TableSpec, names: Things) -> Iterator[Check]:
    table = names.iceberg_path
    counted, each = (compare_count, count_each) if spec.is_read_only else (count_rows, count_offsets)
    yield Check("row_count", table, True, "Offsets landed = rows + what is known to be none.", counted)
    every = "Every offset counted: none twice, none missing."
    yield Check("row_count_deep", table, False, every, each, deep=True)
    if not spec.is_read_only:
        whole = "Each record has its row and each row its record, all values, by a program of its own."
        yield Check(VERIFIED, table, False, whole, judge_rows, deep=True)
    yield Check("schema", table, True, "Columns agree with the schema registry.", compare_schema)
    yield Check("freshness", table, False, "Records wait no longer than allowed.", judge_freshness)
    yield from own_checks(spec, names)
    if spec.on_bad_record == "dead_letter":
        letters = names.dead_letters_path
        yield Check("dead_letter_rate", letters, False, "Few enough records are bad.", judge_dead_letters)


def _of_derived(spec: AnyTable, names: Things) -> Iterator[Check]:
    table = names.iceberg_path
    yield Check("row_count", table, True, "Rows = rows that derivations wrote.", count_derived)
    yield Check("schema", table, True, "Columns agree with the query.", compare_columns)
    yield Check("inputs_read", table, False, "No row waits in the inputs.", judge_inputs)
    whole = "The rows are those that the query makes of the whole inputs."
    yield Check("query_agrees", table, False, whole, compare_query, deep=True)
    yield from own_checks(spec, names)


def _of_target(target: Target) -> Check:
    what = f"{target.word.capitalize()} shows the current metadata."
    return Check(target.check, target.path, target.blocking, what, partial(compare_shown, target))


def run_values(spec: AnyTable, connections: Connections, count: int) -> CheckResult:
    """Compares up to `count` rows of each partition of a topic with their records, all values.

    A check of a server that does not answer is skipped, as in `run_checks`.
    """
    names = things(spec, connections.settings)
    what = "Rows hold what their records say, by another decoder."
    if not isinstance(spec, TableSpec):
        verdict = Verdict.skip("the table is made of tables, and has no records of its own")
        return _result(Check("values", names.iceberg_path, False, what, lambda _: verdict), names, verdict)
    check: Check = Check("values", names.iceberg_path, False, what, partial(compare_values, count=count))
    return _look_or_skip(check, Subject(spec, names, connections))


def run_reader(spec: AnyTable, connections: Connections, reader: Reader) -> CheckResult:
    """Judges whether an engine can read a table, by what the engine's documents say.

    A check of a server that does not answer is skipped, as in `run_checks`.
    """
    names = things(spec, connections.settings)
    what, look = f"{reader.name} can read it, by its documents.", partial(judge_reader, reader=reader)
    check: Check = Check(f"reader {reader.name}", names.iceberg_path, False, what, look)
    return _look_or_skip(check, Subject(spec, names, connections))


def run_check(name: str, spec: AnyTable, connections: Connections) -> CheckResult:
    """Runs one check. What keeps it from looking (a missing table, say) is a failed check.

    A server that does not answer (RetryError) says nothing about the data.
    """
    settings = connections.settings
    check, names = checks_of(spec, settings)[name], things(spec, settings)
    return _look(check, Subject(spec, names, connections))


def _look(check: Check, subject: Subject[AnyTable]) -> CheckResult:
    try:
        with catalog_errors(subject.connections.settings):
            verdict = check.look(subject)
    except RetryError:
        raise
    except FrazilError as e:
        verdict = Verdict(False, str(e), {})
    return _result(check, subject.things, verdict)


def _look_or_skip(check: Check, subject: Subject[AnyTable]) -> CheckResult:
    try:
        return _look(check, subject)
    except RetryError as e:
        return replace(_result(check, subject.things, Verdict.skip(e.what.rstrip("."))), down=e)


def _run_or_skip(name: str, spec: AnyTable, connections: Connections) -> CheckResult:
    settings = connections.settings
    check, names = checks_of(spec, settings)[name], things(spec, settings)
    return _look_or_skip(check, Subject(spec, names, connections))


def freshness_results(
    seen: Iterable[tuple[TableSpec, TableState]], settings: Settings
) -> Iterator[CheckResult]:
    """The check `freshness` of tables that were looked at already, and that of their layer's limit."""
    for spec, state in seen:
        checks, names = checks_of(spec, settings), things(spec, settings)
        yield _result(checks["freshness"], names, freshness_of(spec, state))
        if limit := checks.get(FRESH.format(TABLE)):
            yield _result(limit, names, judge_state(spec, state))


def _result(check: Check, names: Things, verdict: Verdict) -> CheckResult:
    return CheckResult(
        check.name, str(names.table), verdict.status, verdict.severity, verdict.text, verdict.numbers,
        check.asset, check.blocking,
    )  # fmt: skip


def run_checks(
    specs: Iterable[AnyTable], connections: Connections, *, deep: bool = False, partly: bool = False
) -> list[CheckResult]:
    """Runs all checks of all tables, those that read the data only where asked for.

    `partly`: a check whose server does not answer is skipped; otherwise it ends them all.
    """
    run = _run_or_skip if partly else run_check
    return [
        run(check.name, spec, connections.of(spec))
        for spec in specs
        for check in checks_of(spec, connections.settings).values()
        if deep or not check.deep
    ]
