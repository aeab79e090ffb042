"""duckdb below fakesnow: its extensions, its access to S3, and databases that survive a restart."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from frazil.local.snowflake.config import Config
from frazil.local.snowflake.dictionary import amend, amend_database
from frazil.quoting import double_quoted

__all__ = ["attach_databases", "drop_database", "open_fakesnow", "own_cursor"]

_EXTENSIONS = ("httpfs", "avro", "iceberg")  # in the order in which they need each other


def open_fakesnow(config: Config) -> Any:
    """Opens fakesnow with one database file for each Snowflake database, and access to S3."""
    import fakesnow.instance

    folder = config.state / "databases"
    folder.mkdir(parents=True, exist_ok=True)
    opened = fakesnow.instance.FakeSnow(
        create_database_on_connect=False, create_schema_on_connect=False, db_path=folder
    )
    with own_cursor(opened) as cursor:
        cursor.execute("SET extension_directory = ?", [str(config.state / "extensions")])
        _load_extensions(cursor)
        cursor.execute(_secret(config))
        amend(cursor)
    attach_databases(opened, folder)
    return opened


def attach_databases(fakesnow: Any, folder: Path) -> None:
    """Opens the databases that an earlier run left."""
    with own_cursor(fakesnow) as cursor:
        for path in sorted(folder.glob("*.db")):
            cursor.execute(f"ATTACH IF NOT EXISTS {_text(str(path))} AS {double_quoted(path.stem)}")
            amend_database(cursor, path.stem)


def drop_database(fakesnow: Any, name: str) -> bool:
    """Closes a database and deletes its file; answers False if there is none."""
    path = Path(fakesnow.db_path) / f"{name}.db"
    if not path.exists():
        return False
    with own_cursor(fakesnow) as cursor:
        cursor.execute(f"DETACH DATABASE IF EXISTS {double_quoted(name)}")
    path.unlink()
    path.with_name(f"{path.name}.wal").unlink(missing_ok=True)
    return True


@contextmanager
def own_cursor(fakesnow: Any) -> Iterator[Any]:
    """A cursor of our own, apart from those of sessions."""
    with closing(fakesnow.duck_conn.cursor()) as cursor:
        yield cursor


def _load_extensions(cursor: Any) -> None:
    for name in _EXTENSIONS:
        package = importlib.import_module(f"duckdb_extension_{name}")
        found = Path(str(package.__file__)).parent.glob(f"extensions/*/{name}.duckdb_extension")
        cursor.execute(f"INSTALL {_text(str(next(found)))}")
        cursor.execute(f"LOAD {name}")


def _secret(config: Config) -> str:
    endpoint = urlsplit(config.s3_endpoint)
    settings = {
        "TYPE": "s3",
        "KEY_ID": config.access_key.get_secret_value(),
        "SECRET": config.secret_key.get_secret_value(),
        "REGION": config.region,
        "ENDPOINT": endpoint.netloc,
        "URL_STYLE": "path",
    }
    listed = ", ".join(f"{name} {_text(value)}" for name, value in settings.items())
    return f"CREATE SECRET frazil_s3 ({listed}, USE_SSL {endpoint.scheme == 'https'})"


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
