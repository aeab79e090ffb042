"""The versions of a JSON subject: which can be read as the newest one, and the columns that this gives."""

from __future__ import annotations

from collections.abc import Sequence

from frazil.errors import SchemaRefusedError
from frazil.formats.json.nodes import Members, Node, as_columns, logical
from frazil.formats.json.schema import json_node
from frazil.formats.logical import Struct, misfit, relaxed
from frazil.formats.protocol import WriterSchema

__all__ = ["json_columns", "readable"]


def readable(writers: Sequence[WriterSchema], subject: str) -> dict[int, Node]:
    """The nodes of the versions whose records have a place in the newest one's columns, newest first.

    Args:
        writers: The subject's schemas, oldest first.
        subject: Named in errors.

    Raises:
        SchemaRefusedError: No column can hold what the newest one says.
    """
    newest = writers[-1]
    node = json_node(newest.text, newest.dependencies, subject)
    found = {newest.schema_id: node}
    for older in reversed(writers[:-1]):
        other = _older(older, subject)
        alike = other and isinstance(other, Members) == isinstance(node, Members)
        if other and alike and misfit(logical(other), logical(node)) is None:
            found[older.schema_id] = other
    return found


def json_columns(writers: Sequence[WriterSchema], subject: str, word: str) -> Struct:
    """The newest schema as columns, optional where a readable older one may leave something out.

    Args:
        writers: The subject's schemas, oldest first; bare records have the newest one only.
        subject: Named in errors.
        word: Key or value: names the column of a root that is no object.

    Raises:
        SchemaRefusedError: No column can hold what the newest one says.
    """
    newest, *older = readable(writers, subject).values()
    kind = logical(newest)
    for node in older:
        kind = relaxed(kind, logical(node))
    return as_columns(newest, kind, word)


def _older(writer: WriterSchema, subject: str) -> Node | None:
    try:
        return json_node(writer.text, writer.dependencies, subject)
    except SchemaRefusedError:
        return None
