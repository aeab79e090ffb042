"""The columns that a target lists beside a table's metadata, and how they differ from the table's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from typing import Any


@dataclass(frozen=True, slots=True)
class Column:
    """One column as a target lists it; a type or a comment that is empty is not compared.

    `of`: what people call it. A view is listed, too: its query is its type.
    """

    name: str
    type: str = ""
    comment: str = ""
    of: str = "column"


def columns_in(entry: Mapping[str, Any]) -> tuple[Column, ...]:
    """The columns of an entry of Glue."""
    storage = entry.get("StorageDescriptor") or {}
    return tuple(
        Column(str(each["Name"]), str(each.get("Type", "")), str(each.get("Comment", "")))
        for each in storage.get("Columns") or ()
    )


def digest_of(columns: Iterable[Column]) -> str:
    """What is noted beside columns, by which they are known again as those that this Frazil put there."""
    texts = (_plain(text) for column in columns for text in (column.name, column.type, column.comment))
    return sha256("\n".join((_version(), *texts)).encode()).hexdigest()[:32]


@cache
def _version() -> str:
    return version("frazil")


def differences(shown: Sequence[Column] | None, wanted: Sequence[Column] | None) -> tuple[str, ...]:
    """Where the columns differ, one sentence each; none where one of the lists is not known."""
    if shown is None or wanted is None or shown == wanted:
        return ()
    return tuple(_differences({_plain(c.name): c for c in shown}, {_plain(c.name): c for c in wanted}))


def _differences(shown: Mapping[str, Column], wanted: Mapping[str, Column]) -> Iterator[str]:
    for name, column in wanted.items():
        if name not in shown:
            yield f"{column.of} {column.name} is missing"
            continue
        have = shown[name]
        if column.type and _plain(have.type) != _plain(column.type):
            yield f"{column.of} {column.name} is {have.type or 'without a type'} and should be {column.type}"
        if _plain(have.comment) != _plain(column.comment):
            yield f"the comment of column {column.name} is another one"
    for name in shown.keys() - wanted.keys():
        yield f"{shown[name].of} {shown[name].name} is none of the table's"


def _plain(text: str) -> str:
    """Glue folds capitals of names, and takes no line breaks."""
    return " ".join(text.lower().split())
