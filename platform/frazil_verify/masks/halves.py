"""The columns that a half fills, as they are before their fields are masked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from frazil_verify.log.registry import Schema, Schemas
from frazil_verify.masks.masks import Masks
from frazil_verify.masks.types import Path, column_of, type_of
from frazil_verify.request import Half
from frazil_verify.table.metadata import Column
from frazil_verify.values.bad import NotComparedError
from frazil_verify.values.half import Filled, filled


@dataclass(frozen=True)
class Unmasked:
    """One half of records, and what is masked of it.

    Args:
        changed: Columns whose older rows may have another mask.
        inner: The field of the record that holds the row; empty for the record itself.
        word: `key` or `value`: what it is called where it has no fields.
    """

    half: Half
    schemas: Schemas
    masks: Masks
    changed: frozenset[str]
    inner: str
    word: str

    def filled(self, columns: Sequence[Column], left: Mapping[int, str]) -> Filled:
        """Which of the table's columns the half fills, and why others can't be compared.

        Args:
            columns: As the table has them.
            left: Former names of the columns that retypes left behind.
        """
        if self.half.format == "none":
            return Filled((), {})
        before, refused = [], {}
        for column in columns:
            if column.name in self.changed:
                refused[column.name] = "its mask was another one for older rows"
                continue
            try:
                before.append(self.masks.unmasked(column, self._type_at))
            except NotComparedError as e:
                refused[column.name] = str(e)
        known = filled(self.half, self.schemas, before, self.inner, self.word, left)
        return Filled(known.columns, {**refused, **known.refused})

    def column(self, path: Path) -> Column:
        """A field that no column of the table has as it came.

        Raises:
            NotComparedError: The half has no such field, or it has parts.
        """
        return column_of(self.half, self._newest, path, self.inner, self.word)

    def _type_at(self, path: Path) -> str:
        return type_of(self.half, self._newest, path, self.inner, self.word)

    @cached_property
    def _newest(self) -> Schema | None:
        return self.schemas.newest(self.half.subject) if self.half.format == "registry" else None
