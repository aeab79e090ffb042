"""Tables that are made of others: what is known of each when definitions load."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import dagster as dg

from assets.described import PipelineTable
from frazil.derive.queries.columns import Column, lineage
from frazil.derive.queries.known import known_tables
from frazil.derive.queries.query import ERROR_COLUMN, Query, read_query
from frazil.pipelines.folder import Pipeline
from frazil.settings import Settings
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import TableName

__all__ = ["KNOWN", "DerivedTable", "Known"]

_ICEBERG = {
    "bigint": "long", "smallint": "int", "tinyint": "int", "timestamp": "timestamptz",
    "timestamp_ntz": "timestamp",
}  # fmt: skip
"""What Iceberg calls types that Spark calls otherwise: after a run the columns are told in its words."""


@dataclass(frozen=True)
class Known:
    """The columns of all tables of some pipelines, found when first asked for."""

    pipelines: Sequence[Pipeline]
    settings: Settings

    @cached_property
    def columns(self) -> Mapping[TableName, Sequence[Column] | None]:
        """By table; None where only a server knows them."""
        return known_tables(self.pipelines, self.settings)


KNOWN: ContextVar[Known | None] = ContextVar("known", default=None)
"""What is known while Dagster builds components, which take no arguments; None: nothing."""


@dataclass(frozen=True)
class DerivedTable(PipelineTable):
    """A table that is made of others."""

    spec: DerivedSpec
    known: Known | None = None

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
        columns = self._known.get(self.things.table)
        if not columns:
            return None
        return dg.TableSchema([dg.TableColumn(name, _ICEBERG.get(kind, kind)) for name, kind in columns])

    @cached_property
    def lineage(self) -> dg.TableColumnLineage | None:
        """The columns of its inputs that each of its columns is made of, where theirs are known."""
        tables = {name: self._known.get(table) for name, table in self.inputs.items()}
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
    def file(self) -> Path | None:
        """See `PipelineTable`."""
        return self.spec.sql or self.spec.python

    @property
    def _known(self) -> Mapping[TableName, Sequence[Column] | None]:
        return self.known.columns if self.known else {}

    def _columns(self, parts: Iterable[tuple[str, str]]) -> list[dg.TableColumnDep]:
        tables = self.inputs
        return [
            dg.TableColumnDep(dg.AssetKey(["iceberg", *tables[name].identifier]), column)
            for name, column in parts
        ]
