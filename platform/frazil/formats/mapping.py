"""What all mappings from a schema to columns share: names that must differ, digits, and the refusal."""

from __future__ import annotations

from collections.abc import Callable, Collection

from frazil.errors import SchemaRefusedError
from frazil.formats.logical import Decimal

__all__ = ["MAX_DEPTH", "Mapping", "Refuse", "decimal_type"]

MAX_DEPTH = 64
"""Levels of a schema; what refers to itself has no end."""

Refuse = Callable[[str, str], SchemaRefusedError]
"""Makes the error about one field, of why and what to do."""


class Mapping:
    """One walk over one schema of a subject."""

    def __init__(self, subject: str) -> None:
        self._subject = subject

    def refusal(self, path: str, why: str, todo: str) -> SchemaRefusedError:
        """The error that says which field of which subject can't become a column."""
        return SchemaRefusedError(
            f"The schema can't become a table: {why}.",
            where=f"subject {self._subject}, field {path or '(root)'}",
            meaning="Nothing was landed.",
            todo=todo,
        )

    def check_names(self, names: Collection[str], path: str, owner: str) -> None:
        """Makes sure that there are columns, and that they differ by more than case."""
        if not names:
            raise self.refusal(path, f"{owner} without fields has no column type", "Add one.")
        seen: dict[str, str] = {}
        for name in names:
            if twin := seen.get(name.lower()):
                where = f"{path}.{name}".lstrip(".")
                raise self.refusal(where, f"{twin} and {name} differ by case only", "Rename one of them.")
            seen[name.lower()] = name


def decimal_type(precision: int, scale: int, refuse: Refuse) -> Decimal:
    """The type of a number of so many digits, where a column can hold it."""
    if not 1 <= precision <= 38 or not 0 <= scale <= precision:
        raise refuse(f"decimal({precision},{scale}) is out of range", "Use 1..38 digits.")
    return Decimal(precision, scale)
