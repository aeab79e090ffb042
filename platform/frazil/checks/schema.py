"""Do the table's columns say what the registry says: names, types, nullability?"""

from __future__ import annotations

from collections.abc import Iterable

from frazil.catalogs.iceberg import load_table
from frazil.checks.result import Subject, Verdict
from frazil.landing.decode import value_struct
from frazil.landing.tables import own_columns, table_columns
from frazil.schemas.evolution import verdicts
from frazil.schemas.iceberg import from_iceberg
from frazil.schemas.logical import Struct
from frazil.schemas.registry import subject_versions

__all__ = ["compare_schema"]


def compare_schema(subject: Subject) -> Verdict:
    """The registry's newest schema and the spec's metadata columns against the table's columns."""
    name = f"{subject.spec.topic}-value"
    newest = subject_versions(subject.connections.registry, name)[-1]
    value = value_struct(newest, name)
    table = from_iceberg(load_table(subject.connections.catalog, subject.things.table).schema())
    own = own_columns(subject.spec, value)
    changes = verdicts(table, table_columns(value), own)
    missing = _missing(table, own)  # of the value's own fields the verdicts speak
    refused = [v for v in changes if not v.allowed]
    numbers = {
        "registry_version": newest.version,
        "registry_fields": len(value.fields),
        "table_columns": len(table.fields),
        "differences": len(changes) + len(missing),
    }
    said = "; ".join([*map(str, changes), *(f"{m}: column is missing" for m in missing)])
    return Verdict(
        passed=not said,
        text=f"{len(table.fields)} columns against version {newest.version} of {name} "
        f"({len(value.fields)} fields) and {len(own)} columns of "
        f"Frazil's own: {said or 'names, types and nullability agree'}.",
        numbers=numbers,
        severity="ERROR" if refused or missing else "WARN",
    )


def _missing(table: Struct, names: Iterable[str]) -> list[str]:
    return [name for name in names if table.get(name) is None]
