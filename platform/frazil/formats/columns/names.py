"""Names that no column can have: engines keep them for themselves, or could not tell them apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from frazil.formats.logical import Field

_ICEBERGS = frozenset(
    {
        "_file", "_pos", "_deleted", "_spec_id", "_partition", "_row_id", "_last_updated_sequence_number",
        "_change_type", "_change_ordinal", "_commit_snapshot_id",
    }
)  # fmt: skip
"""What Iceberg's Spark shows beside a table's columns; source: `MetadataColumns` of Iceberg's core, of which
the last three are a changelog's. A column of that name lands, and can't be read there."""
_ATHENAS = frozenset({"$path", "$file_modified_time", "$partition"})
"""The same of Athena, which is Trino; source: Trino's manual, "Iceberg connector", metadata columns."""
_SNOWFLAKES = "metadata$"
"""How Snowflake's own columns begin; source: its manual, "Querying Metadata for Staged Files"."""


def keeper(name: str) -> str:
    """Who keeps a column's name for itself, for people; empty where nobody does."""
    low = name.lower()
    if low in _ICEBERGS:
        return "Iceberg in Spark"
    return "Athena" if low in _ATHENAS else "Snowflake" if low.startswith(_SNOWFLAKES) else ""


def same_path(fields: Iterable[Field]) -> str | None:
    """A path that two columns or fields have, as `log.level` and the field `level` of `log`; else None.

    Iceberg finds columns by it, and engines do so in any case.
    """
    seen: set[str] = set()
    for path in _paths(fields, ""):
        if path.lower() in seen:
            return path
        seen.add(path.lower())
    return None


def _paths(fields: Iterable[Field], above: str) -> Iterator[str]:
    for field in fields:
        yield f"{above}{field.name}"
        yield from _paths(field.type.fields, f"{above}{field.name}.")
