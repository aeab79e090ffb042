"""Tables on disk with given rows, by PyIceberg, and what a verifier is asked of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
from confluent_kafka import Message

from kit.planted.columns import COLUMNS, EXTRA, Values, arrow_of, columns_of
from kit.planted.guarded import KEY, MASKS, WHERE, masked_schema
from kit.planted.iceberg import Written
from kit.planted.topics import TOPIC, Place, Shape, Span, Topic, topic_of

METADATA: dict[str, pa.DataType] = {
    "topic": pa.string(), "partition": pa.int32(), "headers": pa.map_(pa.string(), pa.binary()),
    "leader-epoch": pa.int32(), "offset": pa.int64(), "timestamp": pa.timestamp("us", "UTC"),
    "timestamp-type": pa.string(), "raw-key": pa.binary(),
}  # fmt: skip
_OF_CHANGE = {"op": pa.string(), "source-time": pa.timestamp("us", "UTC"), "source-lsn": pa.int64()}
_OF_DELETE = {"deleted": pa.bool_(), "deleted-at": pa.timestamp("us", "UTC")}
_OF_VERSION = {
    "valid-from": pa.timestamp("us", "UTC"), "valid-to": pa.timestamp("us", "UTC"), "current": pa.bool_(),
}  # fmt: skip
_LETTERS = pa.schema([("partition", pa.int32()), ("offset", pa.int64()), ("topic_id", pa.string())])
_WORDS = METADATA | _OF_CHANGE | _OF_DELETE | _OF_VERSION
_TOPIC_ID = "c2hvcC5vcmRlcnMtdGhlIQ"


@dataclass
class Case:
    """A topic and its table, until something is planted: then its rows, ledgers or letters are others.

    Args:
        shown: The rows of a table whose files were written anew; `rows` are those of its landings.
        counted: What its ledgers count since the first landing.
        claimed: By landing how many rows it says that it added; as many as there are where it is not there.
    """

    topic: Topic
    rows: list[Values]
    shown: list[Values]
    letters: list[Place]
    spans: list[dict[int, Span]]
    counted: dict[str, int]
    claimed: dict[int, int] = field(default_factory=dict)

    @property
    def shape(self) -> Shape:
        """What the topic and the table are like."""
        return self.topic.shape

    @property
    def last(self) -> list[Values]:
        """The rows that readers see."""
        return self.shown if self.shape.compacted else self.rows


def case_of(shape: Shape, chance: Random) -> Case:
    """A topic and the table that belongs to it."""
    topic = topic_of(shape, chance)
    bad = [each.place for each in topic.landed if each.kind == "bad"]
    first, second, third, _ = topic.ends
    spans = [{p: (first[p], second[p]) for p in first}, {p: (second[p], third[p]) for p in first}]
    counted = {"bad": len(bad), "dead-letters": len(bad) if shape.letters else 0}
    rows = deepcopy(topic.rows())
    case = Case(topic, rows, deepcopy(rows), bad if shape.letters else [], spans, counted)
    case.claimed = {n: len(landed_rows(case, n)) for n in (0, 1)}
    return case


def landed_rows(case: Case, landing: int) -> list[Values]:
    """The rows whose place is in a landing's offsets; the second one takes all others."""
    end = case.topic.ends[1]
    return [r for r in case.rows if (r["$$offset"] < end.get(r["$$partition"], 0)) == (landing == 0)]


@dataclass(frozen=True)
class Given:
    """The topic's records, as a consumer gives them."""

    topic: Topic

    def kept(self) -> dict[int, Span]:
        """The offsets that each partition still has."""
        return self.topic.kept()

    def compacts(self) -> bool:
        """Whether records may be gone."""
        return False

    def topic_id(self) -> str:
        """The identity that the table noted."""
        return _TOPIC_ID

    def records(self, spans: Mapping[int, Span]) -> Iterator[Message]:
        """The records of these offsets."""
        return (each.message for each in self.topic.between(spans))


def asked(case: Case, folder: Path) -> dict[str, Any]:
    """Writes the tables of a case, and says what is to be verified."""
    shape = case.shape
    keyed = shape.mode != "append"
    registered = {"format": "registry", "subject": f"{TOPIC}-value"}
    key = {"format": "registry", "subject": f"{TOPIC}-key"} if shape.mode == "cdc" else {"format": "string"}
    return {
        "topic": TOPIC, "kafka": {}, "registry": {"url": "none:"}, "storage": {},
        "metadata": _written(case, folder / "table"), "dead_letters": _letters(case, folder / "letters"),
        "mode": shape.mode, "key": key, "value": registered, "key_columns": ["key"] if keyed else [],
        "metadata_columns": {word: f"$${word}" for word in _WORDS},
        "null_value": "delete" if keyed else "bad", "keeps_deleted": shape.soft,
        "keeps_versions": shape.history, "where": WHERE if shape.filtered else "",
        "masks": {p: {"word": w, "key": KEY} for p, w in MASKS.items()} if shape.masked else {},
    }  # fmt: skip


def _written(case: Case, folder: Path) -> str:
    early, schema = _schemas(case.shape)
    table = Written(folder, early)
    table.append(arrow(landed_rows(case, 0), early), _ledger(case, 0))
    table.evolve(schema)
    table.append(arrow(landed_rows(case, 1), schema), _ledger(case, 1))
    if case.shape.compacted:
        table.replace(arrow(case.shown, schema))
    return table.metadata()


def arrow(rows: list[Values], schema: pa.Schema) -> pa.Table:
    """Rows as a file of a table has them."""
    return pa.table([arrow_of([row[f.name] for row in rows], f.type) for f in schema], schema)


def _schemas(shape: Shape) -> tuple[pa.Schema, pa.Schema]:
    """The columns of the table at first, and now."""
    own = METADATA | (_OF_CHANGE if shape.mode == "cdc" else {}) | (_OF_DELETE if shape.soft else {})
    own |= _OF_VERSION if shape.history else {}
    columns = [(c.name, c.arrow) for c in columns_of(shape.form) if c.name != EXTRA]
    early = pa.schema([("key", pa.string()), *columns, *((f"$${word}", kind) for word, kind in own.items())])
    early = masked_schema(early) if shape.masked else early
    return early, early.append(pa.field(EXTRA, pa.int32())) if shape.evolved else early


def _ledger(case: Case, landing: int) -> dict[str, str]:
    count = case.claimed.get(landing, len(landed_rows(case, landing)))
    begin, spans = case.topic.ends[0], case.spans[landing]
    return {
        "frazil.topic": TOPIC, "frazil.topic-id": _TOPIC_ID, "frazil.spans": json.dumps(spans),
        "frazil.start": json.dumps(begin), "frazil.records": str(count),
        **{f"frazil.total-{word}": str(number) for word, number in case.counted.items()},
    }  # fmt: skip


def _letters(case: Case, folder: Path) -> str:
    if not case.shape.letters:
        return ""
    table = Written(folder, _LETTERS)
    rows = [{"partition": p, "offset": at, "topic_id": _TOPIC_ID} for p, at in case.letters]
    table.append(pa.Table.from_pylist(rows, _LETTERS), {})
    return table.metadata()


def columns_between(case: Case, one: Values, other: Values, same: Any) -> tuple[str, ...]:
    """The columns in which two rows differ, without those of their place."""
    names = [c.name for c in COLUMNS if c.name in one and (case.shape.evolved or c.name != EXTRA)]
    return tuple(name for name in names if not same(one[name], other[name]))
