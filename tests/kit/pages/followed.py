"""The lines that a refusal proposes, followed one by one: each makes columns, or leads to something else."""

from __future__ import annotations

import re
from dataclasses import replace

import yaml

from frazil.errors import SchemaRefusedError
from frazil.formats.columns.unmappable import Unmappable
from frazil.formats.logical import Struct
from frazil.formats.protocol import HalfSchemas

_LINE = re.compile(r"`(unmappable: .+?)`(?=,|\.)")


def proposed(refused: SchemaRefusedError) -> list[Unmappable]:
    """What a refusal says to write."""
    lines = _LINE.findall(refused.todo)
    assert len(lines) == refused.todo.count("`unmappable")
    return [Unmappable.of(yaml.safe_load(line)["unmappable"]) for line in lines]


def followed(schemas: HalfSchemas) -> list[Struct]:
    """The columns by each line that the refusal of schemas proposes; none where nothing helps.

    What is refused for a second field then says how that one is fixed, and it is followed as well.
    """
    try:
        _ = schemas.columns
    except SchemaRefusedError as refused:
        return [_columns(replace(schemas, unmappable=each), {refused.where}) for each in proposed(refused)]
    raise AssertionError("nothing is refused")


def _columns(schemas: HalfSchemas, seen: set[str]) -> Struct:
    try:
        return schemas.columns
    except SchemaRefusedError as e:
        refused = e
    assert refused.where not in seen, f"refused again: {refused}"
    lines = proposed(refused)
    return _columns(replace(schemas, unmappable=lines[0]), {*seen, refused.where}) if lines else Struct(())
