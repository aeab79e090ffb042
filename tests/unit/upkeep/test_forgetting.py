"""Which rows are meant, what is searched for them, and when older snapshots go: no server is asked."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.table.snapshots import Operation
from pyiceberg.types import (
    BinaryType,
    DateType,
    DecimalType,
    DoubleType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestamptzType,
    UUIDType,
)  # fmt: skip

from frazil.errors import UsageError
from frazil.settings.profile import Settings
from frazil.spec.names import TableName
from frazil.spec.upkeep import Upkeep
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.commits.erasure import must_go, older_than_forgotten
from frazil.upkeep.expiry.retention import aged_refs, plan_expiry
from frazil.upkeep.forgetting.condition import condition_of
from frazil.upkeep.forgetting.proof import prove
from kit.tables.histories import History
from kit.wires.lying import LyingCatalog

SCHEMA = Schema(
    NestedField(1, "user_id", LongType()),
    NestedField(2, "name", StringType()),
    NestedField(3, "born", DateType()),
    NestedField(4, "paid", DecimalType(9, 2)),
    NestedField(5, "at", TimestamptzType()),
    NestedField(6, "uuid", UUIDType()),
    NestedField(7, "score", DoubleType()),
    NestedField(8, "part", StructType(NestedField(9, "id", LongType()))),
    NestedField(10, "raw", BinaryType()),
)


@pytest.mark.parametrize(
    ("where", "sql"),
    [
        ("user_id = 42", "((`user_id` IN (42)))"),
        (
            "user_id in (2, 1) and name = 'Ann'",
            "((`name` IN (CAST(X'416e6e' AS string)) AND `user_id` IN (1, 2)))",
        ),
        ("user_id = 1 or user_id = 2", "((`user_id` IN (1)) OR (`user_id` IN (2)))"),
        ("name = 'a'' or 1=1'", "((`name` IN (CAST(X'6127206f7220313d31' AS string))))"),
        ("born = '2020-01-02'", "((`born` IN (date_from_unix_date(18263))))"),
        ("paid = 4.25", "((`paid` IN (CAST('4.25' AS decimal(9,2)))))"),
        ("at = '2020-01-02T00:00:00+00:00'", "((`at` IN (timestamp_micros(1577923200000000))))"),
        (
            "uuid = 'f79c3e09-677c-4bbd-a479-3f349cb785e7'",
            "((`uuid` IN ('f79c3e09-677c-4bbd-a479-3f349cb785e7')))",
        ),
    ],
)  # fmt: skip
def test_a_condition_is_said_to_spark_by_values_alone(where: str, sql: str) -> None:
    assert condition_of(SCHEMA, where).sql() == sql


@pytest.mark.parametrize(
    "where",
    ["user_id > 3", "not user_id = 3", "name is null", "true", "score = 1.5", "part.id = 3", "nobody = 1",
     "user_id = 1 and user_id = 2", "", "user_id = 'x'"],
)  # fmt: skip
def test_what_does_not_say_exactly_which_rows_is_refused(where: str) -> None:
    with pytest.raises(UsageError):
        condition_of(SCHEMA, where)


def test_keys_stand_in_a_file_whose_first_line_names_the_columns(tmp_path: Path) -> None:
    file = tmp_path / "keys.csv"
    file.write_text("user_id,name\n1,Ann\n2,Bob\n")

    condition = condition_of(SCHEMA, keys=file)

    assert condition.columns == ("name", "user_id")
    assert len(condition.matches) == 2
    assert condition.digest == condition_of(SCHEMA, keys=file).digest
    assert condition.renamed({"name": "n", "user_id": "u"}).columns == ("n", "u")


@pytest.mark.parametrize("text", ["user_id\n1,2\n", "nobody\n1\n", "user_id,name\n1\n", "name\n", "\udcff"])
def test_a_file_that_is_none_of_keys_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "keys.csv"
    file.write_bytes(text.encode(errors="surrogateescape"))

    with pytest.raises(UsageError):
        condition_of(SCHEMA, keys=file)


def test_older_snapshots_go_when_the_time_is_up_but_for_branches_tags_and_work_under_way() -> None:
    history = History()
    history.commit()
    landings = []
    for _ in range(4):
        history.hours(1)
        landings.append(history.land())
    sequence = history.metadata.snapshot_by_id(landings[3]).sequence_number  # type: ignore[union-attr]
    due = history.now + 3600
    history.properties["frazil.upkeep-forgotten"] = json.dumps([[sequence, int(due * 1000)]])
    history.point("audit", landings[1], "tag")

    early = plan_expiry(history.metadata, Upkeep(), due - 1, frozenset(landings))
    late = plan_expiry(history.metadata, Upkeep(), due, frozenset(landings))

    assert not set(early) & set(landings)
    assert set(late) == {s.snapshot_id for s in history.snapshots} - {landings[1], landings[3]}
    assert must_go(history.metadata, due - 1) == set()
    assert list(older_than_forgotten(history.metadata)) == [f"tag audit keeps snapshot {landings[1]}"]


def test_what_a_dead_compaction_holds_of_forgotten_rows_is_named_and_goes_after_six_hours() -> None:
    history = History()
    history.land()
    base = history.head
    branch = f"compaction_{int(history.now * 1000)}_0123abcd"
    sequence = history.commit(Operation.OVERWRITE, summary={"frazil.upkeep": "forgetting"})
    rewritten = history.commit(Operation.REPLACE, ref=branch, summary={"frazil.plan": "compaction"})
    history.snapshots[-1] = history.snapshots[-1].model_copy(update={"parent_snapshot_id": base})
    due = history.now + 60
    history.properties["frazil.upkeep-forgotten"] = json.dumps([[sequence, int(due * 1000)]])

    under_way = plan_expiry(history.metadata, Upkeep(), due)
    named = list(older_than_forgotten(history.metadata))
    history.hours(6.1)
    dead = plan_expiry(history.metadata, Upkeep(), history.now)

    assert not {base, rewritten} & set(under_way)
    assert named == [f"branch {branch} keeps snapshot {rewritten}"]
    assert {base, rewritten} < set(dead)
    assert aged_refs(history.metadata, history.now) == (branch,)


@pytest.mark.parametrize("where", ["user_id = 7731", "name = 'planted-person-7731'", "uuid = '%s'"])
def test_a_value_is_found_in_rows_bounds_and_files_that_nobody_names(tmp_path: Path, where: str) -> None:
    planted = "f79c3e09-677c-4bbd-a479-3f349cb785e7"
    where = where.replace("%s", planted)
    catalog = LyingCatalog(tmp_path)
    name = TableName("n", "t")
    catalog.create_namespace("n")
    schema = Schema(*(SCHEMA.find_field(n) for n in ("user_id", "name", "uuid")))
    table = catalog.create_table(name.identifier, schema)
    condition = condition_of(table.schema(), where)
    kind = table.schema().as_arrow()

    def row(user: int, called: str, number: bytes) -> pa.Table:
        return pa.Table.from_pylist([{"user_id": user, "name": called, "uuid": number}], schema=kind)

    table.append(row(1, "somebody", bytes(16)))
    before = prove(TableHandle(catalog, name), condition, Settings())
    table.append(row(7731, "planted-person-7731", bytes.fromhex(planted.replace("-", ""))))
    during = prove(TableHandle(catalog, name), condition, Settings())
    table.delete(where)
    after = prove(TableHandle(catalog, name), condition, Settings())
    catalog.close()

    assert not before.found
    assert {object_found.path.rsplit(".", 1)[-1] for object_found in during.found} == {"parquet", "avro"}
    assert {object_found.path for object_found in after.found} >= {
        object_found.path for object_found in during.found
    }
    assert before.objects < during.objects < after.objects
