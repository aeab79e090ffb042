"""Which rows are to be forgotten: columns that equal given values, and nothing vaguer.

A condition is a user's text: it is parsed, bound to the table's columns, and written again for each
reader.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from frazil.errors import UsageError
from frazil.quoting import quoted
from frazil.tables.filters import parse_filter

if TYPE_CHECKING:
    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.schema import Schema

_MOST = 10_000  # keys of one forgetting: each becomes a part of a filter

_SHORTEST = 4  # signs of a text that is looked for as such: shorter ones stand anywhere by chance

_SAID = {
    "date": "date_from_unix_date({})",
    "timestamp": "CAST(timestamp_micros({}) AS timestamp_ntz)",
    "timestamptz": "timestamp_micros({})",
}
"""How Spark says a value that Iceberg holds as a number."""

Match = tuple[tuple[str, tuple[Any, ...]], ...]
"""Columns, each with the values that it may have."""


@dataclass(frozen=True, slots=True)
class Condition:
    """Rows that match one of some alternatives; values are as Iceberg holds them."""

    matches: tuple[Match, ...]
    types: Mapping[str, str]  # Iceberg's type of each column

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it names."""
        return tuple(dict.fromkeys(column for match in self.matches for column, _ in match))

    @property
    def texts(self) -> tuple[str, ...]:
        """The values that are texts, long enough to be looked for in any bytes."""
        texts = {v for match in self.matches for _, values in match for v in values if isinstance(v, str)}
        return tuple(sorted(text for text in texts if len(text) >= _SHORTEST))

    @property
    def digest(self) -> str:
        """A name that tells two conditions apart, and is none of the values."""
        return hashlib.sha256(self.sql().encode()).hexdigest()

    @property
    def expression(self) -> BooleanExpression:
        """For Iceberg: a row matches."""
        from pyiceberg.expressions import AlwaysFalse, AlwaysTrue, And, In, Or

        each = (
            And(AlwaysTrue(), AlwaysTrue(), *(In(term=c, literals=set(v)) for c, v in match))
            for match in self.matches
        )
        return Or(AlwaysFalse(), AlwaysFalse(), *each)

    def sql(self, place: Callable[[str], str] = quoted) -> str:
        """For Spark: a row matches; null where a column is. `place` says where each column stands."""

        def one_of(column: str, values: tuple[Any, ...]) -> str:
            values_sql = ", ".join(_literal(value, self.types[column]) for value in values)
            return f"{place(column)} IN ({values_sql})"

        each = (f"({' AND '.join(one_of(*of) for of in match)})" for match in self.matches)
        return f"({' OR '.join(each)})"

    def renamed(self, names: Mapping[str, str]) -> Condition:
        """The same of a table that calls the columns otherwise."""
        matches = tuple(tuple((names[column], values) for column, values in match) for match in self.matches)
        return Condition(matches, {names[column]: kind for column, kind in self.types.items()})


def condition_of(schema: Schema, where: str = "", keys: Path | None = None) -> Condition:
    """Reads a condition, or a CSV file of keys whose first line names their columns.

    Raises:
        UsageError: It is not a condition, or compares by more than equality.
    """
    from pyiceberg.expressions.visitors import bind

    asked = _of_file(keys) if keys else parse_filter(schema, where, "rows to be forgotten", _NOTHING)
    try:
        bound = bind(schema, asked, case_sensitive=True)
    except (ValueError, TypeError) as e:
        raise _unfit(str(keys or where), str(e)) from None
    matches = tuple(dict.fromkeys(_sorted(match) for match in _matches(bound, schema)))
    if not matches or len(matches) > _MOST:
        raise _unfit(
            str(keys or where), f"{len(matches)} alternatives; 1 to {_MOST} can be forgotten at once"
        )
    names = {column for match in matches for column, _ in match}
    return Condition(matches, {f.name: str(f.field_type) for f in schema.fields if f.name in names})


_NOTHING = "Nothing was changed."


def _matches(bound: Any, schema: Schema) -> Iterator[dict[str, set[Any]]]:
    from pyiceberg.expressions import And, BoundEqualTo, BoundIn, Or

    match bound:
        case Or():
            yield from _matches(bound.left, schema)
            yield from _matches(bound.right, schema)
        case And():
            for one, two in product(_matches(bound.left, schema), _matches(bound.right, schema)):
                both = {c: one[c] & two[c] if c in one and c in two else (one | two)[c] for c in one | two}
                if all(both.values()):
                    yield both
        case BoundEqualTo() | BoundIn():
            field = bound.term.ref().field
            kind = str(field.field_type)
            if field not in schema.fields or kind in ("float", "double"):
                raise _unfit(str(bound), f"{field.name} is of type {kind}, or a part of another column")
            literals = [bound.literal] if isinstance(bound, BoundEqualTo) else bound.literals
            yield {field.name: {each.value for each in literals}}
        case _:
            raise _unfit(str(bound), "only =, in (...), and, or tell exactly which rows are meant")


def _sorted(match: dict[str, set[Any]]) -> Match:
    return tuple((column, tuple(sorted(match[column], key=repr))) for column in sorted(match))


def _of_file(file: Path) -> BooleanExpression:
    from pyiceberg.expressions import AlwaysFalse, AlwaysTrue, And, EqualTo, Or

    try:
        rows = list(csv.DictReader(file.read_text(encoding="utf-8").splitlines(), strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as e:
        raise _unfit(str(file), f"it can't be read as CSV: {e}") from None
    if len(rows) > _MOST or any(None in row or None in row.values() for row in rows):
        raise _unfit(str(file), f"a line has more or fewer values than the first, or there are over {_MOST}")
    each = (And(AlwaysTrue(), AlwaysTrue(), *(EqualTo(term=c, value=v) for c, v in r.items())) for r in rows)
    return Or(AlwaysFalse(), AlwaysFalse(), *each)


def _literal(value: Any, kind: str) -> str:
    match value:
        case bool():
            return str(value).lower()
        case int():
            return _SAID.get(kind, "{}").format(value)
        case str():
            return f"CAST(X'{value.encode().hex()}' AS string)"
        case bytes():
            return f"'{UUID(bytes=value)}'" if kind == "uuid" else f"X'{value.hex()}'"
        case Decimal():
            return f"CAST('{value}' AS {kind.replace(' ', '')})"
    raise _unfit(repr(value), f"a value of type {kind} can't be compared")


def _unfit(text: str, why: str) -> UsageError:
    return UsageError(
        f"{text:.200} does not say which rows to forget.",
        where=why,
        meaning=_NOTHING,
        todo="Write column = value, column in (...), with and, or; or --keys FILE, a CSV file whose first "
        "line names the columns.",
    )
