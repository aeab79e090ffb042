"""Tables that are made of others: what is known of each when definitions load, and the step that fills it."""

# No `from __future__ import annotations`: Dagster compares the types of arguments, not their names.
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import dagster as dg
from pydantic import Field

from assets.description import PipelineTable, after_upstream, asset_spec, op_name
from assets.outcome import engine_errors
from frazil.connections import Connections
from frazil.derive.derive import DeriveReport, derive
from frazil.derive.queries.check import Known
from frazil.derive.queries.columns import lineage
from frazil.derive.queries.query import ERROR_COLUMN, Query, read_query
from frazil.errors import ChecksFailedError, OvertakenError
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import TableName
from resources.connections import FrazilConnections
from resources.events import report_own_checks, report_stopping_checks
from resources.metadata import derive_metadata, table_metadata

_ABOUT = """Iceberg table `{table}`, made of {inputs} (kind `{kind}`). Materializing it reads what is new in \
them since the snapshots that the table itself records, and adds each row once. `rebuild: true` in the \
launchpad makes all of it anew."""

_ICEBERG = {
    "bigint": "long", "smallint": "int", "tinyint": "int", "timestamp": "timestamptz",
    "timestamp_ntz": "timestamp",
}  # fmt: skip
"""What Iceberg calls types that Spark calls otherwise: after a run the columns are told in its words."""


@dataclass(frozen=True)
class DerivedTable(PipelineTable):
    """A table that is made of others."""

    spec: DerivedSpec
    known: Known = field(default_factory=dict)

    @cached_property
    def query(self) -> Query | None:
        """Its SELECT; None where a Python function makes its rows."""
        return read_query(self.spec) if self.spec.sql else None

    @cached_property
    def inputs(self) -> Mapping[str, TableName]:
        """The tables that it is made of, by the names that the query gives them."""
        written = self.query.inputs if self.query else self.spec.inputs
        return {name: TableName.parse(name, self.things.table.namespace) for name in written}

    @property
    def tags(self) -> Mapping[str, str]:
        """See `PipelineTable`."""
        return {"frazil/kind": self.spec.kind}

    @property
    def metadata(self) -> Mapping[str, Any]:
        """See `PipelineTable`."""
        inputs = ", ".join(map(str, self.inputs.values()))
        if self.query is None:
            return {"inputs": inputs}
        return {"inputs": inputs, "query": dg.MetadataValue.md(f"```sql\n{self.query.text}\n```")}

    @cached_property
    def columns(self) -> dg.TableSchema | None:
        """See `PipelineTable`; by the query, and the schema files of the topics at its roots."""
        columns = self.known.get(self.things.table)
        if not columns:
            return None
        return dg.TableSchema([dg.TableColumn(name, _ICEBERG.get(kind, kind)) for name, kind in columns])

    @cached_property
    def lineage(self) -> dg.TableColumnLineage | None:
        """The columns of its inputs that each of its columns is made of, where theirs are known."""
        tables = {name: self.known.get(table) for name, table in self.inputs.items()}
        known = {name: columns for name, columns in tables.items() if columns is not None}
        if self.query is None or len(known) < len(tables):
            return None
        origins = lineage(self.query, known)
        own = {name: parts for name, parts in origins.items() if name != ERROR_COLUMN}
        return dg.TableColumnLineage({name: self._columns(parts) for name, parts in own.items()})

    @property
    def keeps_dead_letters(self) -> bool:
        """See `PipelineTable`."""
        named = self.query is not None and ERROR_COLUMN in self.query.columns
        return named or (self.spec.window is not None and self.spec.window.late_rows == "dead_letter")

    @property
    def file(self) -> Path | None:
        """See `PipelineTable`."""
        return self.spec.sql or self.spec.python

    def _columns(self, parts: Iterable[tuple[str, str]]) -> list[dg.TableColumnDep]:
        tables = self.inputs
        return [
            dg.TableColumnDep(dg.AssetKey(["iceberg", *tables[name].identifier]), column)
            for name, column in parts
        ]


class DeriveConfig(dg.Config):
    """How to derive."""

    rebuild: bool = Field(False, description="Make all rows again from the whole inputs, in one commit.")
    accept_loss: int = Field(
        0, description="How many rows a rebuild may lose because the inputs no longer hold them."
    )


def derived_asset(table: DerivedTable) -> dg.AssetsDefinition:
    """The Iceberg table that is made of others."""
    names = table.things

    @dg.multi_asset(name=op_name(names.iceberg_path), specs=[_spec(table)])
    def derived(
        context: dg.AssetExecutionContext, config: DeriveConfig, frazil: FrazilConnections
    ) -> Iterator[dg.MaterializeResult[Any]]:
        connections, run = frazil.of(table.spec), context.run.run_id
        with engine_errors():
            try:
                report = derive(table.spec, connections, run_id=run, **config.model_dump())
            except OvertakenError as e:
                context.log.warning(str(e))
                report = None
            except Exception as e:
                if isinstance(e, ChecksFailedError):
                    report_stopping_checks(context, table.spec, frazil, e)
                frazil.send_failure(context.run, table.spec, "derive", e)
                raise
            result = _derived(table, report, connections)
        yield result
        if report:
            report_own_checks(context.instance, table.spec, connections, report.checks)
            frazil.send_lineage(context.run, [(table.spec, report)])

    return derived


def _spec(table: DerivedTable) -> dg.AssetSpec:
    spec, names, inputs = table.spec, table.things, table.inputs.values()
    about = {"table": names.table, "kind": spec.kind, "inputs": ", ".join(f"`{name}`" for name in inputs)}
    return asset_spec(
        table,
        names.iceberg_path,
        kinds={"iceberg", "spark", "sql" if spec.sql else "python"},
        about=_ABOUT.format_map(about),
        code=derive,
        upstream=[("iceberg", *name.identifier) for name in inputs],
        columns=table.columns,
        lineage=table.lineage,
        automation=after_upstream(),
    )


def _derived(
    table: DerivedTable, report: DeriveReport | None, connections: Connections
) -> dg.MaterializeResult[Any]:
    """The table as it stands, and what this run brought; nothing, if another was quicker."""
    spec, names = table.spec, table.things
    lineage = table.lineage
    return dg.MaterializeResult(
        asset_key=dg.AssetKey(names.iceberg_path),
        metadata={
            **(derive_metadata(report) if report else {"rows_added": 0}),
            **({} if report else {"overtaken": True}),
            **table_metadata(spec, connections),
            **({"dagster/column_lineage": lineage} if lineage else {}),
        },
    )
