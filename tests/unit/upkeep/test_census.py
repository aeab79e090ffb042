"""A census counts what is there, and sees a gain only where a compaction makes fewer or better files."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.manifest import DataFile, ManifestEntry
from pyiceberg.table import Table
from pyiceberg.typedef import Record

from frazil.spec.upkeep import Upkeep
from frazil.tables.metadata.files import LiveFile, live_file
from frazil.upkeep.census import take_census
from frazil.upkeep.compaction.bins import Gain, Rule, bins_of, gain_of
from frazil.upkeep.compaction.partitions import by_size
from frazil.upkeep.compaction.plan import group_files
from frazil.upkeep.facts import read_facts, read_history
from frazil.upkeep.work import MB, LastWork, remembered, size_text
from kit.drawn.examples import examples

RULE = Rule.of(Upkeep(), 128 * MB)
UPKEEP = Upkeep()
SCHEMA = pa.schema([("side", pa.string()), ("quantity", pa.int64())])


def files(*megabytes: float, **options: float) -> list[LiveFile]:
    sizes = [int(size * MB) for size in megabytes]
    return [LiveFile(f"f{n}", size, 100, sequence=n, **options) for n, size in enumerate(sizes)]  # type: ignore[arg-type]


def gain_in(files: list[LiveFile], rule: Rule) -> Gain:
    return gain_of(bins_of(files, rule, rule.shuffled if rule.sorts else 0), rule)


@pytest.mark.parametrize(
    ("megabytes", "into"),
    [
        ([1] * 10, 1),
        ([1] * 200, 2),
        ([90, 38], 1),
        ([64] * 4, 2),
        ([70, 70, 20, 20], 2),
    ],
)
def test_small_files_become_as_many_as_fit_the_target(megabytes: list[float], into: int) -> None:
    gain = gain_in(files(*megabytes), RULE)

    assert (gain.files, gain.into, gain.saved) == (len(megabytes), into, len(megabytes) - into)


@pytest.mark.parametrize(
    "megabytes",
    [[], [1], [128], [128, 128, 128, 5], [96, 230], [90, 90]],
    ids=str,
)
def test_files_that_would_come_out_as_they_went_in_are_no_gain(megabytes: list[float]) -> None:
    assert not gain_in(files(*megabytes), RULE)


@pytest.mark.parametrize("sorts", [True, False])
def test_files_are_cut_anywhere_so_three_of_ninety_megabytes_become_two(sorts: bool) -> None:
    assert gain_in(files(90, 90, 90), Rule.of(Upkeep(), 128 * MB, sorts=sorts)).saved == 1


def test_a_file_far_too_large_is_cut() -> None:
    gain = gain_in(files(600), RULE)

    assert (gain.files, gain.large, gain.saved) == (1, 1, 0)
    assert gain.into >= 4
    assert gain


@pytest.mark.parametrize(("deleted", "gains"), [(29, False), (30, True), (500, True)])
def test_a_file_is_rewritten_when_enough_of_its_rows_are_deleted(deleted: int, gains: bool) -> None:
    assert bool(gain_in(files(128, deleted=deleted), RULE)) is gains


@examples(100)
@given(st.lists(st.integers(1, 700), max_size=40), st.booleans())
def test_compacting_again_and_again_comes_to_an_end(megabytes: list[int], sorts: bool) -> None:
    rule = Rule.of(Upkeep(), 128 * MB, sorts=sorts)
    have = files(*megabytes)
    for _ in range(2 * len(megabytes) + 1):
        bins = bins_of(have, rule, rule.shuffled if sorts else 0)
        if not bins:
            break
        taken = {f.path for b in bins for f in b.files}
        made = [b.bytes / b.into / MB for b in bins for _ in range(b.into)]
        have = files(*[f.bytes / MB for f in have if f.path not in taken], *made)
    assert not gain_in(have, rule)


def test_files_are_counted_by_size_with_empty_classes() -> None:
    counted = by_size([0, MB - 1, MB, 127 * MB, 128 * MB, 4000 * MB])

    assert [(s.label, s.files) for s in counted] == [
        ("< 1 MiB", 2), ("1-8 MiB", 1), ("8-32 MiB", 0), ("32-128 MiB", 1), ("128-512 MiB", 1),
        (">= 512 MiB", 1),
    ]  # fmt: skip
    assert sum(s.bytes for s in counted) == 4257 * MB - 1


def test_sizes_are_told_in_the_unit_that_shows_them() -> None:
    texts = [size_text(n) for n in (0, 12_649, MB - 1, MB, 1234 * MB, 400_000, 2 * 10**9)]

    assert texts == ["0.0 KiB", "12.4 KiB", "1024.0 KiB", "1.0 MiB", "1,234.0 MiB", "400 KB", "2 GB"]


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[InMemoryCatalog]:
    made = InMemoryCatalog("unit", warehouse=tmp_path.as_uri())
    made.create_namespace("n")
    yield made
    made.close()


def make(catalog: InMemoryCatalog, by: str = "") -> Table:
    """A table as another tool makes it, without a property of Frazil's."""
    table = catalog.create_table(("n", "t"), SCHEMA)
    if by:
        with table.update_spec() as update:
            update.add_identity(by)
    return catalog.load_table(("n", "t"))


def add(table: Table, side: str, rows: int = 10) -> None:
    table.append(pa.Table.from_pylist([{"side": side, "quantity": n} for n in range(rows)], schema=SCHEMA))


def test_an_empty_table_has_nothing_to_count(catalog: InMemoryCatalog) -> None:
    census = take_census(make(catalog), UPKEEP, 128 * MB, now=0.0)

    assert (census.files, census.records, census.manifests, census.head) == (0, 0, 0, None)
    assert census.oldest is None
    assert [s.files for s in census.sizes] == [0] * 6


def test_a_table_of_another_tool_is_counted_by_partition(catalog: InMemoryCatalog) -> None:
    table = make(catalog, by="side")
    for side in ("BUY", "SELL", "BUY"):
        add(table, side)
    head = table.current_snapshot()
    assert head

    census = take_census(table, UPKEEP, 128 * MB, now=head.timestamp_ms / 1000 + 60)

    assert [(p.partition, p.files, p.ideal) for p in census.partitions] == [
        ("side=BUY", 2, 1),
        ("side=SELL", 1, 1),
    ]
    assert (census.files, census.small_files, census.ideal, census.saved) == (3, 3, 2, 1)
    assert (census.records, census.manifests, census.snapshots) == (30, 3, 3)
    assert census.small_bytes == census.bytes == sum(s.bytes for s in census.sizes) > 0
    assert census.metadata_bytes > 0
    assert census.oldest is not None
    assert census.oldest >= 60
    assert (census.unreachable, census.dead_branches, dict(census.last)) == (0, (), {})


@pytest.mark.parametrize(
    ("kind", "values", "counted"),
    [
        (pa.string(), [None, "null", "", "(empty)", "a/b", "a%2Fb", "a/b"], [1, 1, 1, 1, 1, 2]),
        (pa.binary(), [None, b"", b"\xff\x00", b"\xff\x00"], [1, 1, 2]),
        (pa.bool_(), [None, False, True, True], [1, 1, 2]),
        (pa.decimal128(38, 2), [Decimal("1.00"), Decimal("-1.00"), Decimal("1.00")], [1, 2]),
        (pa.timestamp("us"), [datetime.max, datetime.min, datetime.max], [1, 2]),
    ],
    ids=str,
)
def test_files_are_counted_by_the_values_of_their_partition_whatever_folder_they_share(
    catalog: InMemoryCatalog, kind: pa.DataType, values: list[object], counted: list[int]
) -> None:
    schema = pa.schema([("of", kind)])
    table = catalog.create_table(("n", "t"), schema)
    with table.update_spec() as update:
        update.add_identity("of")
    for value in values:
        table.append(pa.table({"of": [value]}, schema=schema))

    census = take_census(table, UPKEEP, 128 * MB, now=0.0)

    assert sorted(p.files for p in census.partitions) == counted
    assert len({p.values for p in census.partitions}) == len(counted)


def test_files_of_no_number_are_one_partition() -> None:
    files = [live_file(ManifestEntry.from_args(data_file=of_no_number(path))) for path in "ab"]

    assert [len(group) for group in group_files(files, 0).values()] == [2]


def of_no_number(path: str) -> DataFile:
    """A file whose partition is NaN, as a manifest names it."""
    sizes = {"file_path": path, "file_size_in_bytes": MB, "record_count": 1}
    file = DataFile.from_args(**sizes, partition=Record(float("nan")))
    file.spec_id = 0
    return file


def test_files_of_an_older_layout_are_one_group(catalog: InMemoryCatalog) -> None:
    table = make(catalog)
    add(table, "BUY")
    add(table, "SELL")
    with table.update_spec() as update:
        update.add_identity("side")
    table = catalog.load_table(("n", "t"))
    add(table, "BUY")

    census = take_census(table, UPKEEP, 128 * MB, now=0.0)

    assert {(p.partition, p.files) for p in census.partitions} == {("(older layout)", 2), ("side=BUY", 1)}


def test_a_branch_that_its_work_left_behind_is_a_suspect_once_it_is_old(catalog: InMemoryCatalog) -> None:
    table = make(catalog)
    add(table, "BUY")
    head = table.current_snapshot()
    assert head
    began = head.timestamp_ms
    table.manage_snapshots().create_branch(head.snapshot_id, f"landing_{began}_0123abcd").commit()
    table.manage_snapshots().create_branch(head.snapshot_id, "audit").commit()

    young = take_census(table, UPKEEP, 128 * MB, now=began / 1000 + 3600)
    old = take_census(table, UPKEEP, 128 * MB, now=began / 1000 + 7 * 3600)

    assert young.dead_branches == ()
    assert [(b.name, b.files, b.age) for b in old.dead_branches] == [
        (f"landing_{began}_0123abcd", 0, pytest.approx(7 * 3600))
    ]


def test_the_last_work_of_each_kind_is_remembered(catalog: InMemoryCatalog) -> None:
    table, last = make(catalog), LastWork(12.5, "300 files became 2.", 7)
    with table.transaction() as tx:
        tx.set_properties(remembered("compaction", last))

    assert take_census(table, UPKEEP, 128 * MB, now=20.0).last == {"compaction": last}


@pytest.mark.usefixtures("garbage_waits")
@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("yesterday", {}),
        ("[1]", {}),
        ("[" * 10_000, {}),
        ('{"at": 12.5, "snapshot_id": 1e999}', {}),
        ('{"text": "no time"}', {}),
        ('{"at": 12.5}', {"compaction": LastWork(12.5, "", None)}),
        ('{"at": 12.5, "text": "t", "snapshot_id": 7, "new": 1}', {"compaction": LastWork(12.5, "t", 7)}),
    ],
    ids=["nonsense", "a list", "too deep", "too much", "no time", "older", "newer"],
)
def test_what_other_versions_remember_keeps_no_table_from_upkeep(
    catalog: InMemoryCatalog, text: str, kept: dict[str, LastWork]
) -> None:
    table = make(catalog)
    with table.transaction() as tx:
        tx.set_properties({"frazil.upkeep.compaction": text})

    assert read_facts(table.metadata).last == kept


def test_facts_come_from_the_head_and_history_from_all_snapshots(catalog: InMemoryCatalog) -> None:
    table = make(catalog)
    assert read_facts(table.metadata).head is None
    assert read_history(table.metadata).oldest is None
    for side in ("BUY", "SELL", "SELL"):
        add(table, side)
    first = table.metadata.snapshots[0]

    facts, history = read_facts(table.metadata), read_history(table.metadata)

    assert (facts.files, facts.delete_files, facts.commits, facts.last) == (3, 0, 3, {})
    assert facts.bytes
    assert (history.head, history.snapshots, history.oldest) == (facts.head, 3, first.timestamp_ms / 1000)
    assert (history.left.seen, history.quiet) == (0, False)


@pytest.mark.parametrize(("made", "quiet"), [(1, False), (2, True), (3, True)])
def test_a_compaction_that_saved_no_file_is_the_last_one_until_something_changes(
    catalog: InMemoryCatalog, made: int, quiet: bool
) -> None:
    table = make(catalog)
    add(table, "BUY")
    summary = {"frazil.upkeep": "compaction", "deleted-data-files": "2", "added-data-files": str(made)}
    with table.transaction() as tx, tx.update_snapshot(snapshot_properties=summary).fast_append():
        pass
    head = table.current_snapshot()
    assert head
    with table.transaction() as tx:
        tx.set_properties(remembered("compaction", LastWork(1.0, "", head.snapshot_id)))

    after = read_history(table.metadata)
    add(table, "BUY")
    later = read_history(table.metadata)

    assert (after.quiet, after.left.seen) == (quiet, head.sequence_number)
    assert (later.quiet, later.left.seen) == (False, head.sequence_number)


@pytest.mark.parametrize(("expired", "quiet_then"), [(0.5, True), (1.5, False), (3.0, False)])
def test_a_compaction_that_did_nothing_may_do_more_once_snapshots_expired_since_it_began(
    catalog: InMemoryCatalog, expired: float, quiet_then: bool
) -> None:
    table = make(catalog)
    add(table, "BUY")
    head = table.current_snapshot()
    assert head
    with table.transaction() as tx:
        tx.set_properties(remembered("compaction", LastWork(2.0, "", head.snapshot_id, seconds=1.0)))

    quiet = read_history(table.metadata).quiet
    with table.transaction() as tx:
        tx.set_properties(remembered("expiry", LastWork(expired, "", head.snapshot_id)))

    assert (quiet, read_history(table.metadata).quiet) == (True, quiet_then)


def test_old_copies_are_what_all_snapshots_but_the_oldest_removed(catalog: InMemoryCatalog) -> None:
    table = make(catalog)
    add(table, "BUY")
    size = int(read_facts(table.metadata).bytes or 0)
    table.delete()
    add(table, "SELL")

    copies = read_history(table.metadata).copies

    assert copies.bytes == size > 0
    assert copies.made_by == frozenset()


def test_partitions_are_named_as_paths(catalog: InMemoryCatalog) -> None:
    table = make(catalog, by="side")
    add(table, "a/b")

    assert [p.partition for p in take_census(table, UPKEEP, 128 * MB, now=0.0).partitions] == ["side=a%2Fb"]
