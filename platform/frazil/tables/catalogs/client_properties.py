"""One setting, two clients: the catalog's properties as PyIceberg and as Spark name them.

PyIceberg's names: `pyiceberg.io`, `pyiceberg.catalog.rest`. Java's: `AwsProperties`, `S3FileIOProperties`.
"""

from __future__ import annotations

from frazil.settings.files import file_text
from frazil.settings.profile import Settings
from frazil.settings.secret import revealed
from frazil.settings.systems.aws import S3Settings
from frazil.settings.systems.rest import RestSettings
from frazil.tables.catalogs.file_io import S3_CA
from frazil.tables.catalogs.pyiceberg import OWN_CODE

CONNECT_SECONDS, READ_SECONDS = 5.0, 60.0
"""How long a client of a catalog or of storage waits for a connection, and for an answer."""

_DELEGATION = "header.X-Iceberg-Access-Delegation"

Properties = dict[str, str | None]
"""None: the client's own default."""

_VIEWS: Properties = {"view-endpoints-supported": "true"}
"""Only so PyIceberg asks for views where a catalog does not say what it knows; Spark would at each table."""


def pyiceberg_properties(settings: Settings) -> dict[str, str]:
    """The owning catalog for PyIceberg, but for the identity: that is a session, see `open_catalog`."""
    both, own, _ = _CATALOGS[settings.catalog](settings)
    storage = {
        **OWN_CODE,
        "s3.region": settings.aws.region,
        "s3.connect-timeout": str(CONNECT_SECONDS),
        "s3.request-timeout": str(READ_SECONDS),
        S3_CA: _authority(settings.s3),
    }
    return _present({**both, **own, **_storage(settings), **storage})


def spark_properties(settings: Settings) -> dict[str, str]:
    """The owning catalog for Spark, without the `spark.sql.catalog.<name>.` in front."""
    both, _, own = _CATALOGS[settings.catalog](settings)
    storage = {
        "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        # Others commit to the same tables: a cached table would plan on an old head.
        "cache-enabled": "false",
    }
    return _present({**both, **own, **_storage(settings), **storage, **_spark_identity(settings)})


def _spark_identity(settings: Settings) -> Properties:
    """Who opens S3 for Spark, and Glue where it is a role; Iceberg renews the keys of that role itself.

    Profiles and tokens of a web identity are files: Spark's machines have their own, in AWS' own chain.
    """
    aws = settings.aws
    if _vends(settings) or aws.web_identity_token_file:
        return {}
    if aws.role_arn:
        return {
            "client.factory": "org.apache.iceberg.aws.AssumeRoleAwsClientFactory",
            "client.assume-role.arn": aws.role_arn,
            "client.assume-role.region": aws.region,
            "client.assume-role.external-id": revealed(aws.external_id),
            "client.assume-role.session-name": aws.session_name,
        }
    return _keys(settings, "s3")


def _keys(settings: Settings, client: str) -> Properties:
    """The keys that are set, as one of Java's clients names them."""
    return {
        f"{client}.access-key-id": revealed(settings.aws.access_key),
        f"{client}.secret-access-key": revealed(settings.aws.secret_key),
        f"{client}.session-token": revealed(settings.aws.session_token),
    }


def _vends(settings: Settings) -> bool:
    return settings.catalog == "rest" and settings.rest.vended_credentials


def _rest(settings: Settings) -> tuple[Properties, Properties, Properties]:
    rest = settings.rest
    both: Properties = {
        "type": "rest",
        "uri": rest.uri,
        "warehouse": rest.warehouse,
        "prefix": rest.prefix,
        _DELEGATION: "vended-credentials" if rest.vended_credentials else None,
    }
    spark: Properties = {
        "rest.client.connection-timeout-ms": f"{1000 * CONNECT_SECONDS:.0f}",
        "rest.client.socket-timeout-ms": f"{1000 * READ_SECONDS:.0f}",
    }
    if rest.by_token:
        return both | {"token": revealed(rest.token)}, _VIEWS, spark | _client_credentials(rest)
    if rest.is_signed:
        both |= {
            "rest.sigv4-enabled": "true",
            "rest.signing-name": rest.signing_name,
            "rest.signing-region": settings.aws.region,
        }
    pyiceberg: Properties = {
        **_VIEWS,
        "rest.sigv4.max-retries": "0",
    }  # a replayed commit looks like a refusal
    # Iceberg's signer takes on no role: there Spark's machines must have it themselves.
    return both, pyiceberg, spark | ({} if settings.aws.role_arn else _keys(settings, "rest"))


def _client_credentials(access: RestSettings) -> Properties:
    """OAuth as Spark is told of it; PyIceberg gets an object, see `open_catalog`."""
    if not access.token_url:
        return {}
    return {
        "oauth2-server-uri": access.token_url,
        "credential": f"{access.client_id}:{revealed(access.client_secret)}",
        "scope": access.scope,
    }


def _glue(settings: Settings) -> tuple[Properties, Properties, Properties]:
    both: Properties = {
        "type": "glue",
        "warehouse": settings.glue.warehouse,
        "glue.endpoint": settings.glue_endpoint,
        "glue.id": settings.glue.catalog_id,
    }
    # Spark's Glue client takes keys from no setting, only a role: else its machines must have an identity.
    return both, {"glue.region": settings.aws.region}, {"glue.skip-archive": "true"}


_CATALOGS = {"rest": _rest, "glue": _glue}
"""By the setting `catalog`: what both clients are told of it, PyIceberg alone, and Spark alone."""


def _storage(settings: Settings) -> Properties:
    return {
        "client.region": settings.aws.region,
        "s3.endpoint": settings.s3_endpoint,
        "s3.path-style-access": "true" if settings.s3_endpoint else None,
        "s3.sse.type": "kms" if settings.s3.kms_key else None,
        "s3.sse.key": settings.s3.kms_key,
    }


def _authority(s3: S3Settings) -> str | None:
    """The text of its file; Java's clients have no property for it, only the trust store of their machine."""
    todo = "Fix FRAZIL_S3__CA."
    return file_text(s3.ca, "The certificate of S3's authority", "PEM", todo) if s3.ca else None


def _present(properties: Properties) -> dict[str, str]:
    return {name: value for name, value in properties.items() if value is not None}
