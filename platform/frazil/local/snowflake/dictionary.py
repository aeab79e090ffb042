"""The data dictionary: INFORMATION_SCHEMA and SHOW list Iceberg tables as tables, though duckdb has views.

fakesnow's own lists are views that the ones below stand in front of.
"""

from __future__ import annotations

from contextlib import suppress
from string import Template
from typing import Any

import duckdb
from fakesnow import info_schema
from fakesnow.transforms import transforms

__all__ = ["ICEBERG_TABLE", "amend", "amend_database"]

ICEBERG_TABLE = "ICEBERG TABLE"
"""The comment by which duckdb knows a view that is one."""

_GLOBAL = "_fs_global._fs_information_schema"
_IS_ICEBERG = f"(database_name, schema_name, name) IN (SELECT * FROM {_GLOBAL}._iceberg)"

_SHOWN = f"""
CREATE VIEW {_GLOBAL}._iceberg AS
SELECT database_name, schema_name, view_name FROM duckdb_views() WHERE comment = '{ICEBERG_TABLE}';

ALTER VIEW {_GLOBAL}._fs_show_views RENAME TO _views;
CREATE VIEW {_GLOBAL}._fs_show_views AS SELECT * FROM {_GLOBAL}._views WHERE NOT {_IS_ICEBERG};

ALTER VIEW {_GLOBAL}._fs_show_objects RENAME TO _objects;
CREATE VIEW {_GLOBAL}._fs_show_objects AS SELECT * REPLACE (
    CASE WHEN {_IS_ICEBERG} THEN 'TABLE' ELSE kind END AS kind,
    CASE WHEN {_IS_ICEBERG} THEN 'Y' ELSE 'N' END AS is_iceberg
) FROM {_GLOBAL}._objects;

ALTER VIEW {_GLOBAL}._fs_show_tables RENAME TO _tables;
CREATE VIEW {_GLOBAL}._fs_show_tables AS
SELECT * FROM {_GLOBAL}._tables UNION ALL BY NAME
SELECT * FROM {_GLOBAL}._fs_show_objects WHERE is_iceberg = 'Y';
"""

_TABLES = Template("""
CREATE OR REPLACE VIEW ${catalog}._fs_information_schema._fs_tables AS
SELECT * FROM (${tables}) UNION ALL BY NAME
SELECT
    database_name AS "TABLE_CATALOG",
    schema_name AS "TABLE_SCHEMA",
    view_name AS "TABLE_NAME",
    'SYSADMIN' AS "TABLE_OWNER",
    CASE WHEN comment = 'ICEBERG TABLE' THEN 'BASE TABLE' ELSE 'VIEW' END AS "TABLE_TYPE",
    CASE WHEN comment = 'ICEBERG TABLE' THEN 'YES' ELSE 'NO' END AS "IS_ICEBERG"
FROM duckdb_views() WHERE database_name = '${catalog}' AND schema_name != '_fs_information_schema'
""")

_VIEWS = Template("""
CREATE OR REPLACE VIEW ${catalog}._fs_information_schema._fs_views AS
${views} AND comment IS DISTINCT FROM 'ICEBERG TABLE'
""")


def amend(cursor: Any) -> None:
    """Puts our lists in front of fakesnow's, in this process; those of a database are made with it."""
    cursor.execute(_SHOWN)
    describe = transforms.SQL_DESCRIBE_TABLE.template
    transforms.SQL_DESCRIBE_TABLE = Template(  # whatever the session's database is
        describe.replace("FROM _fs_information_schema", "FROM _fs_global._fs_information_schema")
    )
    tables = _body(info_schema.SQL_CREATE_INFORMATION_SCHEMA_TABLES_VIEW)
    views = _body(info_schema.SQL_CREATE_INFORMATION_SCHEMA_VIEWS_VIEW)
    info_schema.SQL_CREATE_INFORMATION_SCHEMA_TABLES_VIEW = Template(_TABLES.safe_substitute(tables=tables))
    info_schema.SQL_CREATE_INFORMATION_SCHEMA_VIEWS_VIEW = Template(_VIEWS.safe_substitute(views=views))


def amend_database(cursor: Any, name: str) -> None:
    """Puts our lists into a database that an earlier run made."""
    with suppress(duckdb.Error):  # a name that fakesnow writes without quotes, and did not take then either
        cursor.execute(info_schema.per_db_creation_sql(name))


def _body(view: Template) -> str:
    """What a view selects."""
    return view.template.partition(" AS\n")[2]
