"""One setting, two clients: the catalog's properties as PyIceberg and as Spark name them."""

from __future__ import annotations

from frazil.settings.profile import Settings
from frazil.settings.rest import RestSettings
from frazil.settings.secret import revealed

SPARK_CATALOG = "frazil"
"""Name under which Spark sessions know the catalog."""

Properties = dict[str, str | None]
"""None: the client's own default."""


def pyiceberg_properties(settings: Settings) -> dict[str, str]:
    """The owning catalog for `pyiceberg.catalog.load_catalog`."""
    both, own, _ = _CATALOGS[settings.catalog](settings)
    storage = {
        "client.access-key-id": revealed(settings.aws.access_key),
        "client.secret-access-key": revealed(settings.aws.secret_key),
        "s3.region": settings.aws.region,
        "s3.access-key-id": revealed(settings.aws.access_key),
        "s3.secret-access-key": revealed(settings.aws.secret_key),
        "s3.connect-timeout": "5",
        "s3.request-timeout": "60",
        "py-io-impl": "frazil.tables.file_io.LateFileIO",
    }
    return _present({**both, **own, **_storage(settings), **storage})


def spark_properties(settings: Settings) -> dict[str, str]:
    """The owning catalog for Spark, without the `spark.sql.catalog.<name>.` in front."""
    both, _, own = _CATALOGS[settings.catalog](settings)
    storage = {
        "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        "s3.access-key-id": revealed(settings.aws.access_key),
        "s3.secret-access-key": revealed(settings.aws.secret_key),
        # Others commit to the same tables: a cached table would plan on an old head.
        "cache-enabled": "false",
    }
    return _present({**both, **own, **_storage(settings), **storage})


def _rest(settings: Settings) -> tuple[Properties, Properties, Properties]:
    both: Properties = {"type": "rest", "uri": settings.rest.uri, "warehouse": settings.rest.warehouse}
    spark: Properties = {
        "rest.client.connection-timeout-ms": "5000",
        "rest.client.socket-timeout-ms": "60000",
    }
    if settings.rest.by_token:
        return both | {"token": revealed(settings.rest.token)}, {}, spark | _client_credentials(settings.rest)
    if settings.rest.signing_name:
        both |= {
            "rest.sigv4-enabled": "true",
            "rest.signing-name": settings.rest.signing_name,
            "rest.signing-region": settings.aws.region,
        }
    pyiceberg: Properties = {"rest.sigv4.max-retries": "0"}  # a replayed commit would look like a refusal
    spark |= {
        "rest.access-key-id": revealed(settings.aws.access_key),
        "rest.secret-access-key": revealed(settings.aws.secret_key),
    }
    return both, pyiceberg, spark


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
        "glue.endpoint": settings.glue.endpoint,
    }
    # Spark's Glue client takes credentials and region from the server's environment only.
    return both, {"glue.region": settings.aws.region}, {"glue.skip-archive": "true"}


_CATALOGS = {"rest": _rest, "glue": _glue}
"""By the setting `catalog`: what both clients are told of it, PyIceberg alone, and Spark alone."""


def _storage(settings: Settings) -> Properties:
    return {
        "client.region": settings.aws.region,
        "s3.endpoint": settings.s3.endpoint,
        "s3.path-style-access": "true" if settings.s3.endpoint else None,
    }


def _present(properties: Properties) -> dict[str, str]:
    return {name: value for name, value in properties.items() if value is not None}
