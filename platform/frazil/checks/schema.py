"""Do the table's columns say what the registry says: names, types, nullability?"""

from __future__ import annotations

from collections.abc import Iterable

from frazil.checks.result import Subject, Verdict
from frazil.formats.columns import metadata_names
from frazil.formats.evolution import Verdict as Change
from frazil.formats.evolution import refused
from frazil.formats.iceberg import from_iceberg
from frazil.formats.logical import Struct
from frazil.formats.protocol import VALUE
from frazil.formats.record import half_schemas, topic_columns
from frazil.landing.evolve import plan_evolution
from frazil.spec.topic import TableSpec
from frazil.tables.catalog import load_table

__all__ = ["compare_schema"]

_HARMLESS = ("reorder", "tighten")
"""Changes that leave the table as it is, for good."""


def compare_schema(subject: Subject[TableSpec]) -> Verdict:
    """The registry's newest schemas and the spec's metadata columns against the table's columns."""
    spec, registry = subject.spec, subject.connections.registry
    columns = topic_columns(spec, registry)
    loaded = load_table(subject.connections.catalog, subject.things.table)
    table, own = from_iceberg(loaded.schema()), metadata_names(spec)
    found = plan_evolution(spec, loaded, columns).verdicts
    changes = [v for v in found if v.change not in _HARMLESS]
    missing = _missing(table, own)  # of the record's own fields the verdicts speak
    schemas = half_schemas(spec, VALUE, registry)
    version = schemas.writers[-1].version if schemas.writers else 0
    numbers = {
        "registry_version": version,
        "registry_fields": len(columns.fields),
        "table_columns": len(table.fields),
        "differences": len(changes) + len(missing),
    }
    said = "; ".join([*map(_told, changes), *(f"{m}: column is missing" for m in missing)])
    return Verdict(
        passed=not said,
        text=f"{len(table.fields)} columns against version {version} of {schemas.subject} "
        f"({len(columns.fields)} fields, the key's included) and {len(own)} columns of "
        f"Frazil's own: {said or 'names, types and nullability agree'}.",
        numbers=numbers,
        severity="ERROR" if refused(changes) or missing else "WARN",
    )


def _missing(table: Struct, names: Iterable[str]) -> list[str]:
    return [name for name in names if table.get(name) is None]


def _told(change: Change) -> str:
    return f"{change} {change.todo}".rstrip()
