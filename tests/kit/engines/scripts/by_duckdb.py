"""DuckDB: by the table's metadata."""

from __future__ import annotations

from typing import Any

import duckdb
from serving import Job, selected, serve

from kit.readers.duck import duckdb_with


def read(job: Job) -> Any:
    s3 = job["s3"]
    at = f", snapshot_from_id => {job['snapshot']}" if job["snapshot"] else ""
    with duckdb_with("httpfs", "avro", "iceberg") as duck:  # an internal error ends a database
        duck.execute("SET TimeZone = 'UTC'")
        duck.execute(
            f"CREATE SECRET (TYPE s3, KEY_ID '{s3['key']}', SECRET '{s3['secret']}', "
            f"REGION '{s3['region']}', ENDPOINT '{s3['endpoint'].removeprefix('http://')}', "
            "URL_STYLE 'path', USE_SSL false)"
        )
        return duck.sql(f"SELECT {selected(job)} FROM iceberg_scan('{job['metadata']}'{at})").to_arrow_table()


if __name__ == "__main__":
    serve(duckdb.__version__, read)
