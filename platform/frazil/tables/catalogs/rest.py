"""A REST catalog whose requests end, and that sends and parses no head twice. Import it where it is used."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic_core import from_json
from pyiceberg.catalog.rest import Endpoints, RestCatalog, TableResponse
from pyiceberg.catalog.rest.auth import AuthManager
from pyiceberg.catalog.rest.response import _handle_non_200_response
from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException
from pyiceberg.table import CommitTableRequest, CommitTableResponse, Table, TableIdentifier
from pyiceberg.typedef import EMPTY_DICT
from requests import HTTPError

from frazil.errors import MALFORMED, ConfigureError
from frazil.settings.secret import revealed
from frazil.settings.systems.rest import RestSettings
from frazil.tables.catalogs.kept_metadata import kept_heads
from frazil.tables.catalogs.pyiceberg import OWN_CODE, ask_for_table, take_far_moments

if TYPE_CHECKING:
    from botocore.session import Session as BotocoreSession
    from pyiceberg.io import FileIO
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.snapshots import Snapshot
    from requests import Session
    from requests.adapters import HTTPAdapter

_REFUSALS: dict[int, type[Exception]] = {
    409: CommitFailedException,
    500: CommitStateUnknownException,
    502: CommitStateUnknownException,
    504: CommitStateUnknownException,
}
"""As PyIceberg's own has them: https://github.com/apache/iceberg/blob/main/open-api/rest-catalog-open-api.yaml"""

_TELLING = (
    "last-sequence-number", "current-snapshot-id", "current-schema-id", "default-spec-id", "properties",
)  # fmt: skip


def open_rest(
    properties: Mapping[str, str], identity: BotocoreSession, rest: RestSettings, limits: tuple[float, float]
) -> RestCatalog:
    """A REST catalog; PyIceberg's client waits forever.

    `identity` signs, and opens S3; `limits` are seconds to connect, and to wait for an answer.
    """
    take_far_moments()
    rest.check_files("REST")
    own_ca = {"ssl": {"cabundle": str(rest.ca)}} if rest.ca else {}
    options: dict[str, Any] = {**properties, **own_ca, **_client_credentials(rest, limits[1])}
    return _OwnRestCatalog(rest, limits, {"botocore_session": identity, **options})


class _OwnRestCatalog(RestCatalog):
    def __init__(self, rest: RestSettings, limits: tuple[float, float], options: Mapping[str, Any]) -> None:
        self._rest, self._limits = rest, limits
        own = {name: value for name, value in options.items() if name.startswith("s3.")}
        self._of_storage = {} if rest.vended_credentials else own
        self._heads = kept_heads()
        super().__init__("frazil", **options)

    def _create_session(self) -> Session:
        session = super()._create_session()
        if not self._rest.vended_credentials:  # PyIceberg asks for them by default, Spark does not
            del session.headers["X-Iceberg-Access-Delegation"]
        if self._rest.certificate:
            session.mount("https://", _with_certificate(self._rest))
        # requests prefers an authority that the environment names to the session's.
        limited = partial(session.request, timeout=self._limits, verify=session.verify)
        session.request = limited  # type: ignore[method-assign]
        ask_environment_once(session)
        return session

    def _load_file_io(
        self, properties: Mapping[str, str] = EMPTY_DICT, location: str | None = None
    ) -> FileIO:
        """What the settings say of S3 holds, unless the catalog was asked to say it."""
        return super()._load_file_io({**properties, **self._of_storage, **OWN_CODE}, location)

    def load_table(self, identifier: str | tuple[str, ...]) -> Table:
        """See `RestCatalog.load_table`. A head that was seen before is neither sent nor parsed again."""
        known = self._heads.get(self.identifier_to_tuple(identifier))
        return (known and self._unchanged(known)) or self._seen(super().load_table(identifier))

    def commit_table(self, table: Table, requirements: Any, updates: Any) -> CommitTableResponse:
        """See `RestCatalog.commit_table`. Of the answer those snapshots only are parsed that are new."""
        name = table.name()
        of = TableIdentifier(namespace=name[:-1], name=name[-1])
        request = CommitTableRequest(identifier=of, requirements=requirements, updates=updates)
        url = self.url(Endpoints.update_table, prefixed=True, **self._split_identifier_for_path(of))
        token = table.config.get("token")
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        answer = self._session.post(url, data=request.model_dump_json().encode(), headers=headers)
        try:
            answer.raise_for_status()
        except HTTPError as e:
            _handle_non_200_response(e, _REFUSALS)
        committed = _parsed(answer.content, table.metadata)
        self._seen(Table(name, committed.metadata, committed.metadata_location, table.io, self))
        return committed

    def _seen(self, table: Table) -> Table:
        self._heads.keep(table.name(), table)
        return table

    def _unchanged(self, known: Table) -> Table | None:
        """The table, with what the catalog says now of access to it; None where it has another head."""
        answer = ask_for_table(self, known.name(), "refs")
        with suppress(*MALFORMED):
            body = from_json(answer.content)
            if answer.status_code == 200 and _is_of(body, known):
                response = TableResponse.model_validate({**body, "metadata": known.metadata})
                return self._response_to_table(known.name(), response)
        return None


def _is_of(body: Mapping[str, Any], known: Table) -> bool:
    """Whether an answer is of metadata that is known.

    Its place alone does not say so: SeaweedFS calls the files of each table v1, v2 and so on, of one that is
    made anew, too. And it says of each answer about some snapshots that the table was updated just now.
    """
    theirs, metadata = body["metadata"], known.metadata
    alike = (theirs.get(name) == getattr(metadata, name.replace("-", "_"), None) for name in _TELLING)
    is_there = body["metadata-location"] == known.metadata_location
    return is_there and theirs["table-uuid"] == str(metadata.table_uuid) and all(alike)


def _parsed(content: bytes, before: TableMetadata) -> CommitTableResponse:
    """The answer to a commit; raises pydantic's ValidationError where it is cut."""
    with suppress(*MALFORMED):
        body = from_json(content)
        known = {snapshot.snapshot_id: snapshot for snapshot in before.snapshots}
        every = [_snapshot(raw, known.get(raw["snapshot-id"])) for raw in body["metadata"]["snapshots"]]
        body["metadata"]["snapshots"] = every
        return CommitTableResponse.model_validate(body)
    return CommitTableResponse.model_validate_json(content)


def _snapshot(raw: dict[str, Any], known: Snapshot | None) -> dict[str, Any] | Snapshot:
    """A snapshot stays as it is for ever, but for a parent that expired."""
    same = known is not None and raw.get("parent-snapshot-id") == known.parent_snapshot_id
    return known if known is not None and same else raw


def _client_credentials(access: RestSettings, seconds: float) -> dict[str, Any]:
    if not access.token_url or not access.client_secret:
        return {}
    options = {
        "token_url": access.token_url,
        "client_id": access.client_id,
        "client_secret": access.client_secret.get_secret_value(),
        "scope": access.scope,
        "seconds": seconds,
        "ca": access.ca,
    }
    return {
        "auth": {
            "type": "custom",
            "impl": "frazil.tables.catalogs.rest.ClientCredentials",
            "custom": options,
        }
    }


def ask_environment_once(session: Session) -> None:
    """Looks once for each server which proxy and which authorities the environment names.

    requests looks at each request, which was an eighth of the CPU of asking for a thousand tables.
    """
    look = session.merge_environment_settings
    seen: dict[tuple[Any, ...], Mapping[str, Any]] = {}

    def looked(url: str, proxies: dict[str, str], stream: Any, verify: Any, cert: Any) -> dict[str, Any]:
        key = (*urlsplit(url)[:2], *sorted(proxies.items()), stream, verify, cert)
        if key not in seen:
            seen[key] = look(url, proxies, stream, verify, cert)
        return dict(seen[key])

    session.merge_environment_settings = looked  # type: ignore[assignment,method-assign]


class ClientCredentials(AuthManager):
    """The login as PyIceberg loads it by name, with the options of `frazil.settings.login.Login`.

    PyIceberg's own managers wait forever for a token endpoint, or take a new token only after a refusal.
    """

    def __init__(self, **options: Any) -> None:
        from frazil.settings.login import Login  # imports what only a login needs

        self._login = Login(**options)

    def auth_header(self) -> str:
        """The header's value."""
        return self._login.bearer()


def _with_certificate(access: RestSettings) -> HTTPAdapter:
    """Shows Frazil's own certificate. Raises ConfigureError where its key can't be used."""
    from frazil.settings.login import Tls

    assert access.certificate
    context = ssl.create_default_context(cafile=access.ca)
    try:
        # Without a password, OpenSSL would ask at the terminal.
        context.load_cert_chain(access.certificate, access.key, revealed(access.key_password) or "")
    except ssl.SSLError:
        raise ConfigureError(
            "The key of the certificate for the catalog can't be used.",
            where=str(access.key),
            meaning="Nothing was asked.",
            todo="Fix FRAZIL_REST__KEY_PASSWORD, or FRAZIL_REST__CERTIFICATE and FRAZIL_REST__KEY.",
        ) from None
    return Tls(context)
