"""The views beside a table in Snowflake: its own columns, and the newest record of each key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from frazil.publishing.snowflake.connection import columns_of, columns_or_none, rows, view_text
from frazil.publishing.snowflake.making import make_schema
from frazil.publishing.snowflake.statements import Relation, create_view_as
from frazil.publishing.snowflake.views.typed import typed_columns
from frazil.publishing.views.queries import CLEAN, CURRENT, clean_columns, clean_sql, current_sql
from frazil.quoting import double_quoted
from frazil.settings.profile import Settings
from frazil.spec.names import TableName, legal
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec

if TYPE_CHECKING:
    from snowflake.connector import SnowflakeConnection

_Columns: TypeAlias = tuple[tuple[str, int], ...]
"""Names and codes of types."""


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
        typed = isinstance(spec, TableSpec) and spec.typed
        self.compared = (*((self.clean,) if typed else ()), *self.all[1:])
        """Those of which columns do not tell all that the spec says: their queries are compared."""

    def keep(self, connection: SnowflakeConnection) -> None:
        """Makes what is missing, and replaces what does not fit the table or the spec any more.

        It is replaced only there: tags and masking policies go with a view.
        """
        columns = columns_of(connection, self._table)
        names = [name for name, _ in columns]
        shown = columns_or_none(connection, self.clean)
        if shown is None and self.clean.parts[:2] != self._table.parts[:2]:
            make_schema(connection, self.clean)
        wrong = () if self._fits(shown, columns) else (self.clean,)
        for view in (*wrong, *(each for each in self.compared if each not in wrong)):
            query = self._query(view, names)
            if view in wrong or not view_text(connection, view).endswith(query):
                self._make(connection, view, query, names)

    def differing(self, texts: Mapping[Relation, str], names: Sequence[str]) -> Iterator[Relation]:
        """Views with another query than they should have.

        Args:
            texts: What made them; empty of one whose text the role may not see.
            names: The columns of the table, as Snowflake spells them.
        """
        for view in self.compared:
            if (text := texts.get(view)) and not text.endswith(self._query(view, names)):
                yield view

    def _fits(self, shown: _Columns | None, table: _Columns) -> bool:
        """Whether the clean view has the columns that it should have; a typed one has the query's type."""
        names = [name for name, _ in table]
        own, typed = set(clean_columns(self._spec, names)), typed_columns(self._spec, names)
        wanted = tuple((self._shown(name), code) for name, code in table if name in own)
        if shown is None or shown[: len(wanted)] != wanted:
            return False
        return [name for name, _ in shown[len(wanted) :]] == list(typed)

    def _query(self, view: Relation, names: Sequence[str]) -> str:
        if self._current and view != self.clean:
            return current_sql(self._current, str(self._table), names, double_quoted)
        typed = typed_columns(self._spec, names)
        return clean_sql(self._spec, str(self._table), names, double_quoted, typed)

    def _make(
        self, connection: SnowflakeConnection, view: Relation, query: str, names: Sequence[str]
    ) -> None:
        is_clean = view == self.clean
        listed = (*clean_columns(self._spec, names), *typed_columns(self._spec, names)) if is_clean else names
        spelled = tuple(map(self._shown, listed)) if self._folds else ()
        rows(connection, create_view_as(view, query, spelled))

    def _shown(self, name: str) -> str:
        return name.upper() if self._folds else name
