"""What DESC tells of an integration; of a REST catalog properties hold others: `{NAME=value, NAME=[a, b]}`.

See terraform-provider-snowflake, `pkg/sdk/catalog_integrations_ext.go`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from frazil.errors import MissingError

_OPEN, _CLOSED = "{[(", "}])"
_NONE = ("", "null")


@dataclass(frozen=True)
class Described:
    """Properties by name; what is not there is an error.

    Args:
        of: The integration, as errors name it.
        values: The values, as DESC writes them.
    """

    of: str
    values: Mapping[str, str]

    def text(self, *path: str) -> str:
        """A property, or one inside of another.

        Raises:
            MissingError: Snowflake does not tell it.
        """
        values = self.values
        for name in path[:-1]:
            values = _inside(values.get(name, ""))
        if (value := values.get(path[-1])) is None:
            raise MissingError(
                f"Snowflake tells no {'.'.join(path)} of the {self.of}.",
                where=f"DESC {self.of}",
                meaning="Nothing was changed.",
                todo="Report it: this version does not know that answer.",
            )
        return "" if value in _NONE else value

    def texts(self, *path: str) -> list[str]:
        """A list."""
        return list(_split(self.text(*path)[1:-1]))


def described(of: str, rows: Iterable[Mapping[str, Any]]) -> Described:
    """The answer to DESC."""
    return Described(of, {str(row["property"]): str(row["property_value"]) for row in rows})


def _inside(value: str) -> Mapping[str, str]:
    pairs = (part.partition("=") for part in _split(value.removeprefix("{").removesuffix("}")))
    return {name: inner for name, _, inner in pairs}


def _split(listed: str) -> Iterator[str]:
    """At the commas that are not inside of brackets."""
    part, depth = "", 0
    for letter in listed:
        depth += (letter in _OPEN) - (letter in _CLOSED)
        if letter == "," and not depth:
            yield part.strip()
            part = ""
        else:
            part += letter
    if part.strip():
        yield part.strip()
