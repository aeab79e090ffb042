"""Daft: its own reader of the files; PyIceberg finds them."""

from __future__ import annotations

from typing import Any

import daft
from daft.io import IOConfig, S3Config
from serving import Job, serve, static_table


def read(job: Job) -> Any:
    s3 = job["s3"]
    place = S3Config(
        endpoint_url=s3["endpoint"],
        key_id=s3["key"],
        access_key=s3["secret"],
        region_name=s3["region"],
        use_ssl=False,
        force_virtual_addressing=False,
    )
    frame = daft.read_iceberg(static_table(job), snapshot_id=job["snapshot"], io_config=IOConfig(s3=place))
    return frame.select(*(daft.col(name) for name in job["columns"])).to_arrow()


if __name__ == "__main__":
    serve(daft.__version__, read)
