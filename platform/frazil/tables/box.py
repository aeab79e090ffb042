"""The box around some rows: per column the least and the greatest value, and whether one is missing.

Rows with the keys of these lie inside it. So the statistics of data files tell which ones can hold any,
and the others are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from frazil.quoting import quoted

if TYPE_CHECKING:
    from pyiceberg.expressions import BooleanExpression

_MEASURED = {
    "int": ("{}", "{}"),
    "bigint": ("{}", "{}"),
    "date": ("unix_date({})", "date_from_unix_date({})"),
    "timestamp": ("unix_micros({})", "timestamp_micros({})"),
    "timestamp_ntz": ("unix_micros(CAST({} AS timestamp))", "CAST(timestamp_micros({}) AS timestamp_ntz)"),
    "string": ("{}", "CAST(X'{}' AS string)"),
    "decimal": ("{}", "CAST('{}' AS decimal({}))"),
}
"""How each type is told, and how it is said again. Others have no bounds here: NaN, say, has no place."""


@dataclass(frozen=True, slots=True)
class Side:
    """What some rows hold in one column."""

    name: str
    kind: str  # the column's type, in Spark's words
    # The least value; times as microseconds, dates as days. None where all are missing.
    low: int | str | Decimal | None
    high: int | str | Decimal | None  # the greatest value; None where there is no upper end
    missing: bool = False  # whether any row has no value

    @property
    def sql(self) -> str:
        """SQL that says whether a row is inside; never null."""
        column, inside = quoted(self.name), []
        if self.low is not None:
            inside.append(f"{column} >= {self._literal(self.low)}")
        if self.high is not None:
            inside.append(f"{column} <= {self._literal(self.high)}")
        within = f"({column} IS NOT NULL AND {' AND '.join(inside)})" if inside else "false"
        return f"({within} OR {column} IS NULL)" if self.missing else within

    @property
    def expression(self) -> BooleanExpression:
        """The same for Iceberg."""
        from pyiceberg.expressions import (
            AlwaysFalse,
            AlwaysTrue,
            And,
            GreaterThanOrEqual,
            IsNull,
            LessThanOrEqual,
            Or,
        )

        low = AlwaysTrue() if self.low is None else GreaterThanOrEqual(term=self.name, value=self.low)
        high = AlwaysTrue() if self.high is None else LessThanOrEqual(term=self.name, value=self.high)
        within = AlwaysFalse() if self.low is self.high is None else And(low, high)
        return Or(within, IsNull(term=self.name)) if self.missing else within

    def _literal(self, value: int | str | Decimal) -> str:
        written = value.encode().hex() if isinstance(value, str) else str(value)
        return _forms(self.kind)[1].format(written, self.kind[8:-1])


@dataclass(frozen=True, slots=True)
class Box:
    """All sides; where there are none, every row is inside."""

    sides: tuple[Side, ...] = ()

    @property
    def sql(self) -> str:
        """For Spark: whether a row is inside; never null."""
        return " AND ".join(side.sql for side in self.sides) or "true"

    @property
    def expression(self) -> BooleanExpression:
        """The same for Iceberg."""
        from pyiceberg.expressions import AlwaysTrue, And

        return And(AlwaysTrue(), AlwaysTrue(), *(side.expression for side in self.sides))

    def upwards(self, name: str) -> Box:
        """The same without an upper end in one column; rows without a value come before all others."""
        others = (side for side in self.sides if side.name != name)
        open_ended = (
            replace(side, high=None) for side in self.sides if side.name == name and not side.missing
        )
        return Box((*others, *open_ended))


def measures(types: Mapping[str, str], columns: Iterable[str], only: str = "true") -> dict[str, str]:
    """Aggregates that tell the box around those rows for which `only` is true, by their aliases."""
    expressions = {}
    for number, name in enumerate(_bounded(types, columns)):
        value = _forms(types[name])[0].format(f"CAST({quoted(name)} AS {types[name]})")
        expressions[f"low_{number}"] = f"min({value}) FILTER (WHERE {only})"
        expressions[f"high_{number}"] = f"max({value}) FILTER (WHERE {only})"
        expressions[f"missing_{number}"] = f"count_if({quoted(name)} IS NULL) FILTER (WHERE {only})"
    return expressions


def box_from(types: Mapping[str, str], columns: Iterable[str], measured: Mapping[str, Any]) -> Box:
    """The box that the values of `measures` tell."""
    return Box(
        tuple(
            Side(
                name, types[name], measured[f"low_{n}"], measured[f"high_{n}"], bool(measured[f"missing_{n}"])
            )
            for n, name in enumerate(_bounded(types, columns))
        )
    )


def _bounded(types: Mapping[str, str], columns: Iterable[str]) -> Iterator[str]:
    return (name for name in columns if _plain(types.get(name, "")) in _MEASURED and "." not in name)


def _forms(kind: str) -> tuple[str, str]:
    return _MEASURED[_plain(kind)]


def _plain(kind: str) -> str:
    return re.sub(r"^decimal\(.*", "decimal", kind)
