"""How a table comes to Snowflake: Frazil makes it and refreshes it, through Glue."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from frazil.errors import FrazilError, MissingError
from frazil.publishing.glue import Glue
from frazil.publishing.snowflake import statements
from frazil.publishing.snowflake.connection import rows, rows_or_none
from frazil.publishing.snowflake.looks import asked
from frazil.publishing.snowflake.making import make_integration, make_schema, make_volume
from frazil.publishing.snowflake.refreshing import refresh
from frazil.publishing.snowflake.statements import Relation, check_location, integration_of, volume_of
from frazil.publishing.target import Maker
from frazil.settings.profile import Settings
from frazil.spec.names import TableName, legal

if TYPE_CHECKING:
    from snowflake.connector import SnowflakeConnection


class Source(Protocol):
    """One table in Snowflake, by the way in which it comes there."""

    table: Relation
    maker: Maker | None
    """Who else keeps it there; None where Frazil does."""

    folds: bool
    """Whether its columns are spelled as the catalog has them, and a view needs capitals to be plain SQL."""

    def check(self, location: str) -> None:
        """Refuses metadata that Snowflake could not read."""

    def location(self, connection: SnowflakeConnection) -> str | None:
        """The metadata file that Snowflake shows; None where it has no such table."""

    @staticmethod
    def locations(
        connection: SnowflakeConnection, tables: Sequence[Relation]
    ) -> Mapping[Relation, str | FrazilError]:
        """The same of many that are listed; nothing of one that is not there."""

    def make(self, connection: SnowflakeConnection) -> None:
        """Makes the table; or says why it is not there, where that is not Frazil's to do."""

    def refresh(self, connection: SnowflakeConnection) -> None:
        """Lets Snowflake show newer metadata; or says why it never will, where it looks by itself."""

    def drop(self, connection: SnowflakeConnection) -> None:
        """Takes the table away, where Frazil made it."""


def location_in(information: str) -> str:
    """The metadata file that Snowflake tells of a table."""
    return str(json.loads(information)["metadataLocation"])


class OwnTable:
    """A table that Frazil makes, of an entry of Glue."""

    maker: Maker | None = None
    folds = False

    def __init__(self, settings: Settings, name: TableName, glue: Glue) -> None:
        # Tableflow names tables as clusters and topics are called.
        schema, table = legal(name.namespace).upper(), legal(name.table).upper()
        self.table = Relation(settings.snowflake.database.upper(), schema, table)
        self._settings, self._glue, self._entry = settings, glue.database, name.table

    def check(self, location: str) -> None:
        """See `Source`."""
        check_location(volume_of(self._settings), location)

    def location(self, connection: SnowflakeConnection) -> str | None:
        """See `Source`."""
        answer = rows_or_none(connection, statements.table_information(self.table))
        return location_in(answer[0][0]) if answer else None

    @staticmethod
    def locations(
        connection: SnowflakeConnection, tables: Sequence[Relation]
    ) -> Mapping[Relation, str | FrazilError]:
        """See `Source`."""

        def of(part: Sequence[Relation]) -> list[str]:
            return list(map(location_in, rows(connection, statements.table_information(*part))[0]))

        answers = asked(of, tables)
        return {table: each for table, each in answers.items() if not isinstance(each, MissingError)}

    def make(self, connection: SnowflakeConnection) -> None:
        """See `Source`."""
        volume, integration = volume_of(self._settings), integration_of(self._settings, self._glue)
        make_schema(connection, self.table)
        make_volume(connection, volume)
        make_integration(connection, integration)
        made = statements.create_table(self.table, volume, integration, self._glue, self._entry)
        rows(connection, made)

    def refresh(self, connection: SnowflakeConnection) -> None:
        """See `Source`."""
        refresh(connection, self.table)

    def drop(self, connection: SnowflakeConnection) -> None:
        """See `Source`."""
        rows(connection, f"DROP ICEBERG TABLE IF EXISTS {self.table}")
