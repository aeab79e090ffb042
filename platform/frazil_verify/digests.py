"""What of a row is compared, as digests: all of it, or two parts that are of several records."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from frazil_verify.entries import NOT_COMPARED, digest
from frazil_verify.table.metadata import Column

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Digests:
    """Digests of rows of these columns.

    Args:
        own: The metadata columns among them: their word by their name.
        apart: The words of those that are apart.
    """

    columns: Sequence[Column]
    own: Mapping[str, str]
    apart: Collection[str]

    def __call__(self, row: Row | None) -> tuple[bytes, bytes]:
        """The digest of a row, and of what is apart of it; nothing where its values are not known.

        A tombstone has no place in the source's log: then a deleted row keeps its own, which is not compared.
        """
        if row is None:
            return NOT_COMPARED, b""
        if not self.apart:
            return digest(row), b""
        own = {word: row[at] for word, at in self._apart.items()}
        if own.get("deleted") and own.get("source-time") is None:
            own.pop("source-lsn", None)
        return digest(tuple([row[at] for at in self._others])), digest(tuple(own.values()))

    @cached_property
    def _apart(self) -> dict[str, int]:
        words = {self.own.get(column.name, ""): at for at, column in enumerate(self.columns)}
        return {word: words[word] for word in self.apart if word in words}

    @cached_property
    def _others(self) -> list[int]:
        return [at for at in range(len(self.columns)) if at not in self._apart.values()]
