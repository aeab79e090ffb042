"""The versions of a JSON subject: which of them the newest one's columns hold, and by which names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from frazil.errors import SchemaRefusedError
from frazil.formats.columns.renames import Names, Rename, names_today
from frazil.formats.columns.unmappable import REFUSED, Unmappable
from frazil.formats.json.nodes import (
    Branches,
    Entries,
    Items,
    Member,
    Members,
    Node,
    Pairs,
    as_columns,
    logical,
)
from frazil.formats.json.schemas.logical import json_node
from frazil.formats.logical import Struct, misfit, relaxed
from frazil.formats.protocol import HalfSchemas, WriterSchema


def readable(
    writers: Sequence[WriterSchema],
    subject: str,
    unmappable: Unmappable = REFUSED,
    renames: Sequence[Rename] = (),
    word: str = "value",
) -> dict[int, Node]:
    """The nodes of the versions whose records fit the newest one's columns, newest first.

    Records of a version that can't be a table by itself are read by the newest one: a text says what it is.
    They have the names that fields had in the version that came next.
    """
    newest = writers[-1]
    node = next_node = json_node(newest.text, newest.dependencies, subject, unmappable)
    nodes = {newest.schema_id: node}
    older = [_older(writer, subject, unmappable) for writer in writers[:-1]]
    names = _names([*older, node], renames, word)
    for writer, own, called in reversed([*zip(writers, older, names, strict=False)]):
        other = _with_keys(node, next_node) if own is None else _named(own, called, _start(own, word))
        alike = isinstance(other, Members) == isinstance(node, Members)
        if alike and misfit(logical(other), logical(node)) is None:
            nodes[writer.schema_id] = next_node = other
    return nodes


def json_columns(
    writers: Sequence[WriterSchema],
    subject: str,
    word: str,
    unmappable: Unmappable = REFUSED,
    renames: Sequence[Rename] = (),
) -> Struct:
    """The newest schema as columns, optional where a readable older one may leave something out."""
    return shared_columns(readable(writers, subject, unmappable, renames, word), word)


def shared_columns(nodes: Mapping[int, Node], word: str) -> Struct:
    """The columns of readable versions that are known already; see `json_columns`."""
    newest, *older = nodes.values()
    kind = logical(newest)
    for node in older:
        kind = relaxed(kind, logical(node))
    return as_columns(newest, kind, word)


def json_names(schemas: HalfSchemas) -> dict[int, Names]:
    """What the fields of each version are called today, by its schema id."""
    older = [_older(w, schemas.subject, schemas.unmappable) for w in schemas.writers if schemas.renames]
    names = _names(older, schemas.renames, schemas.half.word)
    return {writer.schema_id: own for writer, own in zip(schemas.writers, names, strict=False)}


def _names(nodes: Sequence[Node | None], renames: Sequence[Rename], word: str) -> list[Names]:
    columns = (None if node is None else as_columns(node, logical(node), word) for node in nodes)
    return names_today([*columns], renames)


def _older(writer: WriterSchema, subject: str, unmappable: Unmappable) -> Node | None:
    """What a version's records are; None where they can't be a table by themselves."""
    try:
        return json_node(writer.text, writer.dependencies, subject, unmappable)
    except SchemaRefusedError:
        return None


def _start(node: Node, word: str) -> str:
    return "" if isinstance(node, Members) else f"{word}."


def _named(node: Node, names: Names, at: str) -> Node:
    """The node of an older version with the names that its fields have today; `at` leads to the node."""
    if not any(path.startswith(at) for path in names):
        return node
    match node:
        case Members() | Branches():
            return replace(node, members=tuple(_named_member(m, names, at) for m in node.members))
        case Items():
            return replace(node, element=_named(node.element, names, f"{at}element."))
        case Entries() | Pairs():
            return replace(node, value=_named(node.value, names, f"{at}value."))
    return node


def _named_member(member: Member, names: Names, at: str) -> Member:
    path = f"{at}{member.name}"
    node = _named(member.node, names, f"{path}.")
    if path not in names:
        return replace(member, node=node)
    return replace(member, name=names[path][len(at) :], node=node, older=member.name)


def _with_keys(node: Node, other: Node) -> Node:
    """The same node with the keys of another version."""
    match node, other:
        case Members(), Members():
            pairs = ((m, other.get(m.name)) for m in node.members)
            members = (
                replace(m, older=o.older, node=_with_keys(m.node, o.node)) if o else m for m, o in pairs
            )
            return replace(node, members=tuple(members))
        case Items(), Items():
            return replace(node, element=_with_keys(node.element, other.element))
        case Entries(), Entries():
            return replace(node, value=_with_keys(node.value, other.value))
        case Pairs(), Pairs():
            return replace(node, value=_with_keys(node.value, other.value))
    return node
