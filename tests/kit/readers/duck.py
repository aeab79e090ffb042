"""DuckDB as an independent reader of Iceberg."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import duckdb

from frazil.settings.profile import Settings


def extensions(duck: duckdb.DuckDBPyConnection, *names: str) -> None:
    """Loads extensions from their wheels."""
    for name in names:
        spec = find_spec(f"duckdb_extension_{name}")
        assert spec
        assert spec.origin
        extension = next((Path(spec.origin).parent / "extensions").rglob("*.duckdb_extension"))
        duck.execute(f"INSTALL '{extension}'; LOAD {name}")


@contextmanager
def duckdb_on(settings: Settings) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that reads the stack's S3."""
    assert settings.s3.endpoint
    assert settings.aws.access_key
    assert settings.aws.secret_key
    with duckdb.connect() as duck:
        extensions(duck, "httpfs", "avro", "iceberg")
        duck.execute(
            f"CREATE SECRET (TYPE s3, KEY_ID '{settings.aws.access_key.get_secret_value()}', "
            f"SECRET '{settings.aws.secret_key.get_secret_value()}', REGION '{settings.aws.region}', "
            f"ENDPOINT '{settings.s3.endpoint.removeprefix('http://')}', URL_STYLE 'path', USE_SSL false)"
        )
        duck.execute("SET TimeZone = 'UTC'")
        yield duck
