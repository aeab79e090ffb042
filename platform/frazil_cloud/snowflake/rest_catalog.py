"""A catalog integration with any Iceberg REST catalog that gives tokens (OAuth), such as Polaris."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from frazil.errors import MissingError
from frazil.publishing.snowflake.statements import text
from frazil.quoting import double_quoted
from frazil_cloud.resource import Facts, Known
from frazil_cloud.secrets import SecretStore
from frazil_cloud.snowflake.described import described
from frazil_cloud.snowflake.ownership import ACCOUNT, Marked
from frazil_cloud.snowflake.trust import in_use, proven, use, use_of


@dataclass(frozen=True)
class RestCatalog(Marked):
    """The integration.

    Args:
        uri: Where the catalog is.
        warehouse: Its name for the warehouse.
        namespace: The namespace of the tables.
        secret: Name of the secret with `client_id` and `client_secret`.
        scopes: What the client asks for.
        refresh: Seconds between two looks of Snowflake at the catalog.
    """

    uri: str = field(kw_only=True)
    warehouse: str = field(kw_only=True)
    namespace: str = field(kw_only=True)
    secret: str = field(kw_only=True)
    secrets: SecretStore = field(kw_only=True, repr=False)
    scopes: tuple[str, ...] = field(kw_only=True)
    refresh: int = field(kw_only=True)

    kind: ClassVar[str] = "CATALOG INTEGRATION"
    role: ClassVar[str] = ACCOUNT
    fixed: ClassVar[frozenset[str]] = frozenset({"source", "namespace", "uri", "warehouse", "scopes"})

    def wanted(self, known: Known) -> Facts:
        """See `Resource`."""
        place = {"uri": self.uri, "warehouse": self.warehouse, "namespace": self.namespace}
        source = {"source": "ICEBERG_REST", **place, "scopes": sorted(self.scopes)}
        return {**super().wanted(known), **source, **in_use(self.refresh)}

    def facts(self, row: dict[str, Any]) -> Facts:
        """See `Marked`."""
        description = described(str(self), self.snowflake.shown(f"DESC {self}", role=ACCOUNT))
        return {
            "source": description.text("CATALOG_SOURCE"),
            "namespace": description.text("CATALOG_NAMESPACE"),
            "uri": description.text("REST_CONFIG", "CATALOG_URI"),
            "warehouse": description.text("REST_CONFIG", "CATALOG_NAME"),
            "scopes": sorted(description.texts("REST_AUTHENTICATION", "OAUTH_ALLOWED_SCOPES")),
            **use_of(description),
        }

    def update(self, there: Facts, known: Known) -> None:
        """See `Resource`: everything else is fixed."""
        self.say(f"ALTER {self} SET {use(self.refresh)}")

    def options(self, known: Known) -> str:
        """See `Marked`."""
        client = self.secrets.get(self.secret)
        if client is None:
            raise MissingError("There is no secret with the catalog's client.", where=self.secret)
        scopes = ", ".join(text(scope) for scope in self.scopes)
        return (
            f"{double_quoted(*self.name)} CATALOG_SOURCE = ICEBERG_REST TABLE_FORMAT = ICEBERG "
            f"CATALOG_NAMESPACE = {text(self.namespace)} "
            f"REST_CONFIG = (CATALOG_URI = {text(self.uri)} CATALOG_NAME = {text(self.warehouse)}) "
            f"REST_AUTHENTICATION = (TYPE = OAUTH OAUTH_CLIENT_ID = {text(client['client_id'])} "
            f"OAUTH_CLIENT_SECRET = {text(client['client_secret'])} OAUTH_ALLOWED_SCOPES = ({scopes})) "
            f"{use(self.refresh)} {self.comment}"
        )

    def verify(self, there: Facts, known: Known) -> None:
        """Lets Snowflake talk to the catalog."""
        proven(self)
