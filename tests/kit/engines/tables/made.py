"""Tables for readers to read: made by landings, each with what its producer sent, in Python's own values."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from pyiceberg.table import Table

from frazil.connections import Connections
from frazil.tables.spark.session import spark_name
from kit.formats.formats import Source, avro, make_source

__all__ = [
    "Days",
    "Expected",
    "Feature",
    "Landed",
    "Maker",
    "Map",
    "Micros",
    "canonical",
    "feature",
    "opt",
    "struct",
]  # fmt: skip

Row = Mapping[str, Any]
Fields = Mapping[str, Any]
"""Avro's type of each field, by name."""

_EPOCH = datetime(1970, 1, 1)


class Map(dict[Any, Any]):
    """A map; any other dictionary is a struct."""


class Days(int):
    """A date that Python can't hold, as days since 1970."""


class Micros(int):
    """A moment that Python can't hold, as microseconds since 1970."""


def canonical(value: Any) -> Any:
    """A value as readers are to say it; see `scripts/values.py`."""
    match value:
        case Map():
            return {"$map": [[canonical(k), canonical(v)] for k, v in value.items()]}
        case dict():
            return {k: canonical(v) for k, v in value.items()}
        case list():
            return [canonical(each) for each in value]
    return _leaf(value)


def _leaf(value: Any) -> Any:
    match value:
        case Micros() | Days():
            return {"$micros" if isinstance(value, Micros) else "$days": int(value)}
        case datetime():
            since = (value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value) - _EPOCH
            return {"$micros": since // timedelta(microseconds=1)}
        case date():
            return {"$days": (value - _EPOCH.date()).days}
        case Decimal():
            return {"$decimal": str(value)}
        case bytes():
            return {"$bytes": value.hex()}
    assert value is None or isinstance(value, bool | int | float | str), type(value)
    return value


def opt(kind: Any) -> list[Any]:
    """A type that may be null."""
    return ["null", kind]


def struct(name: str, /, **fields: Any) -> dict[str, Any]:
    """A record of Avro; fields that may be null are so by default."""
    return {"type": "record", "name": name, "fields": [_field(n, t) for n, t in fields.items()]}


def _field(name: str, kind: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, **({"default": None} if isinstance(kind, list) else {})}


@dataclass(frozen=True, slots=True)
class Expected:
    """What a table holds, by its producer: rows that are told apart by their first column."""

    table: str
    metadata: str
    columns: Sequence[str]
    rows: Sequence[Row]
    snapshot: int | None = None


@dataclass
class Landed:
    """A table, and the rows that were sent so far."""

    source: Source
    fields: Fields
    rows: list[Row] = field(default_factory=list)
    snapshots: list[int | None] = field(default_factory=list)

    @property
    def connections(self) -> Connections:
        """Of its stack."""
        return self.source.connections

    @property
    def table(self) -> Table:
        """As it is now."""
        return self.connections.catalog.load_table(self.source.name)

    def more(self, rows: Sequence[Row], fields: Fields | None = None, **given: Any) -> Landed:
        """Sends rows, by another schema if one is given, and lands them."""
        self.rows += rows
        return self.changed([(None, row) for row in rows], fields, **given)

    def changed(
        self, records: Sequence[tuple[str | None, Row | None]], fields: Fields | None = None, **given: Any
    ) -> Landed:
        """Sends records with keys, and lands them."""
        self.fields = fields or self.fields
        schema = struct("Row", **self.fields)
        schema_id = self.source.register(schema)
        sent = [
            (key.encode() if key else None, avro(schema, schema_id, dict(row)) if row else None)
            for key, row in records
        ]
        self.source.produce(*sent, **given)
        self.snapshots.append(self.source.land().snapshot_id)
        return self

    def sql(self, *statements: str) -> None:
        """Has Spark do something with the table, whose name is `{t}`."""
        for each in statements:
            self.connections.spark.sql(each.format(t=spark_name(self.source.things.table))).collect()

    def expected(
        self, rows: Iterable[Row] | None = None, columns: Sequence[str] = (), snapshot: int | None = None
    ) -> Expected:
        """What readers are to find."""
        of = list(self.rows if rows is None else rows)
        names = columns or [*self.fields]
        full = [{name: row.get(name) for name in names} for row in of]
        return Expected(self.source.name, self.table.metadata_location, names, full, snapshot)


@dataclass(frozen=True)
class Maker:
    """Makes tables on a stack."""

    connections: Connections

    def empty(self, fields: Fields, **spec: Any) -> Landed:
        """A topic of Avro in which nothing is."""
        settings = {"key_format": "none", "on_null_value": "skip", "publish": [], **spec}
        return Landed(make_source(self.connections, f"read_{uuid.uuid4().hex[:10]}", **settings), fields)

    def land(self, fields: Fields, rows: Sequence[Row], **spec: Any) -> Landed:
        """A table of one landing of Avro records."""
        return self.empty(fields, **spec).more(rows)

    def land_json(self, properties: Mapping[str, Any], rows: Sequence[Row], **spec: Any) -> Landed:
        """A table of one landing of JSON records with a schema; here any name is one of a field."""
        made = self.empty(properties, **spec)
        schema = {"type": "object", "properties": {n: {"type": t} for n, t in properties.items()}}
        head = b"\0" + made.source.register(schema, kind="JSON").to_bytes(4, "big")
        made.source.produce(*((None, head + json.dumps(row).encode()) for row in rows))
        made.snapshots.append(made.source.land().snapshot_id)
        made.rows += rows
        return made


@dataclass(frozen=True, slots=True)
class Feature:
    """What a table shows of an engine.

    Args:
        name: By which tests and known outcomes name it.
        title: As docs/readers.md has it.
        daily: Whether `make test` reads it as well.
    """

    name: str
    title: str
    make: Callable[[Maker], Expected] = field(repr=False)
    daily: bool = False


def feature(
    features: list[Feature], title: str, *, daily: bool = False
) -> Callable[[Callable[[Maker], Expected]], Callable[[Maker], Expected]]:
    """Adds the function to the features of its module."""

    def add(make: Callable[[Maker], Expected]) -> Callable[[Maker], Expected]:
        features.append(Feature(make.__name__, title, make, daily))
        return make

    return add
