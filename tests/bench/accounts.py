"""Accounts and changes of them: what `upserts.py` and `kinds.py` bring into tables."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

import fastavro
from samples import Kind

from frazil_local.generators.producer import Record

SCHEMA = {
    "type": "record",
    "name": "Account",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "owner", "type": "string"},
        {"name": "balance", "type": "int"},
        {"name": "score", "type": "double"},
        {"name": "note", "type": "string"},
    ],
}
BASE = {
    "id": "id", "owner": "concat('owner ', id)", "balance": "int(rand(1) * 5000)", "score": "rand(2)",
    "note": "substring(sha2(string(id), 512), 1, 80)", "$$partition": "99", "$$offset": "id",
    "$$timestamp": "timestamp_millis(1000 + id)",
}  # fmt: skip
"""Rows of before: of a partition that the topic lacks, so the timestamp decides, and each change wins."""


@dataclass(frozen=True, slots=True)
class Case:
    """Changes of a table.

    Args:
        name: For the table of figures.
        rows: Of the table before.
        changes: How many are landed.
        keys: Draws the key of a change.
        layout: The spec's `partition_by` and `sort_by`.
        local: Whether changed keys lie together.
        files: That the table has before, where it has no partitions.
    """

    name: str
    rows: int
    changes: int
    keys: Callable[[random.Random, int], int]
    layout: dict[str, object] = field(default_factory=dict)
    local: bool = False
    files: int = 8


def anywhere(chance: random.Random, rows: int) -> int:
    """Any key of the table."""
    return chance.randrange(rows)


def newest(chance: random.Random, rows: int) -> int:
    """One of the 1 % newest keys, as of orders under way."""
    return rows - 1 - chance.randrange(rows // 100)


BY_KEY: dict[str, object] = {"partition_by": [], "sort_by": ["id"]}
CASES = (
    Case("half a million random keys", 2_000_000, 500_000, anywhere),
    Case("1 % of the keys, random", 10_000_000, 100_000, anywhere),
    Case("1 % of the keys, the newest", 10_000_000, 100_000, newest, BY_KEY, True, 20),
)


@dataclass(frozen=True, slots=True)
class Changes:
    """Records that change a table's rows; see `samples.Sample`."""

    case: Case
    seed: int = 1
    kind: Kind = "avro"
    schemas: tuple[str, ...] = (json.dumps(SCHEMA),)

    def records(self, schema_ids: Sequence[int]) -> Iterator[Record]:
        """Changes without end; the first one's key is 0."""
        chance, schema = random.Random(self.seed), fastavro.parse_schema(SCHEMA)
        head = b"\0" + schema_ids[0].to_bytes(4, "big")
        for nth in count():
            key = self.case.keys(chance, self.case.rows) if nth else 0
            row = {
                "id": key, "owner": f"owner {key}", "balance": chance.randrange(5000),
                "score": chance.random(), "note": chance.randbytes(40).hex(),
            }  # fmt: skip
            stream = io.BytesIO()
            fastavro.schemaless_writer(stream, schema, row)
            yield None, head + stream.getvalue(), None, None, None
