"""Which delete files a reader must open for a data file, and which of them take no row away any more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest
from pyiceberg.manifest import DataFile, DataFileContent, ManifestEntry
from pyiceberg.typedef import Record

from frazil.tables.format_v3.fields import DeleteKey
from frazil.tables.metadata.deletions import Burden, Deletions

_PATH = 2147483546


def entry(file: DataFile, sequence: int, came: int | None = None) -> ManifestEntry:
    file.spec_id = 0
    return ManifestEntry.from_args(
        sequence_number=sequence, file_sequence_number=sequence if came is None else came, data_file=file
    )


def data(
    path: str, sequence: int, rows: int = 100, side: str | None = "BUY", came: int | None = None
) -> ManifestEntry:
    file = DataFile.from_args(
        content=DataFileContent.DATA, file_path=path, partition=Record(side), record_count=rows
    )
    return entry(file, sequence, came)


def by_position(
    path: str, sequence: int, rows: int, hit: Sequence[str] = (), side: str | None = "BUY"
) -> ManifestEntry:
    """A delete file of rows in some data files; without any its bounds are not known."""
    bounds = [{_PATH: edge(hit).encode()} for edge in (min, max)] if hit else [None, None]
    file = DataFile.from_args(
        content=DataFileContent.POSITION_DELETES, file_path=path, partition=Record(side), record_count=rows,
        lower_bounds=bounds[0], upper_bounds=bounds[1],
    )  # fmt: skip
    return entry(file, sequence)


def by_equality(path: str, sequence: int, side: str | None = "BUY") -> ManifestEntry:
    file = DataFile.from_args(
        content=DataFileContent.EQUALITY_DELETES, file_path=path, partition=Record(side), record_count=1
    )
    return entry(file, sequence)


def paths(keys: Iterable[DeleteKey]) -> set[str]:
    return {path for path, _ in keys}


def of(data: Sequence[ManifestEntry], *deleting: ManifestEntry) -> Deletions:
    return Deletions(tuple(data), deleting)


def test_a_delete_file_of_one_data_file_is_no_burden_to_another() -> None:
    deletions = of([data("a", 1), data("b", 1)], by_position("d", 2, 7, ["a"]), by_position("e", 3, 1, ["a"]))

    assert deletions.burdens == {"a": Burden(2, 8)}
    assert paths(deletions.idle()) == set()


@pytest.mark.parametrize("bounds", [["a", "b"], []], ids=["bounds", "no bounds"])
def test_each_data_file_bears_a_share_by_its_rows_of_a_delete_file_of_several(bounds: list[str]) -> None:
    files = [data("a", 1, 300), data("b", 1, 100), data("a2", 1, side="SELL")]

    assert of(files, by_position("d", 2, 40, bounds)).burdens == {"a": Burden(1, 30), "b": Burden(1, 10)}


def test_positions_in_a_file_were_never_noted_before_it_came() -> None:
    # A compaction's file bears the number of the head that it read, and came later.
    deletions = of([data("b", sequence=2, came=3)], by_position("d", 2, 40))

    assert (deletions.burdens, paths(deletions.idle())) == ({}, {"d"})


def test_deletes_by_equality_hold_for_what_is_older_in_their_partition() -> None:
    files = [data("a", 1), data("b", 2), data("c", 1, side="SELL"), data("d", 3)]

    deletions = of(files, by_equality("e", 2), by_equality("f", 3), by_equality("g", 1))

    assert deletions.burdens == {"a": Burden(2), "b": Burden(1)}
    assert paths(deletions.idle()) == {"g"}


def test_without_a_partition_they_hold_for_all_that_is_older() -> None:
    files = [data("a", 1), data("b", 2, side="SELL"), data("c", 3)]

    assert of(files, by_equality("e", 3, side=None)).burdens == {"a": Burden(1), "b": Burden(1)}


def test_delete_files_go_with_the_last_file_that_they_take_rows_from() -> None:
    files = [data("a", 1), data("b", 1)]
    deletions = of(
        files, by_position("d", 2, 1, ["a"]), by_position("e", 2, 2, ["a", "b"]), by_equality("f", 2)
    )

    assert paths(deletions.idle()) == set()
    assert paths(deletions.idle({"a"}, sequence=2)) == {"d"}
    assert paths(deletions.idle({"a", "b"}, sequence=2)) == {"d", "e", "f"}


def test_what_was_deleted_by_equality_after_a_file_was_read_stays_deleted() -> None:
    deletions = of([data("a", 1)], by_equality("e", 2), by_equality("f", 3))

    assert paths(deletions.idle({"a"}, sequence=2)) == {"e"}


def test_a_delete_file_of_no_file_that_is_there_is_idle() -> None:
    deletions = of([data("b", 1)], by_position("d", 2, 1, ["a"]), by_equality("e", 2, side="SELL"))

    assert (deletions.burdens, paths(deletions.idle())) == ({}, {"d", "e"})
