"""Paths of fields, as messages and settings name them: `orders[].price`."""

from __future__ import annotations


def member_path(path: str, name: object) -> str:
    """The path of a record's member.

    Args:
        path: The record's own path, empty at the root. There a name is the path, whatever it begins with.
        name: The member's name; in a schema that nobody checked yet it may be no text.
    """
    return f"{path}.{name}" if path else f"{name}"
