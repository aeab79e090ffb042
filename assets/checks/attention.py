"""One asset that lists what is late or broken in all pipelines: the page to look at first."""

import json

# No `from __future__ import annotations`: Dagster compares the type of `context`, not its name.
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from frazil.alarms.journal import Alarm, Journal
from frazil.checks.result import CheckResult, Severity
from resources.events import check_evaluation
from resources.facts import listing

KEY = dg.AssetKey("late_and_broken")
CHECK = "nothing_is_late_or_broken"
SENSOR = "alarms"
"""The sensor that looks, and reports to this asset."""

_ABOUT = f"""What is late, stopped or broken now, of all tables, targets and systems: failed checks, failed \
runs, and systems that do not answer. The sensor `{SENSOR}` looks twice a minute and reports here whenever \
that changes. Materializing the asset shows what its last look saw."""

_NO_LOOK = f"The sensor `{SENSOR}` has not looked yet: turn it on under Automation."
_COLUMNS = {"since": "string", "severity": "string", "what": "string", "why, and what to do": "string"}
_NAMED = 5  # of those that are open, in the check's one sentence


def attention_asset() -> dg.AssetsDefinition:
    """The asset and its check."""
    check = dg.AssetCheckSpec(CHECK, asset=KEY, description="Fails while anything is late or broken.")
    spec = dg.AssetSpec(KEY, description=_ABOUT, group_name="frazil", tags={"frazil/layer": "frazil"})

    @dg.multi_asset(name="late_and_broken", specs=[spec], check_specs=[check])
    def late_and_broken(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[Any]]:
        journal = _last_look(context.instance)
        now = _verdict(journal.open) if journal else _result(_NO_LOOK, "WARN")
        shown = dg.AssetCheckResult(
            passed=now.passed, severity=dg.AssetCheckSeverity(now.severity), description=now.text
        )
        yield dg.MaterializeResult(metadata=_metadata(journal.open if journal else []), check_results=[shown])

    return late_and_broken


def report_attention(instance: dg.DagsterInstance, journal: Journal) -> None:
    """Shows on the asset's page what a look of the sensor saw."""
    instance.report_runless_asset_event(dg.AssetMaterialization(KEY, metadata=_metadata(journal.open)))
    instance.report_runless_asset_event(check_evaluation(_verdict(journal.open), instance))


def _last_look(instance: dg.DagsterInstance) -> Journal | None:
    """What the sensor keeps in its cursor; of several code locations, all of it."""
    states = instance.all_instigator_state() if instance.schedule_storage is not None else []
    data = [state.instigator_data for state in states if state.instigator_name == SENSOR]
    cursors = [cursor for each in data if (cursor := getattr(each, "cursor", None)) is not None]
    journals = [Journal.model_validate(json.loads(cursor)["journal"]) for cursor in cursors]
    return Journal(entries=[e for journal in journals for e in journal.entries]) if journals else None


def _metadata(alarms: Sequence[Alarm]) -> dict[str, Any]:
    rows = [
        (f"{datetime.fromtimestamp(a.since, UTC):%F %R} UTC", a.cause.severity, str(a.subject), a.cause.text)
        for a in alarms
    ]
    return {"open": len(alarms), **({"late_and_broken": listing(_COLUMNS, rows)} if rows else {})}


def _verdict(alarms: Sequence[Alarm]) -> CheckResult:
    if not alarms:
        return _result("Nothing is late or broken.", None)
    more = len(alarms) - _NAMED
    named = [str(a.subject) for a in alarms[:_NAMED]] + ([f"{more} more"] if more > 0 else [])
    worst: Severity = "ERROR" if any(a.cause.severity == "ERROR" for a in alarms) else "WARN"
    return _result(f"{len(alarms)} open: {', '.join(named)}. The asset's page says why.", worst)


def _result(text: str, severity: Severity | None) -> CheckResult:
    """One that failed, unless it has no severity."""
    return CheckResult(
        check=CHECK,
        table="",
        status="failed" if severity else "passed",
        severity=severity or "ERROR",
        text=text,
        numbers={},
        asset=tuple(KEY.path),
    )
