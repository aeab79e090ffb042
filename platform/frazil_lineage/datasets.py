"""Topics and tables as OpenLineage's datasets, with what is known of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from openlineage.client.event_v2 import InputDataset, OutputDataset
from openlineage.client.facet_v2 import DatasetFacet, InputDatasetFacet, OutputDatasetFacet

from frazil.connections import Connections
from frazil.spec.names import TableName
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.catalogs.handle import TableHandle
from frazil_lineage.facets import catalog_facets, schema_facet, version_facet
from frazil_lineage.names import DatasetName, catalog_name, stored_name

if TYPE_CHECKING:
    from pyiceberg.table import Table

Facets = Mapping[str, DatasetFacet]


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset that work read or wrote."""

    name: DatasetName
    facets: Facets = field(default_factory=dict)

    def read(self, facets: Mapping[str, InputDatasetFacet] | None = None) -> InputDataset:
        """The dataset as an input."""
        return InputDataset(self.name.namespace, self.name.name, dict(facets or {}), facets=dict(self.facets))

    def written(self, facets: Mapping[str, OutputDatasetFacet] | None = None) -> OutputDataset:
        """The dataset as an output."""
        return OutputDataset(
            self.name.namespace, self.name.name, dict(facets or {}), facets=dict(self.facets)
        )

    def with_facets(self, facets: Facets) -> Dataset:
        """The same with more facets."""
        return Dataset(self.name, {**self.facets, **facets})


class Tables:
    """The Iceberg tables of one batch of events; each is loaded once."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._loaded: dict[TableName, Table] = {}

    def load(self, name: TableName) -> Table:
        """The table as it is now, or was a moment ago. Raises as `TableHandle.load` does."""
        if name not in self._loaded:
            with catalog_errors(self._connections.settings):
                self._loaded[name] = TableHandle(self._connections.catalog, name).load()
        return self._loaded[name]

    def dataset(self, name: TableName, snapshot: int | None = None) -> Dataset:
        """The table as a dataset, as of a snapshot where one is named."""
        table, settings = self.load(name), self._connections.settings
        facets: dict[str, DatasetFacet] = {"schema": schema_facet(table.schema())}
        facets.update(catalog_facets(settings, catalog_name(name, settings)))
        if snapshot is not None:
            facets["version"] = version_facet(snapshot)
        return Dataset(stored_name(table.location()), facets)
