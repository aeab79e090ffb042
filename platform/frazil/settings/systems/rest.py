"""How a REST catalog is reached."""

from __future__ import annotations

from pydantic import Field

from frazil.settings.secret import Secret
from frazil.settings.systems.system import AccessSettings, Url


class RestSettings(AccessSettings):
    """`FRAZIL_REST__...`.

    Certificates are for Frazil's own client: those of Spark are in its Java's trust store.
    """

    uri: Url = Field("http://127.0.0.1:8181", description="The REST catalog.")
    warehouse: str = Field("warehouse", description="The warehouse, by the catalog's name.")
    signing_name: str | None = Field(
        "s3tables", description="SigV4 service; if empty, or with a token, requests are not signed."
    )
    token: Secret | None = Field(None, description="A bearer token.")

    prefix: str | None = Field(
        None, description="The part after v1 in its paths. Default: as the catalog says."
    )
    vended_credentials: bool = Field(
        False, description="Open S3 with keys that the catalog hands out, not with those of AWS."
    )

    trino_catalog: str | None = Field(
        None,
        description="What Trino calls this catalog: views have its SQL, too, then. Default: Spark's alone.",
    )

    @property
    def by_token(self) -> bool:
        """Whether requests bear a token, and are not signed."""
        return bool(self.token or self.token_url)

    @property
    def is_signed(self) -> bool:
        """Whether the identity at AWS signs requests."""
        return bool(self.signing_name) and not self.by_token
