"""The views beside a table in Snowflake: its own columns, and the newest record of each key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from frazil.publishing.snowflake.connection import columns_of, columns_or_none, rows, view_text
from frazil.publishing.snowflake.making import make_schema
from frazil.publishing.snowflake.statements import Relation, create_view_as
from frazil.publishing.views.queries import CLEAN, CURRENT, clean_columns, clean_sql, current_sql
from frazil.quoting import double_quoted
from frazil.settings.profile import Settings
from frazil.spec.names import TableName, legal
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec

if TYPE_CHECKING:
    from snowflake.connector import SnowflakeConnection


class KeptViews:
    """The views of one table.

    Args:
        spec: What they leave out, and the key of the newest record.
        settings: They name the database of views.
        name: The Iceberg table, by which they are called.
        table: What they read.
        folds: Whether they give columns in capitals, as plain SQL names them.
    """

    def __init__(
        self, spec: AnyTable, settings: Settings, name: TableName, table: Relation, *, folds: bool
    ) -> None:
        self._spec, self._table, self._folds = spec, table, folds
        self._current = spec if isinstance(spec, TableSpec) and spec.current_by else None
        database, schema = settings.snowflake.database.upper(), legal(name.namespace).upper()
        ends = (CLEAN, *((CURRENT,) if self._current else ()))
        self.all = tuple(Relation(database, schema, f"{legal(name.table)}{end}".upper()) for end in ends)
        self.clean = self.all[0]

    def keep(self, connection: SnowflakeConnection, *, changed: bool) -> None:
        """Makes what is missing, and replaces what does not fit the table any more.

        Args:
            connection: An open session.
            changed: Whether the table is new or has newer metadata.
        """
        columns = columns_of(connection, self._table)
        names = [name for name, _ in columns]
        own = set(clean_columns(self._spec, names))
        wanted = tuple((self._shown(name), code) for name, code in columns if name in own)
        shown = columns_or_none(connection, self.clean)
        if shown is None and self.clean.parts[:2] != self._table.parts[:2]:
            make_schema(connection, self.clean)
        if shown != wanted:
            query = clean_sql(self._spec, str(self._table), names, double_quoted)
            self._make(connection, self.clean, query, clean_columns(self._spec, names))
        self._keep_current(connection, names, changed=changed)

    def _keep_current(self, connection: SnowflakeConnection, names: Sequence[str], *, changed: bool) -> None:
        """Columns do not tell which key a view has: its query is compared.

        It is replaced where that differs, and only there: tags and masking policies go with a view.
        """
        for view in self.all[1:]:
            if self._current and (changed or columns_or_none(connection, view) is None):
                query = current_sql(self._current, str(self._table), names, double_quoted)
                if not view_text(connection, view).endswith(query):
                    self._make(connection, view, query, names)

    def _make(
        self, connection: SnowflakeConnection, view: Relation, query: str, names: Sequence[str]
    ) -> None:
        spelled = tuple(map(self._shown, names)) if self._folds else ()
        rows(connection, create_view_as(view, query, spelled))

    def _shown(self, name: str) -> str:
        return name.upper() if self._folds else name
