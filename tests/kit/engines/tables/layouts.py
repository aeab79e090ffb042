"""Tables in partitions and files of all kinds."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from functools import partial

from pyiceberg.transforms import BucketTransform

from frazil.upkeep.compaction.run import compact
from frazil.upkeep.kind import Order
from kit.engines.tables.made import Expected, Feature, Maker, feature, opt
from kit.engines.tables.types import MOMENT, decimal

__all__ = ["LAYOUTS"]

LAYOUTS: list[Feature] = []
of_layouts = partial(feature, LAYOUTS)

FIELDS = {"id": "long", "side": opt("string"), "at": opt(MOMENT), "price": opt(decimal(9, 2))}
BEGIN = datetime(1969, 12, 31, 22, tzinfo=UTC)
SIDES = (None, "", "a/b c=d", "ž", "buy")
ROWS = [
    {"id": n, "side": SIDES[n % 5], "at": BEGIN + timedelta(hours=17 * n) if n else None} for n in range(10)
]
"""Values that a folder's name has to write otherwise, and nulls, in columns that partitions go by."""


def laid_out(maker: Maker, *partition_by: str, **spec: object) -> Expected:
    return maker.land(FIELDS, ROWS, partition_by=partition_by, **spec).expected()


@of_layouts("partitions by value, nulls among them", daily=True)
def by_value(maker: Maker) -> Expected:
    return laid_out(maker, "side")


@of_layouts("partitions by `bucket` and `truncate`")
def by_bucket(maker: Maker) -> Expected:
    return laid_out(maker, "bucket(4, side)", "truncate(3, id)")


@of_layouts("partitions by `year`, `month`, `day` and `hour`")
def by_time(maker: Maker) -> Expected:
    return laid_out(maker, "day(at)")


@of_layouts("partitions by a moment itself")
def by_moment(maker: Maker) -> Expected:
    return laid_out(maker, "at")


@of_layouts("partitions that changed: none, by value, by bucket")
def repartitioned(maker: Maker) -> Expected:
    made = maker.land(FIELDS, ROWS)
    with made.table.update_spec() as update:
        update.add_identity("side")
    made.more([{"id": n, "side": "late", "at": BEGIN} for n in (20, 21)])
    with made.table.update_spec() as update:
        update.remove_field("side")
        update.add_field("id", BucketTransform(3), "by_id")
    return made.more([{"id": n, "side": None, "at": None} for n in (30, 31, 32)]).expected()


@of_layouts("a column that partitions once went by, and that was dropped")
def partition_dropped(maker: Maker) -> Expected:
    made = maker.land(FIELDS, ROWS, partition_by=("side",))
    with made.table.update_spec() as update:
        update.remove_field("side")
    with made.table.update_schema(allow_incompatible_changes=True) as update:
        update.delete_column("side")
    rows = [{"id": r["id"], "at": r["at"]} for r in ROWS]
    return made.expected(rows, ["id", "at"])


@of_layouts("500 files")
def many_files(maker: Maker) -> Expected:
    return maker.land({"id": "long"}, [{"id": n} for n in range(500)], partition_by=("id",)).expected()


@of_layouts("many landings, their files compacted and sorted")
def compacted(maker: Maker) -> Expected:
    made = maker.land(FIELDS, ROWS, sort_by=("side desc",))
    for begin in (20, 30):
        made.more([{"id": begin + n, "side": "x", "at": BEGIN} for n in range(3)])
    compact(made.source.spec, made.connections, time.time(), Order(everything=True))
    return made.expected()


@of_layouts("files of each codec: `snappy`, `gzip`, `lz4`, none; `zstd` is in all others")
def codecs(maker: Maker) -> Expected:
    made = maker.land({"id": "long", "text": "string"}, [{"id": 0, "text": "zstd" * 99}])
    for n, codec in enumerate(("snappy", "gzip", "lz4", "uncompressed"), 1):
        with made.table.transaction() as change:
            change.set_properties({"write.parquet.compression-codec": codec})
        made.more([{"id": n, "text": codec * 99}])
    return made.expected()
