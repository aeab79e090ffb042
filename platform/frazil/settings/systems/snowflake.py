"""Where Snowflake is, who Frazil is there, and the names of what it makes there."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from frazil.settings.files import File
from frazil.settings.secret import Secret
from frazil.settings.systems.system import SystemSettings


class SnowflakeSettings(SystemSettings):
    """`FRAZIL_SNOWFLAKE__...`."""

    account: str | None = Field(None, description="Account identifier.")
    host: str | None = Field(
        None, description="Host, for private links. Default: `<account>.snowflakecomputing.com`."
    )
    port: int = Field(443, description="Port. Only the stand-in has another one.")
    protocol: Literal["http", "https"] = Field(
        "https", description="Protocol. Only the stand-in speaks http."
    )
    user: str = Field("FRAZIL", description="The user, who logs in with a key pair or a token.")
    private_key_path: File | None = Field(None, description="File with the user's private key, PEM (PKCS8).")
    private_key: Secret | None = Field(
        None,
        description="In place of the file: the text of the key, or its base64.",
    )
    private_key_passphrase: Secret | None = Field(None, description="Passphrase, if that key is encrypted.")
    token: Secret | None = Field(None, description="An access token of OAuth, in place of a key.")
    login_role: str | None = Field(
        None, description="The role that Frazil works in. Default: the user's own."
    )
    role: str | None = Field(None, description="The role that Frazil lets read the tables.")
    warehouse: str | None = Field(None, description="The warehouse for the queries of checks.")
    database: str = Field("FRAZIL", description="The database of tables and views.")
    linked_database: str | None = Field(
        None,
        description="A catalog-linked database, in which Snowflake finds the tables by itself; `database` "
        "then has the views only. Default: Frazil makes each table in `database`.",
    )
    external_volume: str | None = Field(
        None,
        description="The external volume. Default: FRAZIL_VOLUME, or FRAZIL_GLUE_VOLUME if Glue owns "
        "the tables.",
    )
    catalog_integration: str = Field("FRAZIL_GLUE", description="The integration with Glue.")
    tag_schema: str | None = Field(
        None,
        pattern=r"^[A-Za-z_][A-Za-z0-9_$]*\.[A-Za-z_][A-Za-z0-9_$]*$",
        description="DATABASE.SCHEMA of the tags that tables get by `tags` of their specs. Default: they get "
        "none.",
    )
    storage_base_url: str | None = Field(
        None, description="What the volume may read. Default: the warehouse of the owning catalog."
    )
    aws_role_arn: str | None = Field(None, description="The role by which Snowflake reads S3 and Glue.")
    admin_secret: str | None = Field(
        None,
        description="The secret with the user who makes deployments. Default: the user named here.",
    )
