"""The Iceberg catalog for PyIceberg: opening it, loading tables, and what its refusals mean."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from frazil.errors import MissingError, PartDownError
from frazil.settings import Settings
from frazil.spec.names import TableName
from frazil.tables.client_properties import pyiceberg_properties

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

__all__ = [
    "STALE",
    "catalog_errors",
    "is_conflict",
    "is_outage",
    "load_table",
    "load_table_or_none",
    "open_catalog",
]

STALE = "can't add snapshot with sequence number"
"""What SeaweedFS says, with 400 and not 409, where another ref was committed in between."""

_OLDER = "older than last sequence number"
"""What PyIceberg itself says where Glue owns the table and another ref was committed in between."""

_S3_DOWN = ("AWS Error NETWORK_CONNECTION", "AWS Error INTERNAL_FAILURE", "AWS Error SERVICE_UNAVAILABLE")


def is_conflict(error: Exception) -> bool:
    """Whether a commit was refused, or is not known to be through, because of another one."""
    from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException

    known = isinstance(error, CommitFailedException | CommitStateUnknownException)
    return known or STALE in str(error) or (isinstance(error, ValueError) and _OLDER in str(error))


def open_catalog(settings: Settings) -> Catalog:
    """The catalog that owns the tables.

    Raises:
        PartDownError: It does not answer.
    """
    from pyiceberg.catalog import load_catalog

    logging.getLogger("pyiceberg.catalog").addFilter(_is_news)
    with catalog_errors(settings):
        return load_catalog("frazil", **pyiceberg_properties(settings))


def drop_old_metadata(before: Table, after: Table) -> None:
    """Deletes the metadata files that commits in between pushed out of the table's log.

    PyIceberg does so with each commit of its own; over REST, Spark leaves it to the catalog, and SeaweedFS
    does not: a landing a minute would leave a thousand files a day.
    """
    after.catalog._delete_old_metadata(after.io, before.metadata, after.metadata)


def _is_news(record: logging.LogRecord) -> bool:
    """Every commit deletes metadata files that are old: of two at once, one finds some of them gone."""
    return "Failed to delete metadata file" not in record.getMessage()


def load_table_or_none(catalog: Catalog, name: TableName) -> Table | None:
    """The table as it is now, or None where there is none."""
    from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

    try:
        return catalog.load_table(name.identifier)
    except (NoSuchTableError, NoSuchNamespaceError):
        return None


def load_table(catalog: Catalog, name: TableName) -> Table:
    """The table as it is now.

    Raises:
        MissingError: There is none.
    """
    table = load_table_or_none(catalog, name)
    if table is None:
        raise MissingError(
            f"There is no table {name} in the catalog.",
            todo=f"`frazil land {name}`, or `frazil derive {name}`, makes it, if a pipeline names it.",
        )
    return table


@contextmanager
def catalog_errors(settings: Settings) -> Iterator[None]:
    """Turns "nobody answers" of any catalog client into one clear error.

    Raises:
        PartDownError: The catalog or the storage below it does not answer.
    """
    from pyiceberg.exceptions import ServerError

    try:
        yield
    except Exception as e:
        if not is_outage(e) and not isinstance(e, ServerError):
            raise
        where = settings.rest_uri if settings.catalog == "rest" else settings.glue_endpoint or "Glue"
        raise PartDownError(
            "The Iceberg catalog does not answer.",
            where=f"{where} ({type(e).__name__})",
            meaning="Nothing was changed.",
            todo="`frazil status` shows what runs, `frazil up` starts what does not.",
        ) from e


def is_outage(error: Exception) -> bool:
    """Whether nobody answered, whatever was asked for: of the catalog, or of the storage below it."""
    from botocore.exceptions import EndpointConnectionError
    from pyiceberg.exceptions import ServiceUnavailableError
    from requests.exceptions import ConnectionError as RequestsConnectionError
    from requests.exceptions import Timeout

    silent = (RequestsConnectionError, Timeout, EndpointConnectionError, ServiceUnavailableError)
    return isinstance(error, silent) or _storage_is_down(error)


def _storage_is_down(error: Exception) -> bool:
    """What PyArrow makes of an S3 that does not answer, or answers that it can't."""
    return isinstance(error, OSError) and any(sign in str(error) for sign in _S3_DOWN)
