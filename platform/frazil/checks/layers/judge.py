"""The checks of `fresh_within`: one for each layer that it names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from frazil.checks.layers.ages import Age, age_of_state, table_age, target_age
from frazil.checks.result import Check, Number, Severity, Subject, Verdict
from frazil.landing.position.state import TableState
from frazil.publishing.target import Target
from frazil.spec.freshness import TABLE, Allowed
from frazil.spec.names import Things
from frazil.spec.table import AnyTable

FRESH = "{}_fresh"
"""Name of the check of a layer."""


def layer_checks(spec: AnyTable, names: Things, targets: Iterable[Target]) -> Iterator[Check]:
    """The check of each layer that has a limit."""
    if TABLE in spec.fresh_within:
        what = "Nothing waits longer than `fresh_within` allows."
        yield Check(FRESH.format(TABLE), names.iceberg_path, False, what, judge_table)
    for target in targets:
        if target.word in spec.fresh_within:
            what = f"No commit waits for {target.word.capitalize()} longer than `fresh_within` allows."
            judge = partial(judge_target, target)
            yield Check(FRESH.format(target.word), target.path, False, what, judge)


def judge_table(subject: Subject[AnyTable]) -> Verdict:
    """The table beside its topic, or its inputs."""
    return _judge(subject.spec, TABLE, table_age(subject.spec, subject.connections))


def judge_state(spec: AnyTable, state: TableState) -> Verdict:
    """The same of a table that was looked at already."""
    return _judge(spec, TABLE, age_of_state(state))


def judge_target(target: Target, subject: Subject[AnyTable]) -> Verdict:
    """A target beside the layer that it follows."""
    age = target_age(target, subject.spec, subject.connections)
    return _judge(subject.spec, target.word, age, f" `frazil drift {subject.things.table}` says why.")


def _judge(spec: AnyTable, layer: str, age: Age, todo: str = "") -> Verdict:
    allowed = spec.fresh_within[layer]
    if age.seconds is None:
        return Verdict.skip(age.text)
    severity = severity_of(allowed, age.seconds)
    limits = [("warning", allowed.warn), ("error", allowed.error)]
    listed = ", ".join(f"{word} after {at.total_seconds():,.0f} s" for word, at in limits if at is not None)
    numbers: dict[str, Number] = {"seconds": round(age.seconds, 3)}
    text = f"{age.text}; {listed}.{todo if severity else ''}"
    return Verdict(severity is None, text, numbers, severity=severity or "WARN")


def severity_of(allowed: Allowed, seconds: float) -> Severity | None:
    """How bad it is to be behind for so long; None: it is allowed."""
    if allowed.error is not None and seconds > allowed.error.total_seconds():
        return "ERROR"
    return "WARN" if allowed.warn is not None and seconds > allowed.warn.total_seconds() else None
