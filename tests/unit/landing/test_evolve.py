"""What schemas make of a table's columns, staged on a table that no catalog holds."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.io import load_file_io
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.metadata import new_table_metadata
from pyiceberg.table.refs import SnapshotRef, SnapshotRefType
from pyiceberg.table.snapshots import Operation, Snapshot, Summary
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.transforms import IdentityTransform

from frazil.errors import ConfigureError, FaultError
from frazil.formats.batches.matching import refuse_unmatched
from frazil.formats.columns.columns import RecordColumns, metadata_names, table_fields
from frazil.formats.evolution import refused, verdicts
from frazil.formats.logical import Decimal, Field, List, Map, Primitive, Struct, Type
from frazil.formats.types import as_stored, from_iceberg, to_iceberg
from frazil.landing.schema.evolve import Evolution, plan_evolution
from frazil.spec.migrations import Drop, Migration, Rename, Retype
from frazil.spec.topic import TableSpec
from frazil.tables.commits.suspension import SUSPENDED, SUSPENDED_BY
from frazil.tables.migrations import MIGRATIONS, needless, with_remembered
from kit.drawn.examples import examples

SPEC = TableSpec(topic="t")
INT, LONG, STRING = Primitive("int"), Primitive("long"), Primitive("string")
META = metadata_names(SPEC)


def columns(*fields: Field) -> RecordColumns:
    return RecordColumns(Struct(()), Struct(fields))


def table(*fields: Field, by: str = "", **properties: str) -> Table:
    """A table with these columns and Frazil's own."""
    schema = to_iceberg(table_fields(SPEC, columns(*fields)))
    source = [PartitionField(schema.find_field(by).field_id, 1000, IdentityTransform(), by)] if by else []
    metadata = new_table_metadata(
        schema, PartitionSpec(*source), UNSORTED_SORT_ORDER, "s3://none", properties, uuid.uuid4()
    )
    return Table(("n", "t"), metadata, "s3://none/metadata", load_file_io(), None)  # type: ignore[arg-type]


def with_head(have: Table, rows: int = 0) -> Table:
    """The same, and its head says how many rows there are."""
    summary = Summary(Operation.APPEND, **{"total-records": str(rows)})
    head = Snapshot(
        snapshot_id=1, sequence_number=1, timestamp_ms=1, manifest_list="s3://none/m", summary=summary
    )
    ref = SnapshotRef(snapshot_id=1, snapshot_ref_type=SnapshotRefType.BRANCH)
    update = {"snapshots": [head], "current_snapshot_id": 1, "refs": {"main": ref}}
    metadata = have.metadata.model_copy(update=update)
    return Table(have.name(), metadata, have.metadata_location, have.io, have.catalog)


def planned(have: Table, *wanted: Field, migrations: tuple[Migration, ...] = ()) -> Evolution:
    spec = SPEC.model_copy(update={"migrations": migrations})
    return plan_evolution(spec, have, columns(*wanted))


def names(schema: Schema) -> list[str]:
    return [f.name for f in schema.fields if f.name not in META]


def ids(schema: Schema) -> dict[str, int]:
    return {name: schema.find_field(name).field_id for name in schema.column_names}


def test_a_column_that_another_engine_added_stops_the_table_with_how_it_goes_there() -> None:
    (stopping,) = refused(planned(table(Field("a", INT), Field("note", STRING)), Field("a", INT)).verdicts)

    assert str(stopping).endswith("and the newest schema does not have it")
    assert "If another engine added it to the table, drop it there" in stopping.todo
    assert "ALTER TABLE ... DROP COLUMN `note`" in stopping.todo


def test_branches_that_were_named_with_dots_keep_their_rows_under_their_new_names() -> None:
    """Parquet spells such a name otherwise, and nobody can type it: `branch_name`."""

    def union(*names: str) -> Struct:
        return Struct(tuple(Field(n, Struct((Field("n", INT, True),)), True) for n in names))

    old, new = union("shop.v1.Order", "shop.v2.Order"), union("shop_v1_Order", "shop_v2_Order")
    have = table(Field("e", old), Field("many", List(old)), Field("by", Map(STRING, old)), Field("a.b", INT))
    wanted = (Field("e", new), Field("many", List(new)), Field("by", Map(STRING, new)), Field("a.b", INT))

    evolution = planned(have, *wanted)

    assert refused(evolution.verdicts) == []
    assert {v.change for v in evolution.verdicts} == {"rename"}
    before = {
        name.replace("shop.v", "shop_v").replace(".Order", "_Order"): i
        for name, i in ids(have.schema()).items()
    }
    assert ids(evolution.schema) == before
    assert evolution.staged


@pytest.mark.parametrize(
    ("have", "wanted"),
    [
        ((Field("a.b", INT, True),), (Field("a_b", INT, True),)),
        ((Field("s", Struct((Field("a.b", INT),))),), (Field("s", Struct((Field("a_b", INT),))),)),
    ],
)
def test_another_field_whose_name_loses_a_dot_is_no_branch(have: Any, wanted: Any) -> None:
    (stopping, *_) = refused(planned(table(*have), *wanted).verdicts)

    assert stopping.change in ("drop", "add")


def test_what_fits_needs_no_commit() -> None:
    evolution = planned(table(Field("a", INT)), Field("a", INT))

    assert (evolution.verdicts, evolution.staged) == ((), None)


def test_new_columns_stand_before_the_metadata() -> None:
    evolution = planned(table(Field("a", INT)), Field("b", INT, True), Field("a", INT), Field("c", INT, True))

    assert [f.name for f in evolution.schema.fields] == ["a", "b", "c", *META]


def test_a_rename_keeps_the_field_id() -> None:
    have = table(Field("s", Struct((Field("a", INT),)), True))
    move = Migration(id="m", rename=Rename(from_="s.a", to="b"))

    evolution = planned(have, Field("s", Struct((Field("b", LONG),)), True), migrations=(move,))

    assert ids(evolution.schema)["s.b"] == ids(have.schema())["s.a"]
    assert [(v.change, v.outcome) for v in evolution.verdicts] == [
        ("rename", "applied"),
        ("widen", "applied"),
    ]
    assert str(evolution.schema.find_field("s.b").field_type) == "long"


def test_a_retype_keeps_the_old_column_beside_the_new_one() -> None:
    have = table(Field("a", INT), Field("a__v1", STRING, True), Field("b", INT))
    wanted = (Field("a", STRING), Field("a__v1", STRING, True), Field("b", INT))
    words = Migration(id="w", retype=Retype(column="a", to="string"))

    evolution = planned(have, *wanted, migrations=(words,))

    assert names(evolution.schema) == ["a", "a__v2", "a__v1", "b"]
    assert ids(evolution.schema)["a__v2"] == ids(have.schema())["a"]
    assert not evolution.schema.find_field("a__v2").required
    assert not evolution.schema.find_field("a").required


def test_a_chain_of_approved_changes_is_one_commit() -> None:
    chain = (
        Migration(id="1", rename=Rename(from_="a", to="b")),
        Migration(id="2", rename=Rename(from_="b", to="c")),
        Migration(id="3", drop=Drop(column="gone")),
    )

    evolution = planned(table(Field("a", INT), Field("gone", INT)), Field("c", INT), migrations=chain)

    assert names(evolution.schema) == ["c"]
    assert evolution.staged


def test_a_table_remembers_the_renames_that_its_spec_no_longer_has() -> None:
    chain = (
        Migration(id="1", rename=Rename(from_="a", to="b")),
        Migration(id="2", rename=Rename(from_="b", to="c")),
    )
    evolution = planned(table(Field("a", INT)), Field("c", INT), migrations=chain)
    assert evolution.staged
    metadata = evolution.staged.table_metadata
    half, whole = (SPEC.model_copy(update={"migrations": each}) for each in (chain[1:], chain))

    assert [with_remembered(spec, metadata).migrations for spec in (SPEC, half)] == [chain, chain]
    assert with_remembered(whole, metadata) is whole


def test_a_rename_that_waits_is_none_of_the_table_that_has_both_names_and_one_of_a_new_table() -> None:
    """The schema took the new name and kept the old one: the rows of old stay where they are."""
    rename = Migration(id="1", rename=Rename(from_="a", to="b"))
    spec, both = SPEC.model_copy(update={"migrations": (rename,)}), (Field("a", INT), Field("b", INT))
    older = planned(table(Field("a", INT, optional=True)), both[0], replace(both[1], optional=True))
    assert older.staged

    assert with_remembered(spec, older.staged.table_metadata).migrations == ()
    assert with_remembered(spec, table(*both, **needless([rename], both)).metadata) is spec


@pytest.mark.parametrize(
    "migration",
    [
        Migration(id="x", drop=Drop(column="a")),
        Migration(id="x", retype=Retype(column="a", to="string")),
    ],
)
def test_a_partition_column_is_neither_dropped_nor_retyped(migration: Migration) -> None:
    have = table(Field("a", INT), Field("b", INT), by="a")
    wanted = [Field("a", STRING), Field("b", INT)] if migration.retype else [Field("b", INT)]

    with pytest.raises(ConfigureError, match="partitioned by a"):
        planned(have, *wanted, migrations=(migration,))


def test_what_did_not_fit_a_table_that_was_behind_its_schema_fits_it_once_it_follows() -> None:
    have, wanted = table(Field("a", INT)), (Field("a", INT), Field("b", INT, optional=True))
    with pytest.raises(FaultError, match="no column for b") as raised:
        refuse_unmatched(Struct(wanted), from_iceberg(have.schema()), "n.t", META)

    refuse_unmatched(Struct(wanted), from_iceberg(planned(have, *wanted).schema), "n.t", META)

    assert raised.value.todo.startswith("Land again: the table then follows its schema.")


def test_without_the_migration_the_schema_lands_into_a_new_table_of_other_partitions() -> None:
    have = table(Field("a", INT), Field("b", INT), by="a")
    before = have.metadata
    with pytest.raises(ConfigureError) as raised:
        planned(have, Field("b", INT), migrations=(Migration(id="x", drop=Drop(column="a")),))

    evolution = planned(table(Field("b", INT), by="b"), Field("b", INT))

    assert raised.value.todo == "Take it out of defs.yaml, and land into a new table with other partitions."
    assert (evolution.verdicts, names(evolution.schema)) == ((), ["b"])
    assert have.metadata == before


def test_a_column_that_left_the_partitions_is_told_so() -> None:
    have = table(Field("a", INT), Field("b", INT), by="a")
    specs = [*have.metadata.partition_specs, PartitionSpec(spec_id=1)]
    have.metadata = have.metadata.model_copy(update={"partition_specs": specs, "default_spec_id": 1})
    drop = Migration(id="x", drop=Drop(column="a"))

    with pytest.raises(ConfigureError, match="the table was partitioned by a before, and its metadata"):
        planned(have, Field("b", INT), migrations=(drop,))


def test_a_migration_that_the_table_remembers_is_not_applied_again() -> None:
    done = {MIGRATIONS: '{"x": {"did": "drop a", "field_id": 7, "kept": false}}'}
    drop = Migration(id="x", drop=Drop(column="a"))

    evolution = planned(table(Field("a", INT), Field("b", INT), **done), Field("b", INT), migrations=(drop,))

    assert [str(v.outcome) for v in evolution.verdicts] == ["refused"]


def test_a_fitting_schema_ends_a_suspension_by_schema_only() -> None:
    marked = {SUSPENDED: "field a: no", SUSPENDED_BY: "schema"}

    assert planned(table(Field("a", INT), **marked), Field("a", INT)).staged
    assert planned(table(Field("a", INT), **marked), Field("a", STRING)).staged is None
    assert planned(table(Field("a", INT), **{SUSPENDED: "offset 3"}), Field("a", INT)).staged is None


def test_metadata_columns_of_a_former_spec_are_kept() -> None:
    full = SPEC.model_copy(update={"metadata": "full"})
    raw = [f for f in table_fields(full, columns()) if f.name not in META]

    assert planned(table(Field("a", INT), *raw), Field("a", INT)).verdicts == ()


_PLAIN: st.SearchStrategy[Type] = st.sampled_from(
    [INT, LONG, STRING, Primitive("float"), Primitive("double"), Decimal(9, 2), Decimal(12, 2), Decimal(9, 3)]
)


def _nested(inner: st.SearchStrategy[Type]) -> st.SearchStrategy[Type]:
    return st.one_of(
        structs(inner),
        st.builds(List, inner, st.booleans()),
        st.builds(Map, st.sampled_from([INT, STRING]), inner, st.booleans()),
    )


def structs(inner: st.SearchStrategy[Type]) -> st.SearchStrategy[Any]:
    field = st.builds(Field, st.sampled_from("abcd"), inner, st.booleans())
    fields = st.lists(field, min_size=1, max_size=4, unique_by=lambda f: f.name)
    return fields.map(lambda drawn: Struct(tuple(drawn)))


SCHEMAS = structs(st.recursive(_PLAIN, _nested, max_leaves=6))


@examples(50)
@given(SCHEMAS, SCHEMAS)
def test_any_schema_either_fits_afterwards_or_leaves_every_column_as_it_was(one: Struct, two: Struct) -> None:
    have = table(*one)
    evolution = planned(have, *two)

    if refused(evolution.verdicts):
        assert (evolution.schema, evolution.staged) == (have.schema(), None)
        return
    again = verdicts(from_iceberg(evolution.schema), as_stored(two), META)
    assert {v.outcome for v in again} <= {"no change"}
    assert ids(have.schema()).items() <= ids(evolution.schema).items()
    assert names(evolution.schema)[: len(one.fields)] == [f.name for f in one]


def test_a_table_without_rows_takes_whatever_the_schemas_ask_for() -> None:
    have = table(Field("gone", INT), Field("a", INT), Field("s", Map(STRING, INT), True))
    wanted = (Field("fee", INT), Field("a", STRING), Field("s", Map(INT, STRING)))

    evolution = planned(with_head(have), *wanted)

    columns_now = from_iceberg(evolution.schema)
    assert sorted(f.name for f in columns_now if f.name not in META) == ["a", "fee", "s"]
    assert {f.name: f for f in wanted} == {f.name: f for f in columns_now if f.name not in META}
    assert [f.name for f in columns_now][-len(META) :] == [*META]
    assert not refused(evolution.verdicts)
    assert evolution.staged
    assert refused(planned(with_head(have, rows=1), *wanted).verdicts)


def test_a_table_without_rows_that_is_partitioned_by_a_column_keeps_it_under_another_name() -> None:
    have = with_head(table(Field("a", INT), Field("b", INT, True), by="a"))
    spec = SPEC.model_copy(update={"partition_by": ("b",)})

    evolution = plan_evolution(spec, have, columns(Field("b", INT, True)))

    assert names(evolution.schema) == ["a__v1", "b"]
    assert evolution.staged
    parts = evolution.staged.table_metadata
    assert [parts.schema().find_column_name(f.source_id) for f in parts.spec().fields] == ["b"]
    settled = Table(have.name(), parts, "s3://none/metadata", have.io, have.catalog)
    assert plan_evolution(spec, settled, columns(Field("b", INT, True))).verdicts == ()


def test_a_renamed_key_column_tells_rows_apart_in_the_same_commit() -> None:
    have = table(Field("id", INT), Field("a", INT), **{"frazil.key": '["id"]'})
    move = Migration(id="m", rename=Rename(from_="id", to="order_id"))

    evolution = planned(have, Field("order_id", INT), Field("a", INT), migrations=(move,))

    assert evolution.staged
    assert evolution.staged.table_metadata.properties["frazil.key"] == '["order_id"]'
    assert ids(evolution.schema)["order_id"] == ids(have.schema())["id"]
