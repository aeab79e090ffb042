"""A pipeline or a deployment that can't be used is one asset, which tells why: the others go on."""

# No `from __future__ import annotations`: Dagster compares the types of arguments, not their names.
from collections.abc import Iterable
from itertools import groupby

import dagster as dg

from assets.outcome import ERRORS, ExplainedFailure
from frazil.pipelines.folder import Broken

CAN_BE_USED = "can_be_used"
"""The check that fails."""

_ABOUT = """{kind} `{name}` can't be used, or not all of it. Materializing this does nothing but say why:

```
{error}
```"""


def broken_definitions(broken: Iterable[Broken]) -> dg.Definitions:
    """An asset and a check of each."""
    assets, checks = [], []
    for path, same in groupby(sorted(broken, key=lambda b: b.path), lambda b: b.path):
        error = "\n\n".join(str(b.error) for b in same)
        assets.append(_asset(path, error))
        checks.append(_check(path, error))
    return dg.Definitions(assets=assets, asset_checks=checks)


def _asset(path: tuple[str, ...], error: str) -> dg.AssetsDefinition:
    kind, *_, name = path

    @dg.asset(
        key=dg.AssetKey(path),
        group_name=name,
        description=_ABOUT.format(kind=kind.removesuffix("s").capitalize(), name=name, error=error),
    )
    def pipeline() -> None:
        raise ExplainedFailure(
            error, {ERRORS: {}}
        )  # no alarm of its own: the check tells the mistake, and its end

    return pipeline


def _check(path: tuple[str, ...], error: str) -> dg.AssetChecksDefinition:
    @dg.asset_check(
        asset=dg.AssetKey(path),
        name=CAN_BE_USED,
        description="The pipeline's files hold no mistake.",
        # Automation evaluates it once, as soon as it is there: nobody would ask for it by hand.
        automation_condition=dg.AutomationCondition.initial_evaluation().with_label("once"),
    )
    def can_be_used() -> dg.AssetCheckResult:
        return dg.AssetCheckResult(passed=False, description=error)

    return can_be_used
