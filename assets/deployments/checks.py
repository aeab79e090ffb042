"""Whether the objects of a deployment work, and whether others changed them."""

# No `from __future__ import annotations`: Dagster compares the type of `context`, not its name.
from collections.abc import Iterator, Mapping

import dagster as dg

from assets.checks.comparisons import on_request
from assets.deployments.objects import DeploymentAssets, Heard
from assets.outcome import engine_errors
from frazil_cloud.plan import Step

VERIFY, DRIFT = "verify", "drift"

_ABOUT = {
    VERIFY: "The object works: it is used, not only looked for.",
    DRIFT: "The object is as the deployment says; nobody changed or deleted it.",
}


def deployment_checks(made: DeploymentAssets) -> dg.AssetChecksDefinition:
    """Both checks of all objects, in one step: the clouds are read once."""
    specs = [
        dg.AssetCheckSpec(name, asset=key, description=about, automation_condition=on_request())
        for key in made.addresses
        for name, about in _ABOUT.items()
    ]

    @dg.multi_asset_check(name=f"{made.spec.name}_checks", specs=specs, can_subset=True)
    def run(context: dg.AssetCheckExecutionContext) -> Iterator[dg.AssetCheckResult]:
        chosen = context.selected_asset_check_keys
        drift = {made.addresses[key.asset_key]: key.asset_key for key in chosen if key.name == DRIFT}
        verify = {made.addresses[key.asset_key]: key.asset_key for key in chosen if key.name == VERIFY}
        if drift:
            yield from _drift_results(made, drift)
        if verify:
            yield from _verify_results(made, verify, context)

    return run


def _drift_results(made: DeploymentAssets, keys: Mapping[str, dg.AssetKey]) -> Iterator[dg.AssetCheckResult]:
    with engine_errors():
        plan = made.reconciler.part(keys).plan()
    yield from (drift_result(keys[step.address], step) for step in plan.steps if step.address in keys)


def _verify_results(
    made: DeploymentAssets, keys: Mapping[str, dg.AssetKey], context: dg.AssetCheckExecutionContext
) -> Iterator[dg.AssetCheckResult]:
    with engine_errors():
        outcomes = made.reconciler.part(keys).verify(Heard(context.log))
    for address, key in keys.items():
        error = outcomes[address]
        yield dg.AssetCheckResult(
            asset_key=key,
            check_name=VERIFY,
            passed=error is None,
            description=str(error) if error else "It works.",
        )


def drift_result(key: dg.AssetKey, step: Step) -> dg.AssetCheckResult:
    """What a plan says of one object, as a check."""
    return dg.AssetCheckResult(
        asset_key=key, check_name=DRIFT, passed=step.action == "keep", description=drift_text(step)
    )


def drift_text(step: Step) -> str:
    """What differs, field by field."""
    if step.action == "keep":
        return "It is as the deployment says."
    if step.action == "create":
        return f"{step.address} is not there."
    changes = "; ".join(map(str, step.changes)) or step.why
    return f"{step.address} differs (is -> should be): {changes}"
