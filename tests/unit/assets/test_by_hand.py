"""Who materializes an asset by hand gets the checks that read metadata, and not those that read all data."""

# No `from __future__ import annotations`: Dagster compares the type of `context`, not its name.
import dagster as dg
import pytest

from assets.checks.comparisons import is_inherited

RAN: list[str] = []

SPEC = dg.AssetCheckSpec("deep", asset="table")


@dg.asset(name="table")
def table() -> None:
    """Stands for a table."""


@dg.multi_asset_check(name="deep", specs=[SPEC], can_subset=True)
def deep(context: dg.AssetCheckExecutionContext):  # type: ignore[no-untyped-def]  # noqa: ANN201
    if is_inherited(context, SPEC.asset_key):
        return
    RAN.append(context.run.job_name)
    yield dg.AssetCheckResult(passed=True, asset_key=SPEC.asset_key, check_name="deep")


@pytest.fixture
def graph() -> dg.Definitions:
    RAN.clear()
    asked = dg.define_asset_job("asked", dg.AssetSelection.checks(dg.AssetCheckKey(SPEC.asset_key, "deep")))
    return dg.Definitions(assets=[table], asset_checks=[deep], jobs=[asked])


def test_a_deep_check_is_left_out_beside_its_asset(graph: dg.Definitions) -> None:
    job = graph.resolve_implicit_global_asset_job_def()

    assert job.execute_in_process(asset_selection=[SPEC.asset_key]).success
    assert RAN == []


def test_a_run_of_checks_alone_has_it(graph: dg.Definitions) -> None:
    assert graph.resolve_job_def("asked").execute_in_process().success
    assert RAN == ["asked"]
