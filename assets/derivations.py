"""Tables that are made of others: what is known of each when definitions load."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import dagster as dg

from assets.described import PipelineTable
from frazil.derive.queries.columns import Column, lineage
from frazil.derive.queries.known import known_tables
from frazil.derive.queries.query import ERROR_COLUMN, Query, read_query
from frazil.pipelines.folder import Pipeline, load_pipelines
from frazil.settings import Settings
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import TableName, things

__all__ = ["DerivedTable", "Known", "derived_of"]


_ICEBERG = {
    "bigint": "long", "smallint": "int", "tinyint": "int", "timestamp": "timestamptz",
    "timestamp_ntz": "timestamp",
}  # fmt: skip
"""What Iceberg calls types that Spark calls otherwise: after a run the columns are told in its words."""


@dataclass(frozen=True)
class Known:
    """The columns of all tables of all pipelines, found when first asked for."""

    settings: Settings

    @cached_property
    def columns(self) -> Mapping[TableName, Sequence[Column] | None]:
        """By table; None where only a server knows them."""
        return known_tables(load_pipelines(settings=self.settings), self.settings)


@dataclass(frozen=True)
class DerivedTable(PipelineTable):
    """A table that is made of others."""

    spec: DerivedSpec
    known: Known

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
        columns = self.known.columns.get(self.things.table)
        if not columns:
            return None
        return dg.TableSchema([dg.TableColumn(name, _ICEBERG.get(kind, kind)) for name, kind in columns])

    @cached_property
    def lineage(self) -> dg.TableColumnLineage | None:
        """The columns of its inputs that each of its columns is made of, where theirs are known."""
        tables = {name: self.known.columns.get(table) for name, table in self.inputs.items()}
        known = {name: columns for name, columns in tables.items() if columns is not None}
        if self.query is None or len(known) < len(tables):
            return None
        found = lineage(self.query, known)
        own = {name: parts for name, parts in found.items() if name != ERROR_COLUMN}
        return dg.TableColumnLineage({name: self._columns(parts) for name, parts in own.items()})

    @property
    def keeps_dead_letters(self) -> bool:
        """See `PipelineTable`."""
        named = self.query is not None and ERROR_COLUMN in self.query.columns
        return named or (self.spec.window is not None and self.spec.window.late_rows == "dead_letter")

    @property
    def written(self) -> Sequence[dg.LocalFileCodeReference]:
        """See `PipelineTable`."""
        file = self.spec.sql or self.spec.python
        own = dg.LocalFileCodeReference(file_path=str(file), line_number=1, label=file.name if file else None)
        return [*super().written, own]

    def _columns(self, parts: Iterable[tuple[str, str]]) -> list[dg.TableColumnDep]:
        tables = self.inputs
        return [
            dg.TableColumnDep(dg.AssetKey(["iceberg", *tables[name].identifier]), column)
            for name, column in parts
        ]


def derived_of(pipeline: Pipeline, settings: Settings, known: Known) -> tuple[DerivedTable, ...]:
    """The tables of one pipeline that are made of others, under one profile."""
    return tuple(
        DerivedTable(spec, things(spec, settings), pipeline, line, settings, known)
        for spec, line in zip(pipeline.derived, pipeline.derived_lines, strict=True)
    )
