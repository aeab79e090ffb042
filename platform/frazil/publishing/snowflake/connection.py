"""Talking to Snowflake: sending statements, and what its refusals mean."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from frazil.errors import (
    MALFORMED,
    ConfigureError,
    FrazilError,
    MissingError,
    NotAllowedError,
    PartDownError,
    RepairError,
)
from frazil.publishing.snowflake.login import connect_by
from frazil.publishing.snowflake.statements import Kind, Relation, is_refresh, needs_warehouse, show_like
from frazil.publishing.target import Spent
from frazil.settings.nearby import to_start
from frazil.settings.profile import Settings

if TYPE_CHECKING:
    from snowflake.connector import SnowflakeConnection
    from snowflake.connector.cursor import SnowflakeCursor

T = TypeVar("T")

MEANING = "The Iceberg table is right; Snowflake shows what it showed before."
"""What it means that Snowflake refused a statement, or follows nothing any more."""

_UNKNOWN = "The Iceberg table is right; Snowflake shows it as it is now, or what it showed before."
"""A statement whose answer was lost may have been carried out."""

MISSING = (2003, 2043)
"""Numbers of errors of an object that does not exist, or that is hidden."""

_NOT_ALLOWED = (3001, 3013)
MOST_SHOWN = 10_000
"""Rows that a SHOW lists at most: a list of so many may lack some."""

NOT_SHOWN = (*MISSING, *_NOT_ALLOWED)
"""Numbers of errors of what is not there, or not for Frazil's role."""
_EQUALITY_DELETES = 91968

_REFUSALS: dict[int | None, tuple[type[FrazilError], str, str]] = {
    _EQUALITY_DELETES: (
        RepairError,
        "Snowflake does not read equality deletes.",
        "Compact the table (`frazil compact --everything`): that applies its deletes.",
    ),
    **dict.fromkeys(MISSING, (
        MissingError,
        "Snowflake lacks something that the table needs, or hides it from this user.",
        "`frazil sync` makes what is missing; a role, a tag or a masking policy must be made by an "
        "administrator.",
    )),
    **dict.fromkeys(_NOT_ALLOWED, (
        NotAllowedError,
        "Snowflake does not allow this user to do it.",
        "Volumes and integrations need ACCOUNTADMIN, or CREATE EXTERNAL VOLUME and CREATE INTEGRATION on the "
        "account.",
    )),
}  # fmt: skip
"""By Snowflake's number of the error: ours, what happened, and what to do."""

_ANY_OTHER = (
    RepairError, "Snowflake refused a statement.", "Fix what the message names, then `frazil sync`."
)  # fmt: skip

_LOGIN_REFUSALS: dict[int | None, str] = {
    390144: "Check FRAZIL_SNOWFLAKE__ACCOUNT, FRAZIL_SNOWFLAKE__USER and FRAZIL_SNOWFLAKE__PRIVATE_KEY...; "
    "DESC USER shows the fingerprints of the keys that Snowflake knows.",
    390189: "Grant the role of FRAZIL_SNOWFLAKE__LOGIN_ROLE to the user, or name another one.",
    390303: "Check FRAZIL_SNOWFLAKE__TOKEN, and that a security integration trusts who made it.",
    390318: "Renew FRAZIL_SNOWFLAKE__TOKEN: it has expired.",
}
"""By Snowflake's number of the error: what to do."""


_spent: WeakKeyDictionary[SnowflakeConnection, Spent] = WeakKeyDictionary()


@contextmanager
def open_snowflake(settings: Settings) -> Iterator[SnowflakeConnection]:
    """A connection that closes with the context."""
    with connection_errors(settings):
        connection = connect_by(settings)
    try:
        yield connection
    finally:
        connection.close()


@contextmanager
def connection_errors(settings: Settings) -> Iterator[None]:
    """Turns the connector's errors of logging in, and of losing the server, into clear ones."""
    from snowflake.connector.errors import DatabaseError, HttpError, OperationalError, ProgrammingError

    # The connector lets through what its own copy of requests says of an answer that is cut in its middle.
    from snowflake.connector.vendored.requests.exceptions import RequestException

    try:
        yield
    except ProgrammingError:
        raise
    except (OperationalError, HttpError, RequestException) as e:
        raise PartDownError(
            "Snowflake does not answer.",
            where=_endpoint(settings),
            meaning=_UNKNOWN,
            todo=to_start(_endpoint(settings)),
        ) from e
    except DatabaseError as e:
        raise ConfigureError(
            "Snowflake refuses the login.",
            where=f"user {settings.snowflake.user} at {_endpoint(settings)}: {e.msg}",
            meaning="Nothing was changed.",
            todo=_LOGIN_REFUSALS.get(e.errno, "Check FRAZIL_SNOWFLAKE__ACCOUNT and FRAZIL_SNOWFLAKE__USER."),
        ) from e


def spent_by(connection: SnowflakeConnection) -> Spent:
    """What the session's statements took so far; one that Snowflake refused is not among them."""
    return _spent.get(connection, Spent())


@contextmanager
def _executed(connection: SnowflakeConnection, sql: str) -> Iterator[SnowflakeCursor]:
    begun = time.monotonic()
    with connection.cursor() as cursor:
        cursor.execute(sql)
        yield cursor
    waited = time.monotonic() - begun if needs_warehouse(sql) else 0.0
    _spent[connection] = spent_by(connection) + Spent(1, int(is_refresh(sql)), waited)


def rows(connection: SnowflakeConnection, sql: str) -> list[tuple[Any, ...]]:
    """All rows of a statement's result."""
    with _executed(connection, sql) as cursor:
        return [tuple(row) for row in cursor.fetchall()]


def named_rows(connection: SnowflakeConnection, sql: str) -> list[dict[str, Any]]:
    """All rows, each by the names of its columns: SHOW gets new columns in between."""
    with _executed(connection, sql) as cursor:
        names = [column.name.lower() for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def rows_or_none(connection: SnowflakeConnection, sql: str) -> list[tuple[Any, ...]] | None:
    """All rows, or None where the object that the statement names is not there."""
    return _unless_missing(rows, connection, sql)


def named_rows_or_none(connection: SnowflakeConnection, sql: str) -> list[dict[str, Any]] | None:
    """The same by the names of their columns."""
    return _unless_missing(named_rows, connection, sql)


def _unless_missing(
    ask: Callable[[SnowflakeConnection, str], list[T]], connection: SnowflakeConnection, sql: str
) -> list[T] | None:
    from snowflake.connector.errors import ProgrammingError

    try:
        return ask(connection, sql)
    except ProgrammingError as e:
        if e.errno in MISSING:
            return None
        raise


def shown_as(connection: SnowflakeConnection, kind: Kind, relation: Relation) -> dict[str, Any]:
    """What SHOW lists of a relation; empty where there is no such one, or its role may not see it."""
    listed = named_rows_or_none(connection, show_like(kind, relation)) or []
    return next((row for row in listed if row["name"] == relation.name), {})


def columns_of(connection: SnowflakeConnection, relation: Relation) -> tuple[tuple[str, int], ...]:
    """Names and type codes of the columns of a table or view."""
    with _executed(connection, f"SELECT * FROM {relation} WHERE FALSE") as cursor:
        return tuple((column.name, column.type_code) for column in cursor.description)


def columns_or_none(connection: SnowflakeConnection, view: Relation) -> tuple[tuple[str, int], ...] | None:
    """The same, or None where the view can't be read, as one that names a column which is gone."""
    from snowflake.connector.errors import ProgrammingError

    try:
        return columns_of(connection, view)
    except ProgrammingError:
        return None


def view_text(connection: SnowflakeConnection, view: Relation) -> str:
    """The statement that made a view; empty where there is no such view, or its role may not see it."""
    row = shown_as(connection, "VIEWS", view)
    return text_in(row) if row else ""


def text_in(row: Mapping[str, Any]) -> str:
    """The statement that made the view of a row of SHOW; empty where its role may not see it."""
    return str(row["text"] or "").rstrip("; \n")


@contextmanager
def statement_errors(where: str) -> Iterator[None]:
    """Turns refused statements into errors that say what to do."""
    from snowflake.connector.errors import ProgrammingError

    try:
        yield
    except ProgrammingError as e:
        kind, what, todo = _REFUSALS.get(e.errno, _ANY_OTHER)
        raise kind(what, where=f"{where}: {e.msg}", meaning=MEANING, todo=todo) from e
    except MALFORMED as e:
        raise RepairError(
            "Snowflake answers in another form than is known.",
            where=f"{where}: {type(e).__name__}: {e!s:.300}",
            meaning=MEANING,
            todo="Try again; if it stays so, Snowflake has changed what it says, and Frazil must learn it.",
        ) from e


def _endpoint(settings: Settings) -> str:
    host = settings.snowflake.host or f"{settings.snowflake.account}.snowflakecomputing.com"
    return f"{settings.snowflake.protocol}://{host}:{settings.snowflake.port}"
