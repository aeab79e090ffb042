"""The key that a table was made with stays; a new table is divided by it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table

from frazil.errors import CommitConflictError, DifferentError
from frazil.formats.columns.columns import RecordColumns, metadata_names
from frazil.formats.logical import Field, Primitive, Struct
from frazil.formats.row_key import NO_KEY, RowKey
from frazil.landing.position.ledger import Ledger, read_ledger
from frazil.landing.publication import Landed
from frazil.landing.schema.tables import ensure_table
from frazil.landing.upsert.key import key_columns
from frazil.landing.upsert.merge import MergeLanded
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.commits.stage import StagedFiles, publish
from kit.tables.commits import NAME, ledger

VERSIONS = TableSpec(topic="t", namespace="n", mode="cdc", versions="all", publish=())
UPSERT = TableSpec(topic="t", namespace="n", mode="upsert", publish=())
APPEND = TableSpec(topic="t", namespace="n", publish=())
COLUMNS = RecordColumns(
    Struct((Field("id", Primitive("long"), optional=True),)),
    Struct((Field("flag", Primitive("boolean")),)),
)
KEY = RowKey({"id": "_key.`id`"})


@pytest.fixture
def catalog(tmp_path: Path) -> InMemoryCatalog:
    return InMemoryCatalog("here", warehouse=tmp_path.as_uri())


def make(
    catalog: InMemoryCatalog, spec: TableSpec = UPSERT, key: RowKey = KEY, *, is_large: bool = False
) -> Table:
    return ensure_table(spec, TableHandle(catalog, NAME), COLUMNS, key, is_large=is_large)


def append(table: Table) -> None:
    """A row, whatever the other columns are."""
    own = table.schema().as_arrow()
    values = {"id": 1, "flag": True}
    table.append(pa.Table.from_pylist([values], own))


def land(catalog: InMemoryCatalog) -> None:
    publish(TableHandle(catalog, NAME), Landed(StagedFiles(), ledger(0, 3), None))


def newest(catalog: InMemoryCatalog) -> Ledger | None:
    return read_ledger(catalog.load_table(NAME.identifier).metadata)


@pytest.mark.parametrize(
    ("spec", "key", "fields"),
    [
        (UPSERT, KEY, ["id_bucket"]),
        (UPSERT, RowKey({"flag": "_value.`flag`", "id": "_key.`id`"}), ["id_bucket"]),
        (UPSERT, RowKey({"flag": "_value.`flag`"}), []),
        (UPSERT.model_copy(update={"partition_by": ("flag",)}), KEY, ["flag"]),
        (TableSpec(topic="t", namespace="n", mode="upsert", partition_by=()), KEY, []),
        (APPEND, NO_KEY, []),
    ],
)
def test_a_new_table_that_is_large_is_divided_by_its_key_unless_the_spec_says_how(
    catalog: InMemoryCatalog, spec: TableSpec, key: RowKey, fields: list[str]
) -> None:
    table = make(catalog, spec, key, is_large=True)

    assert [field.name for field in table.spec().fields] == fields
    assert key_columns(table) == tuple(key.columns)


def test_a_small_table_has_no_buckets_until_it_has_grown(
    catalog: InMemoryCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = make(catalog)
    append(small)
    land(catalog)
    assert make(catalog).spec().is_unpartitioned()

    monkeypatch.setattr("frazil.landing.upsert.divisions.LARGE_BYTES", 1)
    grown = make(catalog)

    assert [field.name for field in grown.spec().fields] == ["id_bucket"]
    assert make(catalog).metadata == grown.metadata


def test_a_table_that_others_commit_to_again_and_again_is_divided_by_the_next_landing(
    catalog: InMemoryCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(make(catalog))
    land(catalog)
    monkeypatch.setattr("frazil.landing.upsert.divisions.LARGE_BYTES", 1)

    def others_are_quicker(*_: object) -> None:
        raise CommitFailedException("another commit came in between")

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(catalog, "commit_table", others_are_quicker)
        with pytest.raises(CommitConflictError) as refusal:
            make(catalog)

    assert refusal.value.todo == "Land again."
    assert [field.name for field in make(catalog).spec().fields] == ["id_bucket"]


@pytest.mark.parametrize("settings", [{}, {"partition_by": ()}])
def test_divisions_that_somebody_changed_stay(
    catalog: InMemoryCatalog, monkeypatch: pytest.MonkeyPatch, settings: dict[str, tuple[str, ...]]
) -> None:
    spec = TableSpec(topic="t", namespace="n", mode="upsert", publish=(), **settings)
    table = make(catalog, spec)
    append(table)
    land(catalog)
    table.refresh()
    for change in ("add_identity", "remove_field"):
        with table.update_spec() as update:
            getattr(update, change)("flag")

    monkeypatch.setattr("frazil.landing.upsert.divisions.LARGE_BYTES", 1)

    assert make(catalog, spec).spec().is_unpartitioned()


def test_versions_that_hold_now_lie_apart_and_each_is_told_apart_by_its_record(
    catalog: InMemoryCatalog,
) -> None:
    table = make(catalog, VERSIONS, is_large=True)

    assert [field.name for field in table.spec().fields] == ["metadata_current", "id_bucket"]
    assert key_columns(table) == ("id", "$$partition", "$$offset", "$$timestamp")
    assert key_columns(make(catalog, VERSIONS)) == key_columns(table)


@pytest.mark.parametrize(
    "first", [(APPEND, NO_KEY), (UPSERT, RowKey({"flag": "_value.`flag`"})), (VERSIONS, KEY)]
)
def test_a_table_that_nothing_was_landed_into_takes_the_key_of_its_spec(
    catalog: InMemoryCatalog, first: tuple[TableSpec, RowKey]
) -> None:
    make(catalog, *first)
    make(catalog)

    assert key_columns(make(catalog)) == ("id",)
    make(catalog, APPEND, NO_KEY)
    assert key_columns(make(catalog, APPEND, NO_KEY)) == ()


def test_a_table_that_nothing_was_landed_into_gets_the_metadata_of_another_mode(
    catalog: InMemoryCatalog,
) -> None:
    make(catalog, APPEND, NO_KEY)
    table = make(catalog, VERSIONS)

    names = [field.name for field in table.schema().fields]
    assert set(metadata_names(VERSIONS)) <= set(names)
    assert make(catalog, VERSIONS).metadata == table.metadata


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((UPSERT, KEY), (APPEND, NO_KEY)),
        ((APPEND, NO_KEY), (UPSERT, KEY)),
        ((UPSERT, KEY), (UPSERT, RowKey({"flag": "_value.`flag`"}))),
        ((VERSIONS, KEY), (VERSIONS.model_copy(update={"versions": "last"}), KEY)),
        ((VERSIONS, KEY), (VERSIONS, RowKey({"flag": "_value.`flag`"}))),
    ],
)
def test_rows_are_told_apart_as_ever(
    catalog: InMemoryCatalog, before: tuple[TableSpec, RowKey], after: tuple[TableSpec, RowKey]
) -> None:
    made = make(catalog, *before)
    land(catalog)

    with pytest.raises(DifferentError, match="told apart in another way"):
        make(catalog, *after)
    assert key_columns(make(catalog, *before)) == key_columns(made)


@pytest.mark.parametrize("soft_first", [True, False])
def test_deleted_rows_stay_or_go_as_ever(catalog: InMemoryCatalog, soft_first: bool) -> None:
    hard, soft = (
        TableSpec.model_validate({"topic": "t", "namespace": "n", "mode": "cdc", "publish": (), "delete": d})
        for d in ("hard", "soft")
    )
    first, second = (soft, hard) if soft_first else (hard, soft)
    make(catalog, first)
    land(catalog)
    made = make(catalog, first)

    with pytest.raises(DifferentError, match="deleted in another way") as refused:
        make(catalog, second)

    assert refused.value.todo
    assert f"Write delete: {first.delete}" in refused.value.todo
    assert make(catalog, first).metadata == made.metadata


def test_a_merge_whose_files_are_gone_is_refused_and_nothing_changes(catalog: InMemoryCatalog) -> None:
    table = make(catalog)
    head = table.metadata.current_snapshot_id or 0
    merged = MergeLanded(StagedFiles(), ledger(0, 3), None, frozenset({"written anew.parquet"}), head=head)

    with pytest.raises(CommitConflictError, match="were written anew while their rows were merged") as raised:
        publish(TableHandle(catalog, NAME), merged)
    assert catalog.load_table(NAME.identifier).metadata == table.metadata

    assert raised.value.todo == "Try again."
    publish(TableHandle(catalog, NAME), replace(merged, removed=frozenset()))  # as who looks at the head anew


def test_a_merge_into_a_table_that_went_back_meanwhile_is_landed_again(catalog: InMemoryCatalog) -> None:
    """It said that it tries again by itself, and told so only once it had ceased to."""
    head = make(catalog).metadata.current_snapshot_id or 0
    merged = MergeLanded(StagedFiles(), ledger(0, 3), None, frozenset(), head=head + 1)
    with pytest.raises(CommitConflictError, match="was rolled back while") as raised:
        publish(TableHandle(catalog, NAME), merged)

    publish(TableHandle(catalog, NAME), replace(merged, head=head))

    assert raised.value.todo == "Land again."
    newest = read_ledger(catalog.load_table(NAME.identifier).metadata)
    assert newest
    assert newest.position == {0: 3}


def test_what_merged_counts_as_no_row(catalog: InMemoryCatalog) -> None:
    make(catalog)
    entry = replace(ledger(0, 9), inserted=5, updated=2, deleted=1, merged=5)
    publish(TableHandle(catalog, NAME), Landed(StagedFiles(), entry, None))
    second = replace(ledger(9, 11), deleted=2, merged=4)
    publish(
        TableHandle(catalog, NAME),
        Landed(StagedFiles(), second, read_ledger(catalog.load_table(NAME.identifier).metadata)),
    )

    newest = read_ledger(catalog.load_table(NAME.identifier).metadata)
    assert newest
    assert (newest.total_merged, newest.offsets - newest.known) == (9, 2)
