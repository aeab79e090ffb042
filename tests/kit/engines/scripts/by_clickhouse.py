"""ClickHouse, within this process: by the table's folder, and the metadata in it."""

from __future__ import annotations

from typing import Any

import chdb
import pyarrow as pa
from serving import Job, selected, serve


def read(job: Job) -> Any:
    s3, (folder, _, name) = job["s3"], job["metadata"].removeprefix("s3://").rpartition("/metadata/")
    place = f"'{s3['endpoint']}/{folder}/', '{s3['key']}', '{s3['secret']}'"
    source = f"icebergS3({place}, SETTINGS iceberg_metadata_file_path = 'metadata/{name}')"
    setting = "output_format_arrow_string_as_string = 0"  # its texts may be any bytes
    at = f" SETTINGS {setting}" + (f", iceberg_snapshot_id = {job['snapshot']}" if job["snapshot"] else "")
    rows = chdb.query(f"SELECT {selected(job)} FROM {source}{at}", "Arrow")
    return pa.ipc.open_file(pa.BufferReader(rows.bytes())).read_all()


if __name__ == "__main__":
    serve(chdb.engine_version, read)
