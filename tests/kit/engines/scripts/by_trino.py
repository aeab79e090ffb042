"""Trino: by the REST catalog, through https://trino.io/docs/current/develop/client-protocol.html."""

from __future__ import annotations

import base64
import json
import re
import struct
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from serving import Job, Rows, selected, serve

_HEADERS = {
    "X-Trino-User": "frazil",
    "X-Trino-Catalog": "lake",
    "X-Trino-Time-Zone": "UTC",
    "X-Trino-Client-Capabilities": "PARAMETRIC_DATETIME",  # else moments are rounded to milliseconds
}
_MOMENT = re.compile(r"([+-]?\d+)-(\d\d)-(\d\d)(?: (\d\d):(\d\d):(\d\d)\.(\d{6}))?(?: UTC)?")
_SECONDS = 60


def read(job: Job) -> Rows:
    at = f" FOR VERSION AS OF {job['snapshot']}" if job["snapshot"] else ""
    table = ".".join(f'"{part}"' for part in job["table"].split("."))
    columns, rows = [], []
    for answer in _answers(job["address"], f"SELECT {selected(job)} FROM {table}{at}"):
        columns = answer.get("columns") or columns
        rows += answer.get("data") or ()
    kinds = [column["typeSignature"] for column in columns]
    values = [[_value(each, kind) for each, kind in zip(row, kinds, strict=True)] for row in rows]
    return Rows([column["name"] for column in columns], values)


def _answers(address: str, query: str) -> Iterator[Mapping[str, Any]]:
    """The pages of a query's result, the last one first asked for by the one before."""
    answer = _ask(f"{address}/v1/statement", query.encode())
    while True:
        if error := answer.get("error"):
            raise RuntimeError(error["message"])
        yield answer
        if not (follows := answer.get("nextUri")):
            return
        answer = _ask(follows)


def _ask(url: str, body: bytes | None = None) -> Any:
    with urllib.request.urlopen(urllib.request.Request(url, body, _HEADERS), timeout=_SECONDS) as answer:
        return json.load(answer)


def _value(value: Any, kind: Mapping[str, Any]) -> Any:
    """A value of JSON as the scripts say it; see `values.py`."""
    if value is None:
        return None
    inner = [each["value"] for each in kind["arguments"]]
    match kind["rawType"]:
        case "array":
            return [_value(each, inner[0]) for each in value]
        case "map":
            # A key of JSON is always a text; all maps here have such keys.
            return {"$map": [[key, _value(each, inner[1])] for key, each in value.items()]}
        case "row":
            return _struct(value, inner)
    return _leaf(value, kind["rawType"])


def _leaf(value: Any, kind: str) -> Any:
    match kind:
        case "real":
            return struct.unpack("f", struct.pack("f", float(value)))[0]
        case "double":
            return float(value)
        case "decimal":
            return {"$decimal": value}
        case "varbinary":
            return {"$bytes": base64.b64decode(value).hex()}
        case "date":
            return {"$days": _days_and_micros(value)[0]}
        case "timestamp" | "timestamp with time zone":
            days, micros = _days_and_micros(value)
            return {"$micros": days * 86_400_000_000 + micros}
    return value


def _days_and_micros(text: str) -> tuple[int, int]:
    """Since 1970, and since midnight; Python's own dates end with the year 9999."""
    match = _MOMENT.fullmatch(text)
    assert match, text
    year, month, day, hours, minutes, seconds, micros = (int(part or 0) for part in match.groups())
    year, month = (year - 1, month + 9) if month <= 2 else (year, month - 3)  # a year that ends in February
    days = 365 * year + year // 4 - year // 100 + year // 400 + (153 * month + 2) // 5 + day - 719_469
    return days, ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + micros


def _struct(value: Sequence[Any], fields: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    named = zip(value, fields, strict=True)
    return {field["fieldName"]["name"]: _value(each, field["typeSignature"]) for each, field in named}


if __name__ == "__main__":
    serve("476", read)
