"""When assets run by themselves."""

from __future__ import annotations

from functools import cache
from typing import Any

import dagster as dg

__all__ = ["after_upstream", "on_request"]


@cache
def after_upstream() -> dg.AutomationCondition[Any]:
    """Eager, but behind a passed gate, and without eager's blind spot.

    The gate: what a blocking check of the upstream refuses is not shown to readers. The blind spot:
    eager overlooks an update by a run that planned this asset too, even if it never came to it; a
    landing step that fails for one table would leave the others' Glue entries behind.
    """
    condition = dg.AutomationCondition
    refused = condition.any_deps_match(
        condition.any_checks_match(condition.check_failed(), blocking_only=True)
    )
    eager = condition.eager().replace("newly_updated_without_root", condition.newly_updated())
    return eager & ~refused


@cache
def on_request() -> dg.AutomationCondition[Any]:
    """Never by itself, and so not beside its asset either.

    Automation's runs take along every check that has no condition: each would read the whole data.
    """
    first = dg.AutomationCondition.initial_evaluation()
    return first & ~first
