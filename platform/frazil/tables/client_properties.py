"""One setting, two clients: the catalog's properties as PyIceberg and as Spark name them."""

from __future__ import annotations

from pydantic import SecretStr

from frazil.settings import Settings

__all__ = ["SPARK_CATALOG", "pyiceberg_properties", "spark_properties"]

SPARK_CATALOG = "frazil"
"""Name under which Spark sessions know the catalog."""


def pyiceberg_properties(settings: Settings) -> dict[str, str]:
    """The owning catalog for `pyiceberg.catalog.load_catalog`."""
    own, _ = _CATALOGS[settings.catalog]
    return _present({**own(settings), **_pyiceberg_storage(settings)})


def spark_properties(settings: Settings) -> dict[str, str]:
    """The owning catalog for Spark, without the `spark.sql.catalog.<name>.` in front."""
    _, own = _CATALOGS[settings.catalog]
    return _present({**own(settings), **_spark_storage(settings)})


def _pyiceberg_rest(settings: Settings) -> dict[str, str | None]:
    return {
        "type": "rest",
        "uri": settings.rest_uri,
        "warehouse": settings.warehouse,
        "rest.sigv4.max-retries": "0",  # a replayed commit would look like a refusal
        **_signing(settings),
    }


def _signing(settings: Settings) -> dict[str, str | None]:
    if not settings.rest_signing_name:
        return {}
    return {
        "rest.sigv4-enabled": "true",
        "rest.signing-name": settings.rest_signing_name,
        "rest.signing-region": settings.s3_region,
    }


def _pyiceberg_glue(settings: Settings) -> dict[str, str | None]:
    return {
        "type": "glue",
        "warehouse": settings.glue_warehouse,
        "glue.endpoint": settings.glue_endpoint,
        "glue.region": settings.s3_region,
    }


def _spark_rest(settings: Settings) -> dict[str, str | None]:
    return {
        "type": "rest",
        "uri": settings.rest_uri,
        "warehouse": settings.warehouse,
        "rest.access-key-id": _text(settings.s3_access_key),
        "rest.secret-access-key": _text(settings.s3_secret_key),
        "rest.client.connection-timeout-ms": "5000",
        "rest.client.socket-timeout-ms": "60000",
        **_signing(settings),
    }


def _spark_glue(settings: Settings) -> dict[str, str | None]:
    # Its Glue client takes credentials and region from the server's environment only.
    return {
        "type": "glue",
        "warehouse": settings.glue_warehouse,
        "glue.endpoint": settings.glue_endpoint,
        "glue.skip-archive": "true",
    }


_CATALOGS = {"rest": (_pyiceberg_rest, _spark_rest), "glue": (_pyiceberg_glue, _spark_glue)}
"""By the setting `catalog`: what PyIceberg is told of it, and what Spark is."""


def _pyiceberg_storage(settings: Settings) -> dict[str, str | None]:
    return {
        "client.region": settings.s3_region,
        "client.access-key-id": _text(settings.s3_access_key),
        "client.secret-access-key": _text(settings.s3_secret_key),
        "s3.endpoint": settings.s3_endpoint,
        "s3.region": settings.s3_region,
        "s3.path-style-access": "true" if settings.s3_endpoint else None,
        "s3.access-key-id": _text(settings.s3_access_key),
        "s3.secret-access-key": _text(settings.s3_secret_key),
        "s3.connect-timeout": "5",
        "s3.request-timeout": "60",
    }


def _spark_storage(settings: Settings) -> dict[str, str | None]:
    return {
        "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        "client.region": settings.s3_region,
        "s3.endpoint": settings.s3_endpoint,
        "s3.path-style-access": "true" if settings.s3_endpoint else None,
        "s3.access-key-id": _text(settings.s3_access_key),
        "s3.secret-access-key": _text(settings.s3_secret_key),
        # Others commit to the same tables: a cached table would plan on an old head.
        "cache-enabled": "false",
    }


def _text(secret: SecretStr | None) -> str | None:
    return secret.get_secret_value() if secret else None


def _present(properties: dict[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in properties.items() if value is not None}
