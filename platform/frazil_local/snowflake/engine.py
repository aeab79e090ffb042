"""fakesnow and duckdb below it: extensions, access to S3, databases that survive a restart, and MERGE.

INFORMATION_SCHEMA and SHOW list Iceberg tables as tables, though duckdb has views: fakesnow's own lists are
views that ours stand in front of.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path
from string import Template
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from fakesnow import arrow, info_schema
from fakesnow.converter import from_binding
from fakesnow.instance import FakeSnow
from fakesnow.transforms import transforms
from snowflake.connector.errors import ProgrammingError
from sqlglot import exp, parse_one

from frazil.quoting import double_quoted
from frazil_local.snowflake.answers import Refused, Result
from frazil_local.snowflake.config import Config

_COUNTED = {"INSERT": "inserted", "UPDATE": "updated", "DELETE": "deleted"}
_EXTENSIONS = ("httpfs", "avro", "iceberg")  # in the order in which they need each other

ICEBERG_TABLE = "ICEBERG TABLE"
"""The comment by which duckdb knows a view that is one."""

_LISTS = "_fs_global._fs_information_schema"

_fakesnows_times = arrow.timestamp_to_sf_struct


def open_fakesnow(config: Config) -> Any:
    """Opens fakesnow with one database file for each Snowflake database."""
    folder = config.state / "databases"
    folder.mkdir(parents=True, exist_ok=True)
    opened = FakeSnow(create_database_on_connect=False, create_schema_on_connect=False, db_path=folder)
    with own_cursor(opened) as cursor:
        cursor.execute("SET extension_directory = ?", [str(config.state / "extensions")])
        # A table that was dropped and made again has other metadata at the same path.
        cursor.execute("SET GLOBAL enable_external_file_cache = false")
        _load_extensions(cursor)
        if config.s3_ca:
            cursor.execute(f"SET GLOBAL ca_cert_file = {text(str(config.s3_ca))}")
        _amend(cursor)
        for path in sorted(folder.glob("*.db")):  # what an earlier run left
            cursor.execute(f"ATTACH IF NOT EXISTS {text(str(path))} AS {double_quoted(path.stem)}")
            _amend_database(cursor, path.stem)
    return opened


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


def own_cursor(fakesnow: Any) -> closing[Any]:
    """A cursor of our own, apart from those of sessions."""
    return closing(fakesnow.duck_conn.cursor())


def _load_extensions(cursor: Any) -> None:
    for name in _EXTENSIONS:
        package = importlib.import_module(f"duckdb_extension_{name}")
        files = Path(str(package.__file__)).parent.glob(f"extensions/*/{name}.duckdb_extension")
        cursor.execute(f"INSTALL {text(str(next(files)))}")
        cursor.execute(f"LOAD {name}")


def _amend(cursor: Any) -> None:
    """Puts our lists in front of fakesnow's, in this process; those of a database are made with it."""
    cursor.execute(_sql("lists", lists=_LISTS).template)
    describe = transforms.SQL_DESCRIBE_TABLE.template
    transforms.SQL_DESCRIBE_TABLE = Template(  # whatever the session's database is
        describe.replace("FROM _fs_information_schema", f"FROM {_LISTS}")
    )
    tables = _body(info_schema.SQL_CREATE_INFORMATION_SCHEMA_TABLES_VIEW)
    views = _body(info_schema.SQL_CREATE_INFORMATION_SCHEMA_VIEWS_VIEW)
    info_schema.SQL_CREATE_INFORMATION_SCHEMA_TABLES_VIEW = _sql("tables", tables=tables)
    info_schema.SQL_CREATE_INFORMATION_SCHEMA_VIEWS_VIEW = _sql("views", views=views)
    info_schema.insert_table_comment_sql = _noting_comment
    arrow.timestamp_to_sf_struct = _times


def _noting_comment(catalog: str, schema: str, table: str, comment: str | None) -> str:
    """As fakesnow's, which takes no quotes in a comment, and calls one that is not there None."""
    values = ", ".join(map(text, (catalog, schema, table, comment or "")))
    return f"INSERT OR REPLACE INTO {_LISTS}._fs_tables_ext VALUES ({values})"


def _times(ts: pa.ChunkedArray) -> pa.Array:
    """As fakesnow's, which makes 1970-01-01 of null."""
    made = _fakesnows_times(ts)
    parts = [pc.fill_null(part, 0) for part in made.flatten()]
    return pa.StructArray.from_arrays(parts, fields=list(made.type), mask=ts.combine_chunks().is_null())


def _sql(name: str, **parts: str) -> Template:
    """One of our views, from the folder `sql` beside this module; a database's leaves the catalog open."""
    text = (Path(__file__).parent / "sql" / f"{name}.sql").read_text(encoding="utf-8")
    return Template(Template(text).safe_substitute(parts))


def _amend_database(cursor: Any, name: str) -> None:
    """Puts our lists into a database that an earlier run made."""
    with suppress(duckdb.Error):  # a name that fakesnow writes without quotes, and did not take then either
        cursor.execute(info_schema.per_db_creation_sql(name))


def _body(view: Template) -> str:
    """What a view selects."""
    return view.template.partition(" AS\n")[2]


def text(value: str) -> str:
    """A constant, for duckdb."""
    return "'" + value.replace("'", "''") + "'"


def merged(connection: Any, body: Mapping[str, Any]) -> Result:
    """Carries out a request's MERGE, by duckdb itself; refuses what it does not take.

    fakesnow makes a table of candidates first, which fails in a transaction and without a current database.
    """
    bindings = body.get("bindings") or {}
    values = [from_binding(bindings[str(place)]) for place in range(1, len(bindings) + 1)]
    cursor = connection.cursor()
    statement = parse_one(body["sqlText"], read="snowflake")
    try:
        cursor.check_db_and_schema(statement)
        cursor._execute(_for_duckdb(cursor._transform(statement, values or None)), values or None)
    except ProgrammingError as e:
        raise Refused(e.errno or 1, e.sqlstate or "42000", str(e.msg)) from None
    except duckdb.Error as e:
        raise Refused(1, "XX000", str(e)) from None
    done = cursor._arrow_table.column("merge_action").to_pylist()
    clauses = {_action(when.args["then"]) for when in statement.find_all(exp.When)}
    counts = {f"number of rows {word}": done.count(a) for a, word in _COUNTED.items() if a in clauses}
    return Result(tuple(counts), (tuple(map(str, counts.values())),), counts=True)


def _for_duckdb(statement: Any) -> Any:
    """For duckdb: it refuses a table's name before a column that is set, and returns each row's action."""
    for update in statement.find_all(exp.Update):
        for assigned in update.expressions:
            assigned.this.set("table", None)
    statement.set("returning", exp.Returning(expressions=[exp.column("merge_action")]))
    return statement


def _action(then: Any) -> str:
    return str(then.key if isinstance(then, exp.Insert | exp.Update) else then.name).upper()
