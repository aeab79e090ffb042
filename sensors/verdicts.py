"""Tells Dagster what checks say that no run has run, where that is other than it knows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import dagster as dg

from frazil.checks.result import CheckResult
from resources.events import check_evaluation

MOST_TOLD = 50
"""Verdicts of one tick: Dagster's storage takes 15 ms of CPU for each."""


def news_of(instance: dg.DagsterInstance, results: Iterable[CheckResult]) -> list[CheckResult]:
    """Those that Dagster knows otherwise, also as a warning that is an error now; those that fail first."""
    compared = {_key(result): result for result in results if result.status != "skipped"}
    before = instance.event_log_storage.get_latest_asset_check_execution_by_key(list(compared))
    known = {key: _outcome(record.evaluation) for key, record in before.items()}
    news = [r for key, r in compared.items() if known.get(key) != (r.passed, _severity(r))]
    return sorted(news, key=lambda result: result.passed)


def tell_verdicts(instance: dg.DagsterInstance, news: Sequence[CheckResult]) -> None:
    """Tells as many as a tick may; the next one tells the others."""
    for result in news[:MOST_TOLD]:
        instance.report_runless_asset_event(check_evaluation(result))


def _key(result: CheckResult) -> dg.AssetCheckKey:
    return dg.AssetCheckKey(dg.AssetKey(result.asset), result.check)


def _severity(result: CheckResult) -> str | None:
    return None if result.passed else result.severity


def _outcome(told: object) -> tuple[bool, str | None] | None:
    """How a check came out, and how bad that is; None where it was planned, and not run."""
    if not isinstance(told, dg.AssetCheckEvaluation):
        return None
    return told.passed, None if told.passed else told.severity.value
