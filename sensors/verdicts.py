"""Tells Dagster what checks say that no run has run, where that is other than it knows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import dagster as dg

from frazil.checks.result import CheckResult
from resources.events import check_evaluation

MOST_TOLD = 50
"""Verdicts of one tick: Dagster's storage takes 15 ms of CPU for each."""


def evaluations(
    instance: dg.DagsterInstance, keys: Sequence[dg.AssetCheckKey]
) -> Mapping[dg.AssetCheckKey, dg.AssetCheckEvaluation]:
    """How checks came out last; those that nobody ran, and those that run right now, are left out."""
    records = instance.event_log_storage.get_latest_asset_check_execution_by_key(keys)
    return {
        key: record.evaluation
        for key, record in records.items()
        if isinstance(record.evaluation, dg.AssetCheckEvaluation)  # else it was planned, and not run
    }


def news_of(instance: dg.DagsterInstance, results: Iterable[CheckResult]) -> list[CheckResult]:
    """Those that Dagster knows otherwise, also as a warning that is an error now; those that fail first."""
    compared = {_key(result): result for result in results if result.status != "skipped"}
    known = evaluations(instance, list(compared))
    news = [result for key, result in compared.items() if key not in known or _is_news(result, known[key])]
    return sorted(news, key=lambda result: result.passed)


def tell_verdicts(instance: dg.DagsterInstance, news: Sequence[CheckResult]) -> None:
    """Tells as many as a tick may; the next one tells the others."""
    for result in news[:MOST_TOLD]:
        instance.report_runless_asset_event(check_evaluation(result))


def _key(result: CheckResult) -> dg.AssetCheckKey:
    return dg.AssetCheckKey(dg.AssetKey(result.asset), result.check)


def _is_news(result: CheckResult, evaluation: dg.AssetCheckEvaluation) -> bool:
    return result.passed != evaluation.passed or (
        not evaluation.passed and result.severity != evaluation.severity.value
    )
