"""Spark: by the REST catalog, through a Connect server."""

from __future__ import annotations

from typing import Any

from serving import Job, selected, serve

from frazil.settings.profile import Settings
from frazil.tables.spark.session import open_spark


def _read() -> tuple[str, Any]:
    spark = open_spark(Settings.load())

    def read(job: Job) -> Any:
        at = f" VERSION AS OF {job['snapshot']}" if job["snapshot"] else ""
        name = ".".join(f"`{part}`" for part in ("frazil", *job["table"].split(".")))
        # `toArrow` ends with a cast that Arrow refuses where a struct that is null has fields that can't be:
        # https://github.com/apache/arrow/issues/37072
        return spark.sql(f"SELECT {selected(job, '`')} FROM {name}{at}")._to_table()[0]

    return spark.version, read


if __name__ == "__main__":
    serve(*_read())
