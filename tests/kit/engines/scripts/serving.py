"""What each script does: a line of JSON says which table, a line of JSON says its rows, or the refusal."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Job = Mapping[str, Any]
"""`table`, `columns`, `snapshot` if it is not the newest, and where things are; see `kit.engines.engine`."""


@dataclass(frozen=True)
class Rows:
    """Rows whose values are JSON already, of the form that `values.py` gives those of Arrow."""

    columns: Sequence[str]
    values: Sequence[Sequence[Any]]


def serve(version: str, read: Callable[[Job], Any]) -> None:
    """Reads tables until no line comes any more; what an engine prints by itself goes to standard error."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        answers.write(json.dumps({"version": version, **_answer(read, json.loads(line))}) + "\n")
        answers.flush()


def _answer(read: Callable[[Job], Any], job: Job) -> dict[str, Any]:
    try:
        answer = read(job)
        rows = answer if isinstance(answer, Rows) else _of_arrow(answer)
    except KeyboardInterrupt:
        raise
    except BaseException as e:  # noqa: BLE001  # Rust's panics are no Exception
        return {"refused": f"{type(e).__name__}: {e}"}
    return {"columns": rows.columns, "rows": rows.values}


def _of_arrow(table: Any) -> Rows:
    from values import plain

    columns = [table.column(at) for at in range(table.num_columns)]
    values = [[plain(each[at]) for each in columns] for at in range(table.num_rows)]
    return Rows(list(table.column_names), values)


def selected(job: Job, quote: str = '"') -> str:
    """The columns as SQL names them."""
    return ", ".join(quote + name.replace(quote, quote * 2) + quote for name in job["columns"])


def static_table(job: Job) -> Any:
    """The table of some metadata, for engines that PyIceberg finds the files for."""
    from pyiceberg.table import StaticTable

    s3 = job["s3"]
    properties = {
        "s3.endpoint": s3["endpoint"],
        "s3.access-key-id": s3["key"],
        "s3.secret-access-key": s3["secret"],
        "s3.region": s3["region"],
        "s3.path-style-access": "true",
    }
    return StaticTable.from_metadata(job["metadata"], properties)
