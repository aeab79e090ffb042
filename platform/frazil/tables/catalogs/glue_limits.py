"""What Glue takes of a table's entry, by botocore's own model of it; what is longer is cut, and kept beside.

Comments of columns have at most 255 letters and no line breaks, names 255, types 131,072, descriptions 2,048.
An entry is for people and for lists of tables: readers of Iceberg take columns from the table's metadata.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

NAME, COMMENT, TYPE, DESCRIPTION = 255, 255, 131_072, 2048
_PARAMETER = 512_000
"""Letters of a parameter's value; these may be any."""

_MORE = "..."
_DIGEST = 8
_NO_LINE = re.compile("[^\t\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]+")
_NO_TEXT = re.compile("[^\t\r\n\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]+")

TOO_LONG = "string"
"""The type of a column whose own is too long for Glue."""


def fit_request(params: dict[str, Any], **_: Any) -> None:
    """Makes the table of a request fit: a hook of botocore's, for CreateTable and UpdateTable."""
    if isinstance(table := params.get("TableInput"), dict):
        params["TableInput"] = fitting(table)


def fitting(table: Mapping[str, Any]) -> dict[str, Any]:
    """A table's entry that Glue takes; what was cut stands whole in parameters `frazil.*` of its column."""
    shortened = dict(table)
    if description := shortened.get("Description"):
        shortened["Description"] = cut(_NO_TEXT.sub(" ", description), DESCRIPTION)
    if storage := shortened.get("StorageDescriptor"):
        columns = [_column(column) for column in storage.get("Columns", ())]
        shortened["StorageDescriptor"] = {**storage, "Columns": columns}
    return shortened


def _column(column: Mapping[str, Any]) -> dict[str, Any]:
    made = {**column, **dict(_cut(column))}
    longer = {f"frazil.{part.lower()}": column[part] for part in _CUT if made.get(part) != column.get(part)}
    if not longer:
        return made
    kept = {word: value for word, value in longer.items() if _length(value) <= _PARAMETER}
    return {**made, "Parameters": {**column.get("Parameters", {}), **kept}}


_CUT = ("Name", "Type", "Comment")


def _cut(column: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    name, kind, comment = (column.get(part) for part in _CUT)
    if name is not None:
        yield "Name", _named(name)
    if kind is not None:
        plain = _NO_LINE.sub("_", kind)
        yield "Type", plain if _length(plain) <= TYPE else TOO_LONG
    if comment is not None:
        yield "Comment", cut(_NO_LINE.sub(" ", comment), COMMENT)


def _named(name: str) -> str:
    """Two names that begin alike stay apart."""
    plain = _NO_LINE.sub("_", name)
    if plain == name and _length(name) <= NAME:
        return name
    return f"{cut(plain, NAME - _DIGEST - 1, '')}-{sha256(name.encode()).hexdigest()[:_DIGEST]}"


def cut(text: str, most: int, more: str = _MORE) -> str:
    """The text, or as much of it as there is room for, with a sign that it goes on."""
    if _length(text) <= most:
        return text
    kept = text[: most - len(more)]
    while _length(kept) > most - len(more):
        kept = kept[:-1]
    return kept + more


def _length(text: str) -> int:
    """Letters as Java counts them."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
