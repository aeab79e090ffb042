"""The engine's reports as Dagster metadata, and the events of assets that no step of theirs made.

Numbers stay numbers, so that the UI plots them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import dagster as dg

from frazil.checks.result import CheckResult
from frazil.connections import Connections
from frazil.derive.derive import DeriveReport
from frazil.derive.state import DerivedState, derived_states
from frazil.kafka.provisioning import TopicState
from frazil.landing.dead_letters import DeadLetters
from frazil.landing.report import LandingReport
from frazil.landing.state import TableState, table_states
from frazil.publishing.target import Shown
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import AssetPath, Things, things
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec
from frazil.tables.catalog import load_table
from frazil.upkeep.census import FILES_READ, census_of
from frazil.upkeep.work import WorkReport

if TYPE_CHECKING:
    from pyiceberg.schema import Schema


Metadata = dict[str, Any]


def topic_metadata(state: TopicState, *more: TopicState) -> Metadata:
    """A topic: its size, offsets and schemas; `more` is the same for each further record type."""
    return {
        "partitions": state.partitions,
        "records_in_topic": sum(state.end.values()) - sum(state.first.values()),
        "end_offsets": sum(state.end.values()),
        "offsets": _table(
            {"partition": "int", "first": "int", "end": "int"},
            ((p, state.first.get(p, 0), state.end[p]) for p in sorted(state.end)),
        ),
        "topic_id": state.topic_id,
        "made_now": state.created,
        "subject": ", ".join(s.subject for s in (state, *more) if s.subject),
        "schema_id": state.schema_id or 0,
        "schema_version": state.schema_version or 0,
        "key_subject": state.key_subject or "",
        "key_schema_id": state.key_schema_id or 0,
    }


def landing_metadata(report: LandingReport) -> Metadata:
    """One landing: what came in."""
    seconds = max(report.seconds, 0.001)
    found: Metadata = {
        "rows_landed": report.records,
        "dead_letters": report.dead_letters,
        "skipped": report.skipped,
        "gaps": report.gaps,
        "lost": report.lost,
        "bytes_landed": report.bytes,
        "files_written": report.files,
        "conflicts": report.conflicts,
        "seconds": report.seconds,
        "rows_per_second": round(report.records / seconds, 1),
        "schema_id": max(report.schema_ids, default=0),
    }
    if report.max_timestamp:
        found["newest_record"] = dg.MetadataValue.timestamp(report.max_timestamp / 1000)
        found["freshness_seconds"] = round(time.time() - report.max_timestamp / 1000, 3)
    return found


def derive_metadata(report: DeriveReport) -> Metadata:
    """One derivation: what it read, and what became of it."""
    seconds = max(report.seconds, 0.001)
    found: Metadata = {
        "rows_added": report.rows,
        "rows_replaced": report.removed,
        "rows_read": report.input_rows,
        "bytes_read": report.input_bytes + report.state_bytes,
        "state_bytes_read": report.state_bytes,
        "dead_letters": report.bad,
        "late_rows": report.late,
        "files_written": report.files,
        "conflicts": report.conflicts,
        "whole_inputs": report.whole,
        "seconds": report.seconds,
        "rows_per_second": round(report.input_rows / seconds, 1),
        # Ids as text: a browser's numbers are too short for them.
        "inputs_read": _table(
            {"table": "string", "snapshot": "string"},
            ((table, str(at)) for table, at in sorted((report.inputs or {}).items())),
        ),
    }
    if report.watermark is not None:
        found["watermark"] = dg.MetadataValue.timestamp(report.watermark / 1_000_000)
    if report.rolled_back_to is not None:
        found["rolled_back_to"] = report.rolled_back_to
    return found


def table_metadata(spec: AnyTable, connections: Connections) -> Metadata:
    """An Iceberg table as it stands now: its size, what upkeep has to do, and all files by size."""
    names = things(spec, connections.settings)
    table = load_table(connections.catalog, names.table)
    census = census_of(spec, table, time.time(), most=FILES_READ)
    state, sizes = _state(spec, connections), {"size": "string", "files": "int", "bytes": "int"}
    kept = {name: n for name, n in census.numbers.items() if name not in ("files", "bytes")}
    columns = [field.name for field in table.schema().fields]
    of_topic = isinstance(spec, TableSpec)
    return {
        **({"dagster/column_lineage": column_lineage(columns, names.kafka_path)} if of_topic else {}),
        **state_metadata(state),
        "dagster/uri": table.location(),
        "dagster/column_schema": column_schema(table.schema()),
        **kept,
        "files_by_size": _table(sizes, ((s.label, s.files, s.bytes) for s in census.sizes)),
    }


def state_metadata(state: TableState | DerivedState) -> Metadata:
    """What the summary of a table's head tells, and what waits."""
    return {
        "dagster/row_count": state.rows,
        "dagster/table_name": state.identifier,
        "total_rows": state.rows,
        "total_files": state.files,
        "total_bytes": state.bytes,
        "lag": state.lag,
        "freshness": -1.0 if state.freshness is None else state.freshness,
        "snapshot_id": state.snapshot_id or 0,
    }


def _state(spec: AnyTable, connections: Connections) -> TableState | DerivedState:
    if isinstance(spec, DerivedSpec):
        return derived_states([spec], connections)[0]
    assert isinstance(spec, TableSpec)
    return table_states([spec], connections)[0]


def grown(spec: AnyTable, connections: Connections, brought: Metadata) -> dg.AssetMaterialization:
    """What was brought into an Iceberg table, and the table as it stands."""
    key = dg.AssetKey(things(spec, connections.settings).iceberg_path)
    return dg.AssetMaterialization(key, metadata={**brought, **table_metadata(spec, connections)})


def shown_metadata(shown: Shown, schema: Schema) -> Metadata:
    """A table as a target shows it; its columns are those of the asset that it follows."""
    counted = {} if shown.rows is None else {"dagster/row_count": shown.rows}
    replaced = {"replaced_foreign_metadata": shown.replaced} if shown.replaced else {}
    return {
        **counted,
        **replaced,
        "dagster/table_name": shown.name,
        "dagster/column_schema": column_schema(schema),
        "dagster/column_lineage": column_lineage((f.name for f in schema.fields), shown.upstream),
        "metadata_location": shown.metadata_location,
        "changed": shown.changed,
        **shown.facts,
    }


def dead_letters_metadata(letters: DeadLetters, table: str) -> Metadata:
    """A dead-letter table: how many, why, and since when none came."""
    reasons = letters.by_reason or {}
    found: Metadata = {
        "dagster/row_count": letters.rows,
        "dagster/table_name": table,
        "by_reason": _table({"reason_code": "string", "count": "int"}, reasons.items()),
        **{f"reason/{code}": count for code, count in reasons.items()},
    }
    if letters.newest:
        found["newest"] = dg.MetadataValue.timestamp(letters.newest)
    return found


def upkeep_observation(names: Things, report: WorkReport) -> dg.AssetObservation:
    """What was done to an Iceberg table. No materialization: its rows are as old as before.

    Each kind's numbers are plots of their own.
    """
    counted = {"done": int(report.done), "conflicts": report.conflicts, "seconds": report.seconds}
    metadata = {
        "upkeep": report.kind,
        "text": report.text,
        "dry_run": report.dry_run,
        "snapshot_id": report.snapshot_id or 0,
        **{f"{report.kind}/{name}": number for name, number in {**counted, **report.numbers}.items()},
    }
    key = dg.AssetKey(names.iceberg_path)
    return dg.AssetObservation(key, description=report.text, metadata=metadata)


def shown_materializations(schema: Schema, shown: Iterable[Shown]) -> Iterator[dg.AssetMaterialization]:
    """Targets show the table as it is now."""
    for each in shown:
        yield dg.AssetMaterialization(dg.AssetKey(each.path), metadata=shown_metadata(each, schema))


def check_evaluation(result: CheckResult) -> dg.AssetCheckEvaluation:
    """A check that no step of its own has run."""
    return dg.AssetCheckEvaluation(
        asset_key=dg.AssetKey(result.asset),
        check_name=result.check,
        passed=result.passed,
        severity=dg.AssetCheckSeverity(result.severity),
        description=result.text,
        metadata=dict(result.numbers),
        blocking=result.blocking,
    )


def column_schema(schema: Schema) -> dg.TableSchema:
    """Columns with Iceberg's types."""
    return dg.TableSchema(
        columns=[
            dg.TableColumn(
                name=field.name,
                type=str(field.field_type),
                description=field.doc or None,
                constraints=dg.TableColumnConstraints(nullable=not field.required),
            )
            for field in schema.fields
        ]
    )


def column_lineage(columns: Iterable[str], upstream: AssetPath) -> dg.TableColumnLineage:
    """Every column is the upstream's column of the same name."""
    key = dg.AssetKey(upstream)
    return dg.TableColumnLineage({name: [dg.TableColumnDep(key, name)] for name in columns})


def _table(columns: Mapping[str, str], rows: Iterable[Sequence[str | int]]) -> dg.TableMetadataValue:
    """Rows of values, in the order of the columns, which are types by name."""
    records = [dg.TableRecord(dict(zip(columns, row, strict=True))) for row in rows]
    schema = dg.TableSchema([dg.TableColumn(name, kind) for name, kind in columns.items()])
    return dg.MetadataValue.table(records, schema)
