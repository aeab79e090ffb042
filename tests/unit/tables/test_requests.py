"""What is counted of requests to the store: by table, by what a commit says, and as Arrow makes them."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from frazil.tables.catalogs.requests import RequestCounter, Requests, puts_of
from frazil.tables.reading.columns import ranges_of

TABLE = "s3://lake/ns/data/orders"


def test_requests_are_counted_by_the_table_that_a_file_is_of() -> None:
    counter = RequestCounter()
    counter.of_file(f"{TABLE}/metadata/a-m0.avro", Requests(reads=2))
    counter.of_file(f"{TABLE.replace('s3', 's3a', 1)}/data/day=1/b.parquet", Requests(reads=1))
    counter.of_file("s3://lake/ns/data/others/metadata/a-m0.avro", Requests(puts=1, bytes=70))
    counter.of_table(f"{TABLE}/", Requests(puts=1))

    assert counter.take(TABLE) == Requests(reads=3, puts=1)
    assert counter.take(TABLE) == Requests(), "a commit has said it"
    assert (counter.take("s3://lake/ns/data/others").bytes, counter.reads) == (70, 3)


def test_files_of_this_machine_cost_no_request(tmp_path: Path) -> None:
    counter = RequestCounter()
    for path in (f"{tmp_path}/metadata/a.avro", f"file://{tmp_path}/metadata/a.avro"):
        counter.of_file(path, Requests(reads=1))

    assert counter.reads == 0


@pytest.mark.parametrize("noted", ["", "{", '{"reads": null}', '{"reads": 1, "others": 2}', "[]"])
def test_what_a_snapshot_does_not_say_clearly_is_not_known(noted: str) -> None:
    requests = Requests(2, 3, 4)

    assert Requests.of(requests.summary) == requests
    assert Requests.of({"frazil.requests": noted} if noted else {}) is None


def test_a_large_file_is_put_in_parts() -> None:
    assert [puts_of(size << 20) for size in (1, 9, 12, 128)] == [1, 1, 4, 15]


class Counting(io.BytesIO):
    """A file that counts how often it is read."""

    reads = 0

    def read(self, *size: Any) -> bytes:
        self.reads += 1
        return super().read(*size)


@pytest.mark.parametrize("wanted", ["a", "b", "abcde", "ae", "ace", "abde"])
@pytest.mark.parametrize("rows", [10, 20_000])
def test_columns_are_read_by_as_many_requests_as_arrow_makes(wanted: str, rows: int) -> None:
    table = pa.table({"a": range(rows), "b": [{"x": n, "y": str(n)} for n in range(rows)]})
    table = table.append_column("c", pa.array([str(n) * 9 for n in range(rows)]))
    table = table.append_column("d", pa.array([n % 3 for n in range(rows)])).append_column("e", table["a"])
    content = io.BytesIO()
    pq.write_table(table, content, compression="none")
    file = Counting(content.getvalue())
    parquet = pq.ParquetFile(pa.PythonFile(file, mode="r"), pre_buffer=True)
    file.reads = 0

    list(parquet.iter_batches(row_groups=[0], columns=[*wanted], use_threads=False))

    assert ranges_of(parquet.metadata.row_group(0), {*wanted}) == file.reads
