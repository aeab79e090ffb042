"""The engine's reports as Dagster metadata, and the events of assets that no step of theirs made.

What people plot stays a number, and stands first; the rest is grouped, with units (`resources/facts.py`).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import dagster as dg
from dagster._core.definitions.asset_checks.asset_check_evaluation import (
    AssetCheckEvaluationTargetMaterializationData,
)

from frazil.checks.result import CheckResult
from frazil.connections import Connections
from frazil.derive.derive import DeriveReport
from frazil.derive.state import DerivedState, derived_states
from frazil.kafka.provisioning import TopicState
from frazil.landing.dead_letters import DeadLetters, survey
from frazil.landing.report import LandingReport
from frazil.landing.state import TableState, table_states
from frazil.publishing.target import Shown
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import AssetPath, Things, things
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec
from frazil.tables.catalog import load_table
from frazil.upkeep.census import FILES_READ, Census, census_of
from frazil.upkeep.work import WorkReport, size_text
from resources.facts import group, link_to_object, listing, worth_telling

if TYPE_CHECKING:
    from pyiceberg.schema import Schema


Metadata = dict[str, Any]


def topic_metadata(state: TopicState, *more: TopicState) -> Metadata:
    """A topic: its size, offsets and schemas; `more` is the same for each further record type."""
    return worth_telling(
        {
            "partitions": state.partitions,
            "records_in_topic": sum(state.end.values()) - sum(state.first.values()),
            "end_offsets": sum(state.end.values()),
            "offsets": listing(
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
    )


def landing_metadata(report: LandingReport) -> Metadata:
    """One landing: what came in."""
    seconds = max(report.seconds, 0.001)
    found: Metadata = {
        "rows_landed": report.records,
        "rows_per_second": round(report.records / seconds, 1),
        "seconds": report.seconds,
        "dead_letters": report.dead_letters,
        "skipped": report.skipped,
        "gaps": report.gaps,
        "lost": report.lost,
        "conflicts": report.conflicts,
        "rows_inserted": report.inserted,
        "rows_updated": report.updated,
        "rows_deleted": report.deleted,
        "landing": group(
            {
                "bytes": report.bytes,
                "files": report.files,
                "took_seconds": report.seconds,
                "schemas": ", ".join(map(str, report.schema_ids)),
            }
        ),
    }
    if report.max_timestamp:
        found["freshness_seconds"] = round(time.time() - report.max_timestamp / 1000, 3)
        found["newest_record"] = dg.MetadataValue.timestamp(report.max_timestamp / 1000)
    return worth_telling(found)


def derive_metadata(report: DeriveReport) -> Metadata:
    """One derivation: what it read, and what became of it."""
    seconds = max(report.seconds, 0.001)
    found: Metadata = {
        "rows_added": report.rows,
        "rows_replaced": report.removed,
        "rows_read": report.input_rows,
        "rows_per_second": round(report.input_rows / seconds, 1),
        "seconds": report.seconds,
        "dead_letters": report.bad,
        "late_rows": report.late,
        "conflicts": report.conflicts,
        "derivation": group(
            {
                "bytes_read": report.input_bytes + report.state_bytes,
                "of_them_own_bytes": report.state_bytes,
                "files": report.files,
                "took_seconds": report.seconds,
                "whole_inputs": "yes" if report.whole else "",
            }
        ),
        # Ids as text: a browser's numbers are too short for them.
        "inputs_read": listing(
            {"table": "string", "snapshot": "string"},
            ((table, str(at)) for table, at in sorted((report.inputs or {}).items())),
        ),
    }
    if report.watermark is not None:
        found["watermark"] = dg.MetadataValue.timestamp(report.watermark / 1_000_000)
    if report.rolled_back_to is not None:
        found["rolled_back_to"] = str(report.rolled_back_to)
    return worth_telling(found)


def table_metadata(spec: AnyTable, connections: Connections) -> Metadata:
    """An Iceberg table as it stands now: its size, what upkeep has to do, and all files by size."""
    names = things(spec, connections.settings)
    iceberg = load_table(connections.catalog, names.table)
    census = census_of(spec, iceberg, time.time(), most=FILES_READ)
    columns = [field.name for field in iceberg.schema().fields]
    of_topic = isinstance(spec, TableSpec)
    return {
        **({"dagster/column_lineage": column_lineage(columns, names.kafka_path)} if of_topic else {}),
        **state_metadata(_state(spec, connections)),
        **_upkeep_metadata(census),
        "dagster/uri": iceberg.location(),
        "dagster/column_schema": column_schema(iceberg.schema()),
        "metadata_file": link_to_object(iceberg.metadata_location, connections.settings),
    }


def _upkeep_metadata(census: Census) -> Metadata:
    """What upkeep has to do: three plots, all other numbers in a group, and the files by size."""
    plotted = ("small_files", "snapshots", "manifests", "files_not_looked_into")
    others = {name: n for name, n in census.numbers.items() if name not in (*plotted, "files", "bytes")}
    sizes = ((s.label, s.files, size_text(s.bytes)) for s in census.sizes if s.files)
    return worth_telling(
        {
            **{name: census.numbers[name] for name in plotted},
            "upkeep": group(others),
            "files_by_size": listing({"size": "string", "files": "int", "bytes": "string"}, sizes),
        }
    )


def state_metadata(state: TableState | DerivedState) -> Metadata:
    """What the summary of a table's head tells, and what waits."""
    return worth_telling(
        {
            "dagster/row_count": state.rows,
            "dagster/table_name": state.identifier,
            "lag": state.lag,
            "freshness": state.freshness,
            "total_rows": state.rows,
            "total_bytes": state.bytes,
            "total_files": state.files,
            "table": group(
                {
                    "state": state.state,
                    "why": state.reason,
                    "bytes": state.bytes,
                    "not_landed_for_seconds": state.freshness,
                    "snapshot_id": state.snapshot_id,
                }
            ),
        }
    )


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
    return worth_telling(
        {
            **counted,
            **replaced,
            "dagster/table_name": shown.name,
            "dagster/column_schema": column_schema(schema),
            "dagster/column_lineage": column_lineage((f.name for f in schema.fields), shown.upstream),
            "metadata_location": shown.metadata_location,
            "changed": shown.changed,
            **shown.facts,
        }
    )


def dead_letters_metadata(letters: DeadLetters, table: str) -> Metadata:
    """A dead-letter table: how many, why, and since when none came."""
    reasons = letters.by_reason or {}
    found: Metadata = {
        "dagster/row_count": letters.rows,
        "dagster/table_name": table,
        "by_reason": listing({"reason_code": "string", "count": "int"}, reasons.items()),
        **{f"reason/{code}": count for code, count in reasons.items()},
    }
    if letters.newest:
        found["newest"] = dg.MetadataValue.timestamp(letters.newest)
    return found


def letters_counted(spec: AnyTable, connections: Connections) -> Iterator[dg.AssetMaterialization]:
    """The dead letters of a table that is made of a topic, where it keeps any: counted after a landing."""
    if isinstance(spec, TableSpec) and spec.on_bad_record == "dead_letter":
        names = things(spec, connections.settings)
        found = dead_letters_metadata(survey(connections.catalog, names.table), str(names.table.dead_letters))
        yield dg.AssetMaterialization(dg.AssetKey(names.dead_letters_path), metadata=found)


def upkeep_observation(names: Things, report: WorkReport) -> dg.AssetObservation:
    """What was done to an Iceberg table. No materialization: its rows are as old as before.

    Each kind's numbers are plots of their own.
    """
    counted = {"done": int(report.done), "conflicts": report.conflicts, "seconds": report.seconds}
    numbers = {f"{report.kind}/{name}": number for name, number in {**counted, **report.numbers}.items()}
    metadata = worth_telling(
        {
            "upkeep": report.kind,
            "text": report.text,
            "dry_run": report.dry_run,
            "snapshot": str(report.snapshot_id or ""),
            **numbers,
        }
    )
    key = dg.AssetKey(names.iceberg_path)
    return dg.AssetObservation(key, description=report.text, metadata=metadata)


def shown_materializations(schema: Schema, shown: Iterable[Shown]) -> Iterator[dg.AssetMaterialization]:
    """Targets show the table as it is now."""
    for each in shown:
        yield dg.AssetMaterialization(dg.AssetKey(each.path), metadata=shown_metadata(each, schema))


def check_evaluation(result: CheckResult, of: dg.DagsterInstance | None = None) -> dg.AssetCheckEvaluation:
    """A check that no step of its own has run.

    Where the asset was materialized within the same second, Dagster takes the check for an older one, and
    shows "Not evaluated", unless it says which materialization of the instance it is about.
    """
    newest = of.fetch_materializations(dg.AssetKey(result.asset), limit=1).records if of else ()
    return dg.AssetCheckEvaluation(
        asset_key=dg.AssetKey(result.asset),
        check_name=result.check,
        passed=result.passed,
        severity=dg.AssetCheckSeverity(result.severity),
        description=result.text,
        metadata=worth_telling(result.numbers),
        blocking=result.blocking,
        target_materialization_data=next(map(_pointer, newest), None),
    )


def _pointer(record: dg.EventLogRecord) -> AssetCheckEvaluationTargetMaterializationData:
    return AssetCheckEvaluationTargetMaterializationData(
        storage_id=record.storage_id, run_id=record.run_id, timestamp=record.timestamp
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
