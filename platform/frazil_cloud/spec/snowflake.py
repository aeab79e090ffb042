"""What a user says of a deployment's user, roles, warehouse, and of what shows its tables."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal, Self

from pydantic import Field, model_validator

from frazil.spec.values import Duration, Part


class RestCatalogPart(Part):
    """Another Iceberg REST catalog, which gives tokens (OAuth), such as Polaris."""

    uri: str = Field(pattern=r"^https?://", description="Where it is.")
    warehouse: str = Field(min_length=1, description="The warehouse, by the catalog's name.")
    namespace: str = Field(min_length=1, description="Namespace of the tables.")
    secret: str = Field(min_length=1, description="The secret with client_id and client_secret.")
    scopes: tuple[str, ...] = Field(("PRINCIPAL_ROLE:ALL",), description="Scopes that the client asks for.")


class SnowflakePart(Part):
    """User, roles, warehouse, database, and what shows the tables."""

    warehouse: str = Field("", description="Name of the warehouse. Default: `<NAME>_WAREHOUSE`.")
    size: Literal["XSMALL", "SMALL", "MEDIUM", "LARGE", "XLARGE"] = Field(
        "XSMALL", description="Size of the warehouse."
    )
    auto_suspend: Duration = Field(
        timedelta(seconds=60), description="Idle time after which the warehouse suspends itself."
    )
    catalog: Literal["glue", "glue_rest"] = Field("glue", description="How Snowflake finds the tables.")
    rest: RestCatalogPart | None = Field(None, description="Another catalog that Snowflake can read.")
    tables: tuple[str, ...] = Field((), description="Tables of Glue that Snowflake shows.")
    views: bool = Field(True, description="Whether each table has a view without metadata columns.")
    refresh: Duration = Field(
        timedelta(seconds=60), description="How often Snowflake looks for new snapshots: 30s to 1d."
    )

    @model_validator(mode="after")
    def _refreshes(self) -> Self:
        if not timedelta(seconds=30) <= self.refresh <= timedelta(days=1):
            raise ValueError("refresh is 30s to 1d (REFRESH_INTERVAL_SECONDS)")
        return self
