"""What Snowflake shows of many tables, in few statements: a hundred tables each.

Where Snowflake refuses one, it is asked for each table by itself, so that the fault of one keeps none of the
others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from frazil.errors import MALFORMED, FrazilError
from frazil.publishing.snowflake.connection import (
    MOST_SHOWN,
    named_rows_or_none,
    rows,
    rows_or_none,
    statement_errors,
    text_in,
    view_text,
)
from frazil.publishing.snowflake.statements import (
    Relation,
    columns_in,
    comments_in,
    counts_of,
    refreshes_of,
    show_in,
)

if TYPE_CHECKING:
    from snowflake.connector import SnowflakeConnection

AT_ONCE = 100
"""Tables of one statement."""

T = TypeVar("T")
R = TypeVar("R")

ListedColumns: TypeAlias = tuple[tuple[str, str], ...]
"""Names and types of the columns of a table or view, in order."""


@dataclass(frozen=True)
class Look:
    """What Snowflake lists of some tables and their views; nothing of what is not there or is hidden."""

    columns: Mapping[Relation, ListedColumns] = field(default_factory=dict)
    comments: Mapping[Relation, str] = field(default_factory=dict)
    texts: Mapping[Relation, str] = field(default_factory=dict)
    locations: Mapping[Relation, str | FrazilError] = field(default_factory=dict)
    counts: Mapping[Relation, int | FrazilError] = field(default_factory=dict)
    refreshes: Mapping[Relation, int | FrazilError | None] = field(default_factory=dict)

    def view_columns(self, view: Relation, table: Relation) -> tuple[str, ...]:
        """Those of a view; none where it can't be read, for the table has a column with another type now."""
        types = {name.upper(): kind for name, kind in self.columns.get(table, ())}
        own = self.columns.get(view, ())
        broken = any(types.get(name.upper()) not in (None, kind) for name, kind in own)
        return () if broken else tuple(name for name, _ in own)


def listed_columns(
    connection: SnowflakeConnection, relations: Iterable[Relation]
) -> dict[Relation, ListedColumns]:
    """The columns of tables and views, by the lists of their databases."""
    shown: dict[Relation, list[tuple[str, str]]] = defaultdict(list)
    for database, part in _by_database(relations):
        for schema, name, column, *kind in rows_or_none(connection, columns_in(database, part)) or ():
            of = Relation(database, schema, name)
            shown[of].append((str(column), " ".join(str(each) for each in kind if each is not None)))
    return {relation: tuple(columns) for relation, columns in shown.items()}


def listed_comments(connection: SnowflakeConnection, views: Iterable[Relation]) -> dict[Relation, str]:
    """What views say, by the lists of their databases; empty where they say nothing."""
    return {
        Relation(database, schema, name): str(text or "")
        for database, part in _by_database(views)
        for schema, name, text in rows_or_none(connection, comments_in(database, part)) or ()
    }


def listed_texts(connection: SnowflakeConnection, views: Sequence[Relation]) -> dict[Relation, str]:
    """What made views, in one statement for each database, unless it has more views than SHOW lists."""
    texts: dict[Relation, str] = {}
    for database in dict.fromkeys(view.database for view in views):
        listed = named_rows_or_none(connection, show_in("VIEWS", database)) or ()
        texts |= {Relation(database, str(r["schema_name"]), str(r["name"])): text_in(r) for r in listed}
        if len(listed) >= MOST_SHOWN:
            beyond = [view for view in views if view.database == database and view not in texts]
            texts |= {view: view_text(connection, view) for view in beyond}
    return texts


def counted(connection: SnowflakeConnection, tables: Sequence[Relation]) -> dict[Relation, int | FrazilError]:
    """The rows of tables."""
    return asked(lambda part: [int(n) for n in rows(connection, counts_of(part))[0]], tables)


def refreshed(
    connection: SnowflakeConnection, tables: Sequence[Relation]
) -> dict[Relation, int | FrazilError | None]:
    """When Snowflake read the metadata of tables last, as it says itself; None where it has forgotten."""

    def ask(part: Sequence[Relation]) -> list[int | None]:
        times = {int(place): at for place, at in rows(connection, refreshes_of(part))}
        return [None if times[place] is None else int(times[place]) for place in range(len(part))]

    return asked(ask, tables)


def asked(ask: Callable[[Sequence[T]], Sequence[R]], items: Sequence[T]) -> dict[T, R | FrazilError]:
    """What each of many is, or why nobody can tell.

    Args:
        ask: Tells it of several in one statement.
        items: Those.
    """
    from snowflake.connector.errors import ProgrammingError

    shown: dict[T, R | FrazilError] = {}
    for part in parts(items):
        try:
            shown |= dict(zip(part, ask(part), strict=True))
        except (ProgrammingError, FrazilError, *MALFORMED):
            shown |= {item: _alone(ask, item) for item in part}
    return shown


def parts(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """As many as one statement asks for."""
    return (items[at : at + AT_ONCE] for at in range(0, len(items), AT_ONCE))


def _alone(ask: Callable[[Sequence[T]], Sequence[R]], item: T) -> R | FrazilError:
    try:
        with statement_errors(str(item)):
            return ask([item])[0]
    except FrazilError as e:
        return e


def _by_database(relations: Iterable[Relation]) -> Iterator[tuple[str, Sequence[Relation]]]:
    of: dict[str, list[Relation]] = defaultdict(list)
    for relation in relations:
        of[relation.database].append(relation)
    return ((database, part) for database, all_ in of.items() for part in parts(all_))
