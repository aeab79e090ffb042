"""Changes of a table that its owner approved in the spec: renames, drops, retypes, masks, paths."""

from __future__ import annotations

import re
from typing import Literal, Self
from zlib import crc32

from pydantic import Field, field_validator, model_validator

from frazil.quoting import in_yaml
from frazil.spec.values import Part

_TYPE = re.compile(
    r"boolean|int|long|float|double|string|binary|date|timestamp|timestamptz|decimal\(\d+, ?\d+\)"
)

_ID = 64


class Rename(Part):
    """The column keeps its rows and its field id under another name."""

    from_: str = Field(alias="from", min_length=1, description="The column's path, such as address.zip.")
    to: str = Field(min_length=1, description="The column's new name, without a path.")


class Drop(Part):
    """The column goes; its rows stay readable in older snapshots only."""

    column: str = Field(min_length=1, description="The column's path.")


class Retype(Part):
    """The column is kept as `<column>__v<n>`, and a new one of the other type takes its name."""

    column: str = Field(min_length=1, description="The column's path.")
    to: str = Field(description="The new type, by Iceberg's name: string, long, decimal(10,2).")

    @field_validator("to")
    @classmethod
    def _known(cls, value: str) -> str:
        return type_word(value)


def type_word(value: str) -> str:
    """Iceberg's name of a primitive type; raises ValueError for any other text."""
    if not _TYPE.fullmatch(value):
        raise ValueError(f"{value!r} is no type; write string, long, double, decimal(10,2) and so on")
    return value.replace(" ", "")


def renaming(path: str, to: str) -> str:
    """The line of a spec that approves a column's new name."""
    return f"- {{id: {_id(f'{path}-to-{to}')}, rename: {{from: {in_yaml(path)}, to: {in_yaml(to)}}}}}"


def dropping(path: str) -> str:
    """The line that approves that a column goes."""
    return f"- {{id: {_id(f'drop-{path}')}, drop: {{column: {in_yaml(path)}}}}}"


def retyping(path: str, to: str) -> str:
    """The line that approves a column's new type; empty where no column can have it."""
    line = f"- {{id: {_id(f'retype-{path}')}, retype: {{column: {in_yaml(path)}, to: {in_yaml(to)}}}}}"
    return line if _TYPE.fullmatch(to) else ""


def masking(path: str, to: str) -> str:
    """The line that approves a column's other mask."""
    return f"- {{id: {_id(f'mask-{path}-{to}')}, mask: {{column: {in_yaml(path)}, to: {to}}}}}"


def repathing(column: str, steps: tuple[str, ...]) -> str:
    """The line that approves a listed field's other path."""
    dotted = ".".join(steps)
    to = f"[{', '.join(map(in_yaml, steps))}]" if any("." in step for step in steps) else in_yaml(dotted)
    return f"- {{id: {_id(f'path-{column}-{dotted}')}, path: {{column: {in_yaml(column)}, to: {to}}}}}"


def _id(name: str) -> str:
    """A name that an id may have; what it does not say is told by a sum, so that no two are alike."""
    legal = re.sub(r"[^A-Za-z0-9_.-]+", "_", name)
    return name if legal == name and len(name) <= _ID else f"{legal[: _ID - 9]}-{crc32(name.encode()):08x}"


class Masking(Part):
    """The column's mask is another one from now on; rows that are there keep what they have."""

    column: str = Field(min_length=1, description="The column's path.")
    to: Literal["hash", "redact", "last4", "none", "decrypted"] = Field(
        description="The mask that `columns` says now; or decrypted, with encryption: decrypt."
    )


class Repath(Part):
    """The column is of another place in the record from now on; rows that are there keep what they have."""

    column: str = Field(min_length=1, description="The column, as `fields` name it.")
    to: str | tuple[str, ...] = Field(description="The path that `fields` say now.")

    @property
    def steps(self) -> tuple[str, ...]:
        """The names that lead to it, from the record."""
        return tuple(self.to.split(".")) if isinstance(self.to, str) else self.to


class Migration(Part):
    """One approved change. It waits for the schema that asks for it, and is applied once, by its id."""

    id: str = Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$", description="The change's name, which never changes.")
    rename: Rename | None = Field(None, description="The new name of a column: `{from: a, to: b}`.")
    drop: Drop | None = Field(None, description="A column that goes: `{column: x}`.")
    retype: Retype | None = Field(None, description="A column's new type: `{column: y, to: string}`.")

    mask: Masking | None = Field(None, description="A column's other mask: `{column: z, to: hash}`.")

    path: Repath | None = Field(None, description="A listed field's other path: `{column: z, to: a.b}`.")

    @model_validator(mode="after")
    def _one(self) -> Self:
        parts = (self.rename, self.drop, self.retype, self.mask, self.path)
        if sum(part is not None for part in parts) != 1:
            raise ValueError("write one of rename, drop, retype, mask and path")
        return self

    @property
    def changes_columns(self) -> bool:
        """Whether the table's columns are others afterwards; else it is what they get."""
        return self.mask is None and self.path is None

    @property
    def column(self) -> str:
        """The path of the column as it was before."""
        part = self.drop or self.retype or self.mask or self.path
        return part.column if part else self.rename.from_ if self.rename else ""

    def __str__(self) -> str:
        if self.rename:
            return f"rename {self.rename.from_} to {self.rename.to}"
        if self.mask:
            return f"mask {self.column}: {self.mask.to}"
        if self.path:
            return f"path {self.column}: {'.'.join(self.path.steps)}"
        return f"retype {self.column} to {self.retype.to}" if self.retype else f"drop {self.column}"
