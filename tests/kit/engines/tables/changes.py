"""Tables whose rows changed or went: by landings, by upkeep, by other engines."""

from __future__ import annotations

import time
from datetime import timedelta
from functools import partial

from frazil.landing.repairs.rollback import roll_back
from frazil.upkeep.row_expiry.run import expire_rows
from kit.engines.tables.made import Expected, Feature, Landed, Maker, Row, feature, opt
from kit.tables.delete_files import delete_by_equality, delete_by_position, live

__all__ = ["CHANGES"]

CHANGES: list[Feature] = []
of_changes = partial(feature, CHANGES)

FIELDS = {"id": "long", "side": "string", "size": opt("int")}
HOUR = 3600


def rows(*ids: int) -> list[Row]:
    return [{"id": n, "side": "AB"[n % 2], "size": n if n % 3 else None} for n in ids]


def left(made: Landed, *gone: int) -> list[Row]:
    return [row for row in made.rows if row["id"] not in gone]


def by_key(maker: Maker, **spec: object) -> Expected:
    """Changes by key, in three landings: the newest of each key stays."""
    settings = {"mode": "upsert", "key_format": "string", "on_null_value": "delete", **spec}
    made = maker.empty(FIELDS, **settings)
    made.changed([(f"k{row['id']}", row) for row in rows(*range(300))])
    made.changed([("k1", {"id": 1, "side": "Z", "size": 1001}), ("k2", None)])
    made.changed([("k1", {"id": 1, "side": "Y", "size": 1002}), ("new", {"id": 900, "side": "N", "size": 7})])
    new = [{"id": 1, "side": "Y", "size": 1002}, {"id": 900, "side": "N", "size": 7}]
    return made.expected([*(row for row in rows(*range(300)) if row["id"] not in (1, 2)), *new])


@of_changes("`mode: upsert`")
def upserts(maker: Maker) -> Expected:
    return by_key(maker)


@of_changes("`mode: upsert` with `delete: vector`, version 3")
def upserts_by_vectors(maker: Maker) -> Expected:
    write = {"delete": "vector", "target_file_size": 2_000}
    return by_key(maker, format_version=3, write=write, upkeep={"delete_files": 0})


@of_changes("rows deleted by position, as other engines do in version 2", daily=True)
def position_deletes(maker: Maker) -> Expected:
    made = maker.land(FIELDS, rows(*range(6))).more(rows(6, 7, 8))
    first, second = (each.data_file for each in live(made.table))
    delete_by_position(made.table, (first, [0, 4]), (second, [1]))
    return made.expected(left(made, 0, 4, 7))


@of_changes("rows deleted by position, by Spark, in partitions")
def spark_deletes(maker: Maker) -> Expected:
    made = maker.land(FIELDS, rows(*range(12)), partition_by=("bucket(2, id)",))
    made.sql("ALTER TABLE {t} SET TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')")
    made.sql(f"ALTER TABLE {{t}} SET TBLPROPERTIES ('write.data.path' = '{made.table.location()}/_deletes')")
    made.sql("DELETE FROM {t} WHERE id IN (3, 4, 11)")
    return made.expected(left(made, 3, 4, 11))


@of_changes("rows deleted by equality, as Flink does", daily=True)
def equality_deletes(maker: Maker) -> Expected:
    made = maker.land(FIELDS, rows(*range(6)))
    delete_by_equality(made.table, id=1)
    delete_by_equality(made.table, id=2)
    made.more([{"id": 1, "side": "B", "size": 100}])
    return made.expected([*(row for row in rows(*range(6)) if row["id"] not in (1, 2)), made.rows[-1]])


@of_changes("rows deleted by equality of several columns, in one of which other rows have null")
def deletes_beside_null(maker: Maker) -> Expected:
    made = maker.land(FIELDS, rows(*range(6)))
    delete_by_equality(made.table, side="A", size=2)
    return made.expected(left(made, 2))


@of_changes("rows deleted by equality with null")
def null_deletes(maker: Maker) -> Expected:
    made = maker.land(FIELDS, rows(*range(6)))
    delete_by_equality(made.table, side="B", size=None)
    return made.expected(left(made, 3))


@of_changes("rows deleted by equality with a column that was renamed later")
def deletes_then_renamed(maker: Maker) -> Expected:
    made = maker.land(FIELDS, rows(*range(6)))
    delete_by_equality(made.table, side="A")
    with made.table.update_schema() as update:
        update.rename_column("side", "way")
    living = [{"id": r["id"], "way": r["side"], "size": r["size"]} for r in rows(1, 3, 5)]
    return made.expected(living, ["id", "way", "size"])


@of_changes("version 3: rows")
def version_3(maker: Maker) -> Expected:
    return maker.land(FIELDS, rows(*range(6)), format_version=3).more(rows(6, 7)).expected()


@of_changes("version 3: `_row_id`")
def row_ids(maker: Maker) -> Expected:
    made = maker.land(FIELDS, rows(0), format_version=3).more(rows(1)).more(rows(2))
    return made.expected([{"id": n, "_row_id": n} for n in range(3)], ["id", "_row_id"])


@of_changes("version 3: deletion vectors by Spark")
def vectors(maker: Maker) -> Expected:
    made = maker.land(FIELDS, rows(*range(8)), format_version=3)
    made.sql("ALTER TABLE {t} SET TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')")
    made.sql(f"ALTER TABLE {{t}} SET TBLPROPERTIES ('write.data.path' = '{made.table.location()}/_vectors')")
    made.sql("DELETE FROM {t} WHERE id IN (0, 5)", "DELETE FROM {t} WHERE id = 7")
    return made.expected(left(made, 0, 5, 7))


@of_changes("time travel: an older snapshot, by its id", daily=True)
def time_travel(maker: Maker) -> Expected:
    made = maker.land(FIELDS, rows(0, 1)).more(rows(2, 3))
    return made.expected(rows(0, 1), snapshot=made.snapshots[0])


@of_changes("time travel: columns as they were then, the names too")
def old_schema(maker: Maker) -> Expected:
    made = maker.land(FIELDS, rows(0, 1))
    with made.table.update_schema() as update:
        update.rename_column("side", "way")
    made.sql("INSERT INTO {t} (id, way, size) VALUES (5, 'C', 6)")
    return made.expected(rows(0, 1), [*FIELDS], snapshot=made.snapshots[0])


@of_changes("rows that left by their age")
def row_expired(maker: Maker) -> Expected:
    made = maker.empty(FIELDS, keep_rows_for=timedelta(hours=24))
    now = int(time.time())
    made.more(rows(0, 1), timestamp=(now - 30 * HOUR) * 1000).more(rows(2, 3))
    expire_rows(made.source.spec, made.connections, now)
    return made.expected(rows(2, 3))


@of_changes("a table that was rolled back, and landed again")
def rolled_back(maker: Maker) -> Expected:
    made = maker.land(FIELDS, rows(0, 1)).more(rows(2))
    roll_back(made.source.spec, made.connections, made.snapshots[0] or 0)
    return made.more(rows(3)).expected()


@of_changes("a table that was rolled back")
def only_rolled_back(maker: Maker) -> Expected:
    made = maker.land(FIELDS, rows(0, 1)).more(rows(2))
    roll_back(made.source.spec, made.connections, made.snapshots[0] or 0)
    return made.expected(rows(0, 1))
