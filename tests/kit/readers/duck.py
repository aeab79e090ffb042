"""DuckDB as an independent reader of Iceberg."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import duckdb

from frazil.settings.profile import Settings


@contextmanager
def duckdb_with(*names: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection with extensions from their wheels.

    These are locked, and taken as they are: their signatures took half a second of CPU each time.
    """
    with duckdb.connect(config={"allow_unsigned_extensions": "true"}) as duck:
        _load(duck, names)
        yield duck


def _load(duck: duckdb.DuckDBPyConnection, names: Iterable[str]) -> None:
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
    with duckdb_with("httpfs", "avro", "iceberg") as duck:
        duck.execute(
            f"CREATE SECRET (TYPE s3, KEY_ID '{settings.aws.access_key.get_secret_value()}', "
            f"SECRET '{settings.aws.secret_key.get_secret_value()}', REGION '{settings.aws.region}', "
            f"ENDPOINT '{settings.s3.endpoint.removeprefix('http://')}', URL_STYLE 'path', USE_SSL false)"
        )
        duck.execute("SET TimeZone = 'UTC'")
        yield duck
