"""Facts as a page of Dagster shows them: in groups, with their units, and without those that say nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import dagster as dg

from frazil.errors import printable
from frazil.settings.profile import Settings
from frazil.upkeep.work import size_text

_ALWAYS = (
    "dagster/row_count", "rows_landed", "rows_added", "rows_read", "total_rows",
    "total_bytes", "total_files", "lag", "freshness", "seconds", "records_in_topic", "end_offsets",
    "seconds_until_shown", "refreshes", "warehouse_seconds",
)  # fmt: skip
"""A plot of these needs its zeros, too."""

_GLIMPSE = 60

_UNITS = ((86400, "d"), (3600, "h"), (60, "min"))


def worth_showing(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts that say something: zero, empty and unknown are left out where no plot needs them."""
    return {
        name: fact for name, fact in facts.items() if _says(fact) or (fact is not None and name in _ALWAYS)
    }


def _says(fact: Any) -> bool:
    return bool(fact.records if isinstance(fact, dg.TableMetadataValue) else fact)


def group(facts: Mapping[str, Any]) -> dg.TableMetadataValue:
    """Facts that belong together, one a line, with their units."""
    worth = worth_showing(facts)
    return listing(
        {"fact": "string", "value": "string"}, ((_words(n), written(n, f)) for n, f in worth.items())
    )


def listing(columns: Mapping[str, str], rows: Iterable[Sequence[str | int]]) -> dg.TableMetadataValue:
    """Rows of values, in the order of the columns, which are types by name."""
    records = [dg.TableRecord(dict(zip(columns, row, strict=True))) for row in rows]
    schema = dg.TableSchema([dg.TableColumn(name, kind) for name, kind in columns.items()])
    return dg.MetadataValue.table(records, schema)


def written(name: str, fact: Any) -> str:
    """A fact with the unit that the end of its name tells."""
    if isinstance(fact, bool) or not isinstance(fact, int | float):
        return str(fact)
    if "bytes" in name:
        return size_text(int(fact))
    if name.endswith(("seconds", "freshness", "age")):
        return duration(fact)
    if name.endswith("share"):
        return f"{fact:.1%}"
    return str(fact) if name.endswith("_id") else f"{fact:,}"


def glimpse(value: Any) -> str:
    """A value of a row in at most 60 signs; of bytes only how many they are, for nobody has decoded them."""
    if value is None:
        return ""
    text = (
        _plain(value)
        if isinstance(value, bytes | str)
        else json.dumps(value, default=_plain, ensure_ascii=False)
    )
    shown = printable(text.strip('"'))
    return shown if len(shown) <= _GLIMPSE else f"{shown[: _GLIMPSE - 1]}…"


def _plain(value: Any) -> str:
    return f"{len(value):,} bytes" if isinstance(value, bytes) else str(value)


def duration(seconds: float) -> str:
    """`3.2 s`, `5.0 min`, `2.5 h`, `3.0 d`."""
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:.1f} s"


def link_to_object(location: str, settings: Settings) -> dg.MetadataValue[Any]:
    """An object in AWS' console; elsewhere its location."""
    bucket, _, key = location.partition("://")[2].partition("/")
    if settings.s3_endpoint or not location.startswith("s3://"):
        return dg.MetadataValue.path(location)
    region = settings.aws.region
    return dg.MetadataValue.url(
        f"https://{region}.console.aws.amazon.com/s3/object/{bucket}?region={region}&prefix={quote(key)}"
    )


def link_to_page(url: str | None) -> dict[str, Any]:
    """A page about an asset, where there is one."""
    return {"page": dg.MetadataValue.url(url)} if url else {}


def _words(name: str) -> str:
    return name.replace("_", " ").removesuffix(" seconds").removesuffix(" id")
