"""The engine's reports as Dagster metadata.

What people plot stays a number, and stands first; the rest is grouped, with units (`resources/facts.py`).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import dagster as dg

from frazil.connections import Connections
from frazil.derive.derive import DeriveReport
from frazil.derive.positions.state import DerivedState, derived_states
from frazil.formats.columns.columns import metadata_names
from frazil.formats.masks.columns import masked_by
from frazil.kafka.provisioning import TopicState
from frazil.landing.position.interval import interval_of
from frazil.landing.position.state import TableState, table_states
from frazil.landing.repairs.dead_letters import DeadLetters
from frazil.landing.report import LandingReport
from frazil.publishing.target import Shown
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import AssetPath, things
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.reading.rows import newest_rows
from frazil.upkeep.census import FILES_READ, Census, census_of
from frazil.upkeep.work import size_text
from resources.facts import glimpse, group, link_to_object, listing, worth_showing

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table


_log = logging.getLogger(__name__)

_COLUMNS_SHOWN = 20

Metadata = dict[str, Any]

WAITED = "seconds_until_shown"
"""For how long the newest commit waited until a target showed it."""

SNAPSHOT = "snapshot_id"
"""Which snapshot of the table a materialization tells of; as text, for a browser's numbers are too short."""


def topic_metadata(state: TopicState, *more: TopicState) -> Metadata:
    """A topic: its size, offsets and schemas; `more` is the same for each further record type."""
    return worth_showing(
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


def _pace(rows: int, seconds: float) -> dict[str, float]:
    """How long it took; nothing where that is not known, as of a commit that another process reports."""
    return {"rows_per_second": round(rows / seconds, 1), "seconds": seconds} if seconds else {}


def landing_metadata(report: LandingReport) -> Metadata:
    """One landing: what came in."""
    metadata: Metadata = {
        "rows_landed": report.records,
        **_pace(report.records, report.seconds),
        "task_seconds": report.task_seconds,
        "dead_letters": report.dead_letters,
        "skipped": report.skipped,
        "filtered": report.filtered,
        "gaps": report.gaps,
        "lost": report.lost,
        "conflicts": report.conflicts,
        "rules_not_asked": ", ".join(report.unasked),
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
        metadata["freshness_seconds"] = round(time.time() - report.max_timestamp / 1000, 3)
        if report.median_timestamp:
            metadata["median_freshness_seconds"] = round(time.time() - report.median_timestamp / 1000, 3)
        metadata["newest_record"] = dg.MetadataValue.timestamp(report.max_timestamp / 1000)
    return worth_showing(metadata)


def derive_metadata(report: DeriveReport) -> Metadata:
    """One derivation: what it read, and what became of it."""
    metadata: Metadata = {
        "rows_added": report.rows,
        "rows_replaced": report.removed,
        "rows_read": report.input_rows,
        **_pace(report.input_rows, report.seconds),
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
        metadata["watermark"] = dg.MetadataValue.timestamp(report.watermark / 1_000_000)
    if report.rolled_back_to is not None:
        metadata["rolled_back_to"] = str(report.rolled_back_to)
    return worth_showing(metadata)


def seen_topic_metadata(state: TableState) -> Metadata:
    """A topic as a look at its table shows it: what the table holds of it, and what waits."""
    return {"end_offsets": sum(state.position.values()) + state.lag}


def table_metadata(
    spec: AnyTable, connections: Connections, state: TableState | DerivedState | None = None
) -> Metadata:
    """An Iceberg table as it stands now: its size, what upkeep has to do, and all files by size.

    `state` is the look at it that the caller has taken.
    """
    names = things(spec, connections.settings)
    with catalog_errors(connections.settings):
        iceberg = TableHandle(connections.catalog, names.table).load()
        census = census_of(spec, iceberg, time.time(), most=FILES_READ)
    columns = [field.name for field in iceberg.schema().fields]
    of_topic = isinstance(spec, TableSpec)
    state = state_now(spec, connections) if state is None else state
    return {
        **({"dagster/column_lineage": column_lineage(columns, names.kafka_path)} if of_topic else {}),
        **state_metadata(state),
        **_interval_metadata(spec, state),
        **_upkeep_metadata(census),
        **_first_rows(spec, iceberg),
        "dagster/uri": iceberg.location(),
        "dagster/column_schema": column_schema(iceberg.schema()),
        "metadata_file": link_to_object(iceberg.metadata_location, connections.settings),
    }


def _interval_metadata(spec: AnyTable, state: TableState | DerivedState) -> Metadata:
    """How often a table with a budget lands, and why."""
    if not (isinstance(spec, TableSpec) and spec.budget and isinstance(state, TableState)):
        return {}
    interval = interval_of(spec, state.land_interval)
    return {"lands_every_seconds": interval.every, "why_so_often": interval.why}


def _first_rows(spec: AnyTable, table: Table) -> Metadata:
    """The rows that the spec lets people see here, without Frazil's own columns."""
    own = metadata_names(spec)
    names = [field.name for field in table.schema().fields if field.name not in own][:_COLUMNS_SHOWN]
    try:
        rows = newest_rows(table, names, spec.first_rows) if spec.first_rows else []
    except Exception as e:  # noqa: BLE001 - what was landed stands, whether anybody sees it here or not
        _log.warning("No rows of %s can be shown: %s", ".".join(table.name()), e)
        rows = []
    shown = listing(dict.fromkeys(names, "string"), ([glimpse(row[n]) for n in names] for row in rows))
    return worth_showing({"first_rows": shown})


def _upkeep_metadata(census: Census) -> Metadata:
    """What upkeep has to do: three plots, all other numbers in a group, and the files by size."""
    plotted = ("small_files", "snapshots", "manifests", "files_not_looked_into")
    others = {name: n for name, n in census.numbers.items() if name not in (*plotted, "files", "bytes")}
    sizes = ((s.label, s.files, size_text(s.bytes)) for s in census.sizes if s.files)
    return worth_showing(
        {
            **{name: census.numbers[name] for name in plotted},
            "upkeep": group(others),
            "files_by_size": listing({"size": "string", "files": "int", "bytes": "string"}, sizes),
        }
    )


def state_metadata(state: TableState | DerivedState) -> Metadata:
    """What the summary of a table's head tells, and what waits."""
    return worth_showing(
        {
            "dagster/row_count": state.rows,
            "dagster/table_name": state.identifier,
            "lag": state.lag,
            "freshness": state.freshness,
            "total_rows": state.rows,
            "total_bytes": state.bytes,
            "total_files": state.files,
            SNAPSHOT: str(state.snapshot_id or ""),
            "table": group(
                {
                    "state": state.state,
                    "why": state.reason,
                    "bytes": state.bytes,
                    "not_landed_for_seconds": state.freshness,
                }
            ),
        }
    )


def state_now(spec: AnyTable, connections: Connections) -> TableState | DerivedState:
    """A table beside what it is made of."""
    if isinstance(spec, DerivedSpec):
        return derived_states([spec], connections)[0]
    assert isinstance(spec, TableSpec)
    return table_states([spec], connections)[0]


def shown_metadata(shown: Shown, schema: Schema) -> Metadata:
    """A table as a target shows it; its columns are those of the asset that it follows."""
    counted = {} if shown.rows is None else {"dagster/row_count": shown.rows}
    replaced = {"replaced_foreign_metadata": shown.replaced} if shown.replaced else {}
    return worth_showing(
        {
            **counted,
            **replaced,
            "dagster/table_name": shown.name,
            "dagster/column_schema": column_schema(schema),
            "dagster/column_lineage": column_lineage((f.name for f in schema.fields), shown.upstream),
            "metadata_location": shown.metadata_location,
            "changed": shown.changed,
            WAITED: shown.waited,
            **(asdict(shown.spent) if shown.spent else {}),
            **shown.facts,
        }
    )


def dead_letters_metadata(letters: DeadLetters, table: str) -> Metadata:
    """A dead-letter table: how many, why, and since when none came."""
    reasons = letters.by_reason or {}
    metadata: Metadata = {
        "dagster/row_count": letters.rows,
        "dagster/table_name": table,
        "by_reason": listing({"reason_code": "string", "count": "int"}, reasons.items()),
        **{f"reason/{code}": count for code, count in reasons.items()},
    }
    if letters.newest:
        metadata["newest"] = dg.MetadataValue.timestamp(letters.newest)
    return metadata


def column_schema(schema: Schema) -> dg.TableSchema:
    """Columns with Iceberg's types."""
    return dg.TableSchema(
        columns=[
            dg.TableColumn(
                name=field.name,
                type=str(field.field_type),
                description=field.doc or None,
                constraints=dg.TableColumnConstraints(nullable=not field.required),
                tags={"frazil/mask": mask} if (mask := masked_by(field.doc or "")) else None,
            )
            for field in schema.fields
        ]
    )


def column_lineage(columns: Iterable[str], upstream: AssetPath) -> dg.TableColumnLineage:
    """Every column is the upstream's column of the same name."""
    key = dg.AssetKey(upstream)
    return dg.TableColumnLineage({name: [dg.TableColumnDep(key, name)] for name in columns})
