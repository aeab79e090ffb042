"""Polars: its own reader of the files, which PyIceberg finds; it reads what that can't."""

from __future__ import annotations

from typing import Any

import polars
from serving import Job, serve, static_table


def read(job: Job) -> Any:
    s3 = job["s3"]
    storage = {
        "aws_access_key_id": s3["key"],
        "aws_secret_access_key": s3["secret"],
        "aws_region": s3["region"],
        "aws_endpoint_url": s3["endpoint"],
        "aws_allow_http": "true",
    }
    frame = polars.scan_iceberg(static_table(job), snapshot_id=job["snapshot"], storage_options=storage)
    return frame.select(job["columns"]).collect().to_arrow()


if __name__ == "__main__":
    serve(polars.__version__, read)
