"""PyIceberg: by the table's metadata."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from serving import Job, serve, static_table


def read(job: Job) -> Any:
    scan = static_table(job).scan(selected_fields=tuple(job["columns"]), snapshot_id=job["snapshot"])
    return scan.to_arrow().select(job["columns"])


if __name__ == "__main__":
    serve(version("pyiceberg"), read)
