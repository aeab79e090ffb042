"""An Iceberg table shown in Glue, for tests of those who read it."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
from pyiceberg.table import Table

from frazil.connections import Connections
from frazil.spec.names import Things, things
from frazil.spec.topic import TableSpec
from kit.readers.targets import sync_glue

SCHEMA = pa.schema(
    [
        pa.field("symbol", pa.string()),
        pa.field("ratio", pa.float32()),
        pa.field("$$headers", pa.map_(pa.string(), pa.binary())),
        pa.field("$$offset", pa.int64()),
    ]
)


@dataclass(frozen=True, slots=True)
class Trades:
    """A table, its names, and the environment that it lives in."""

    connections: Connections
    names: Things
    table: Table

    def append(self, symbol: str) -> None:
        """Adds one row; Glue does not hear of it."""
        row = {"symbol": symbol, "ratio": 0.5, "$$headers": [("h", b"\x00\xff")], "$$offset": 7}
        self.table.append(pa.Table.from_pylist([row], schema=SCHEMA))

    def show(self) -> None:
        """Points Glue to the table's current metadata."""
        sync_glue(self.connections, self.names)

    def create_sql(self, name: str, volume: str = "v") -> str:
        """Makes the table in Snowflake, under the name given."""
        return (
            f"create iceberg table {name} external_volume = '{volume}' catalog = 'g' "
            f"catalog_table_name = '{self.names.table.table}' "
            f"catalog_namespace = '{self.names.table.namespace}'"
        )

    def point_glue(self, location: str) -> None:
        """Points Glue to metadata that the catalog does not know."""
        database, name = self.names.table.namespace, self.names.table.table
        glue = self.connections.glue
        entry = glue.get_table(DatabaseName=database, Name=name)["Table"]
        wanted = {
            "Name": name,
            "TableType": "EXTERNAL_TABLE",
            "Parameters": {**entry["Parameters"], "metadata_location": location},
        }
        glue.update_table(DatabaseName=database, TableInput=wanted, VersionId=entry["VersionId"])


def make_trades(connections: Connections, name: str, namespace: str = "snowflake_tests") -> Trades:
    """Makes a table with one row and shows it in Glue."""
    names = things(TableSpec(topic=name, namespace=namespace), connections.settings)
    connections.catalog.create_namespace_if_not_exists(names.table.namespace)
    made = Trades(connections, names, connections.catalog.create_table(names.table.identifier, SCHEMA))
    made.append("ZTEST")
    made.show()
    return made
