"""`frazil doctor` as asset checks: one for each system, on the first asset that needs it."""

# No `from __future__ import annotations`: Dagster compares the type of `context`, not its name.
from collections.abc import Iterator, Sequence

import dagster as dg

from assets.checks.comparisons import is_inherited, on_request
from assets.description import PipelineTable
from assets.outcome import engine_errors
from frazil.doctor.probe import Finding, Patient
from frazil.doctor.run import examine
from frazil.spec.names import AssetPath
from resources.connections import FrazilConnections

_LAYERS = {
    "kafka": "kafka", "registry": "kafka", "catalog": "iceberg", "spark": "iceberg", "glue": "glue",
    "snowflake": "snowflake",
}  # fmt: skip
"""By system the layer of the asset graph that works with it."""


def access_checks(tables: Sequence[PipelineTable]) -> list[dg.AssetChecksDefinition]:
    """One check for each system that the tables have an asset in; the job `doctor` runs them all."""
    first: dict[str, AssetPath] = {}
    for table in tables:
        names = table.things
        topic = [names.kafka_path] if names.topic else []
        for path in (*topic, names.iceberg_path, *(target.path for target in table.targets)):
            first.setdefault(path[0], path)
    return [_check(system, first[layer], tables) for system, layer in _LAYERS.items() if layer in first]


def _check(system: str, path: AssetPath, tables: Sequence[PipelineTable]) -> dg.AssetChecksDefinition:
    spec = dg.AssetCheckSpec(
        f"{system}_access",
        asset=dg.AssetKey(path),
        description=f"{system.capitalize()} gives each right that the tables of all pipelines need.",
        automation_condition=on_request(),
    )

    @dg.multi_asset_check(name=f"doctor_{system}", specs=[spec], can_subset=True)
    def run(
        context: dg.AssetCheckExecutionContext, frazil: FrazilConnections
    ) -> Iterator[dg.AssetCheckResult]:
        if is_inherited(context, spec.asset_key):
            return
        with engine_errors():
            findings = examine(Patient([table.spec for table in tables], frazil.connections), (system,))
        yield _result(spec, findings)

    return run


def _result(spec: dg.AssetCheckSpec, findings: Sequence[Finding]) -> dg.AssetCheckResult:
    ill = [finding for finding in findings if not finding.fine]
    return dg.AssetCheckResult(
        asset_key=spec.asset_key,
        check_name=spec.name,
        passed=not ill,
        description="\n\n".join(map(_sentence, ill)) or f"{len(findings)} rights were asked for.",
        metadata={
            "asked": len(findings),
            "missing": len(ill),
            "seconds": sum(f.seconds for f in findings),
        },
    )


def _sentence(finding: Finding) -> str:
    return f"{finding.right} {finding.of}: {finding.what}\nFix: {finding.mend}"
