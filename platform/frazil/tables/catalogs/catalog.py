"""The Iceberg catalog for PyIceberg: opening it, and what its refusals mean."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from frazil.errors import (
    MALFORMED,
    STAYS,
    ConfigureError,
    NotAllowedError,
    PartDownError,
    RepairError,
)
from frazil.settings.identity import aws_session, keys_of_now
from frazil.settings.nearby import to_start
from frazil.settings.profile import Settings
from frazil.settings.refusals import aws_refusal
from frazil.tables.catalogs import client_properties
from frazil.tables.catalogs.glue_limits import fit_request
from frazil.tables.catalogs.kept_readers import keep_readers

if TYPE_CHECKING:
    from botocore.session import Session
    from pyiceberg.catalog import Catalog

STALE = "can't add snapshot with sequence number"
"""What SeaweedFS says, with 400 and not 409, where another ref was committed in between."""

_OLDER = "older than last sequence number"
"""What catalogs in Java say of the same, and PyIceberg itself where Glue owns the table."""

_GONE = "Snapshot with snapshot id"
"""What PyIceberg says, where Glue owns the table, of a snapshot that another expiry removed in between."""

_ROW_IDS = ("invalid row lineage", "Cannot add a snapshot with first row id smaller")
"""What SeaweedFS says with 400, and PyIceberg where Glue owns the table, of version 3: the commit of another
ref took the row ids that this one gives."""

_S3_DOWN = re.compile(
    "AWS Error (NETWORK_CONNECTION|INTERNAL_FAILURE|SERVICE_UNAVAILABLE|SLOW_DOWN|THROTTLING|REQUEST_TIMEOUT"
    r"|NO_SUCH_UPLOAD|UNKNOWN \(HTTP status (429|5\d\d)\))"
)
"""An answer to HEAD has no body, so that only its status tells that storage wants to be asked more slowly. An
upload whose last answer was lost is not known any more when PyArrow asks again."""

_LOST_FILE = ("RESOURCE_NOT_FOUND", "NO_SUCH_KEY")

_THROTTLED = ("ThrottlingException", "Throttling", "RequestLimitExceeded", "SlowDown")


def is_conflict(error: Exception) -> bool:
    """Whether the catalog says that another commit came in between; a replayed answer says so, too."""
    from pyiceberg.exceptions import CommitFailedException

    if isinstance(error, CommitFailedException):
        return True
    text = str(error)
    texts = (STALE, _OLDER, *_ROW_IDS)
    return any(each in text for each in texts) or (isinstance(error, ValueError) and text.startswith(_GONE))


def is_lost(error: Exception) -> bool:
    """Whether it is not known what became of a request: it may have been carried out or not."""
    from pydantic import ValidationError
    from pyiceberg.exceptions import CommitStateUnknownException, ServerError
    from requests.exceptions import RequestException

    unclear = (CommitStateUnknownException, ServerError, RequestException, ValidationError)
    return is_outage(error) or isinstance(error, unclear)


def open_catalog(settings: Settings) -> Catalog:
    """The catalog that owns the tables. Its clients repeat no request: `tables.commit` decides about that."""
    logging.getLogger("pyiceberg.catalog").addFilter(_is_news)
    keep_readers()
    properties = client_properties.pyiceberg_properties(settings)
    with catalog_errors(settings):
        session = aws_session(settings.aws)
        if settings.catalog == "rest":
            from frazil.tables.catalogs.rest import open_rest

            if settings.rest.is_signed:
                # Where there are no keys, PyIceberg fails at the first signature, as a fault.
                keys_of_now(session)
            with answers():
                limits = client_properties.CONNECT_SECONDS, client_properties.READ_SECONDS
                return open_rest(properties, session, settings.rest, limits)
        from frazil.tables.catalogs.glue import open_glue

        return open_glue(properties, session, glue_client(settings, session))


def glue_client(settings: Settings, session: Session | None = None) -> Any:
    """Glue's client, of a session that is there, or of its own.

    It sends nothing twice: a replayed `UpdateTable` would look like a refusal.
    """
    client = _client("glue", settings.glue_endpoint, session or aws_session(settings.aws))
    for action in ("CreateTable", "UpdateTable"):
        client.meta.events.register(f"provide-client-params.glue.{action}", fit_request)
    if settings.glue.catalog_id:
        client.meta.events.register("provide-client-params.glue", partial(_names, settings.glue.catalog_id))
    return client


def lake_formation_client(settings: Settings) -> Any:
    """Lake Formation's client; it sends nothing twice, as Glue's."""
    return _client("lakeformation", settings.lf_endpoint, aws_session(settings.aws))


def _client(service: str, endpoint: str | None, session: Session) -> Any:
    from botocore.config import Config

    client = session.create_client(
        service,
        endpoint_url=endpoint,
        config=Config(
            connect_timeout=client_properties.CONNECT_SECONDS,
            read_timeout=client_properties.READ_SECONDS,
            retries={"total_max_attempts": 1, "mode": "standard"},
        ),
    )
    client.meta.events.register(f"after-call.{service}", _refuse_cut)
    return client


def _names(catalog_id: str, params: dict[str, Any], **_: Any) -> None:
    """Adds the catalog to a request of Glue that names none."""
    params.setdefault("CatalogId", catalog_id)


def _refuse_cut(http_response: Any, parsed: Mapping[str, Any], **_: Any) -> None:
    """Raises where an answer was cut in its middle.

    To botocore it is an empty one, or a refusal that says only its HTTP status.
    """
    from botocore.exceptions import ConnectionClosedError

    body = http_response.content
    if http_response.status_code < 300:
        may_be_cut = body and not parsed.keys() - {"ResponseMetadata"}
    else:
        may_be_cut = body.startswith(b"{")  # or it is the page of some proxy
    if may_be_cut:
        try:
            json.loads(body)
        except ValueError:
            raise ConnectionClosedError(endpoint_url=http_response.url) from None


def _is_news(record: logging.LogRecord) -> bool:
    """Every commit deletes metadata files that are old: of two at once, one finds some of them gone."""
    return "Failed to delete metadata file" not in record.getMessage()


@contextmanager
def answers() -> Iterator[None]:
    """Refuses what is no answer of a catalog's; one that may have been cut counts as lost."""
    from pyiceberg.exceptions import ValidationError

    try:
        yield
    except (ValidationError, NotImplementedError, *MALFORMED) as e:
        if is_lost(e):
            raise
        raise RepairError(
            "What stands at the catalog's address does not answer as an Iceberg catalog does.",
            where=f"{type(e).__name__}: {e!s:.300}",
            meaning=STAYS,
            todo="Fix the address in the settings, or what the catalog keeps of the table.",
        ) from e


@contextmanager
def catalog_errors(settings: Settings) -> Iterator[None]:
    """Turns "nobody answers" of any catalog client into one clear error.

    Commits do not come here: `tables.commit` says itself what is known of one whose answer was lost.
    """
    from pyiceberg.exceptions import CommitFailedException, RESTError

    try:
        yield
    except Exception as e:
        if refusal := aws_refusal(e) or _refusal(settings, e):
            raise refusal from None
        if isinstance(e, RESTError) and not isinstance(e, CommitFailedException) and not is_lost(e):
            raise ConfigureError(
                "The Iceberg catalog refuses the request.",
                where=f"{settings.rest.uri}: {e!s:.300}",
                meaning=STAYS,
                todo="Fix what it names, or FRAZIL_REST__... in the settings (docs/connect.md).",
            ) from e
        if isinstance(e, OSError) and is_gone(e):
            raise _file_lost(e) from e
        if not is_lost(e):
            raise
        where = settings.rest.uri if settings.catalog == "rest" else settings.glue_endpoint or "Glue"
        raise PartDownError(
            "The Iceberg catalog does not answer.",
            where=f"{where} ({type(e).__name__})",
            meaning=STAYS,
            todo=to_start(where),
        ) from e


def _file_lost(error: OSError) -> RepairError:
    return RepairError(
        "A file that a table needs is no longer in the bucket.",
        where=f"{error!s:.300}",
        meaning=STAYS,
        todo="`frazil undelete` brings it back where the bucket keeps versions. If only new files are lost, "
        "`frazil rollback TABLE --to SNAPSHOT` goes to before them; else `frazil reset TABLE` begins at the "
        "topic's first record.",
    )


def _refusal(settings: Settings, error: Exception) -> ConfigureError | None:
    """What it means that the catalog does not know who asks, or does not allow it; a certificate, too."""
    from authlib.integrations.base_client import OAuthError
    from pyiceberg.exceptions import ForbiddenError, UnauthorizedError
    from requests.exceptions import SSLError

    options: dict[str, str] = {
        "where": f"{settings.rest.uri}: {type(error).__name__}: {error}",
        "meaning": STAYS,
    }
    if isinstance(error, ForbiddenError):
        who = settings.rest.client_id or f"the identity of {_identity(settings)}"
        todo = f"Let {who} create, read, write and drop tables and namespaces there."
        return NotAllowedError("The Iceberg catalog does not allow it.", **options, todo=todo)
    if isinstance(error, OAuthError | UnauthorizedError | SSLError):
        todo = f"Fix {_identity(settings)} in the settings, see docs/connect.md."
        return ConfigureError("The Iceberg catalog gives no access.", **options, todo=todo)
    return None


def _identity(settings: Settings) -> str:
    """The settings that say who asks the catalog."""
    return "FRAZIL_AWS__... and FRAZIL_REST__SIGNING_NAME" if settings.rest.is_signed else "FRAZIL_REST__..."


def is_outage(error: Exception) -> bool:
    """Whether nobody answered, whatever was asked for: of the catalog, or of the storage below it."""
    from botocore.exceptions import ClientError, HTTPClientError
    from botocore.exceptions import ConnectionError as BotoConnectionError
    from pyiceberg.exceptions import ServiceUnavailableError, TooManyRequestsError
    from requests.exceptions import ConnectionError as RequestsConnectionError
    from requests.exceptions import Timeout

    if isinstance(error, ClientError):
        broken = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0) >= 500
        return broken or error.response.get("Error", {}).get("Code") in _THROTTLED
    silent = (
        RequestsConnectionError, Timeout, HTTPClientError, BotoConnectionError, ServiceUnavailableError,
        TooManyRequestsError,
    )  # fmt: skip
    return isinstance(error, silent) or (isinstance(error, OSError) and is_of_storage(str(error)))


def is_of_storage(text: str) -> bool:
    """Whether it is what PyArrow makes of an S3 that does not answer, or answers that it can't."""
    return _S3_DOWN.search(text) is not None


def is_gone(error: OSError) -> bool:
    """Whether a file is not there.

    PyArrow has other errors where it vanishes between being opened and being read: NO_SUCH_KEY by the
    answer's body, RESOURCE_NOT_FOUND where that has none.
    """
    return isinstance(error, FileNotFoundError) or any(word in str(error) for word in _LOST_FILE)
