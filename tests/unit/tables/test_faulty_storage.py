"""Storage that cuts files in their middle, or wants to be asked more slowly: asked again, or told as it is.

A file is never taken for a shorter one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from frazil.errors import PartDownError
from frazil.formats.logical import Field, Primitive
from frazil.settings.profile import Settings
from frazil.spec.names import TableName
from frazil.tables.catalogs.catalog import catalog_errors, open_catalog
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.commits.replacement import same_rows
from frazil.tables.commits.rewrite import stage_same_rows
from frazil.tables.creation import create_table
from frazil.tables.metadata.manifests import HeadReader
from frazil.tables.reading.rows import batches_in
from frazil.tables.writing.data_files import file_layout
from frazil.tables.writing.transfer import OldFile, fetched, rows_in
from kit.readers.duck import duckdb_on
from kit.wires.lying import glue_in_process
from kit.wires.wire import Asked, Wire, wired

NAME = TableName("n", "t")
FIELDS = Field("n", Primitive("long")), Field("text", Primitive("string"))
FILES, ROWS = 3, 2000
Read = Callable[[Catalog, Settings], Any]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Wire, Settings]]:
    """A wire before a Glue and an S3 in this process, and a table of some files behind it."""
    with glue_in_process(tmp_path_factory.mktemp("glue")) as url, wired({"s3": url}) as (wire, urls):
        settings = Settings.load(
            catalog="glue",
            glue={"endpoint": url, "warehouse": "s3://lake/tables"},
            s3={"endpoint": urls["s3"]},
            aws={"access_key": "key", "secret_key": "secret"},
        )
        _make_bucket(url)
        catalog = open_catalog(settings)
        catalog.create_namespace(NAME.namespace)
        table = create_table(TableHandle(catalog, NAME), FIELDS, (), {})
        for file in range(FILES):
            table.append(_rows(table, range(file * ROWS, (file + 1) * ROWS)))
        yield wire, settings


@pytest.fixture
def wire(lake: tuple[Wire, Settings]) -> Iterator[Wire]:
    """Calm again when the test ends."""
    yield lake[0]
    lake[0].calm()


@pytest.fixture
def settings(lake: tuple[Wire, Settings]) -> Settings:
    return lake[1]


def metadata(catalog: Catalog, _: Settings) -> object:
    return [s.snapshot_id for s in TableHandle(catalog, NAME).load().snapshots()]


def manifests(catalog: Catalog, _: Settings) -> object:
    head = HeadReader().read(TableHandle(catalog, NAME).load())
    assert head
    return sorted((path, e.data_file.record_count) for path, e in head.entries.items())


def rows(catalog: Catalog, _: Settings) -> object:
    table = TableHandle(catalog, NAME).load()
    return _numbers(batches_in(table, table.schema(), _files(table)))


def scanned(catalog: Catalog, _: Settings) -> object:
    return _numbers(TableHandle(catalog, NAME).load().scan().to_arrow_batch_reader())


def compacted(catalog: Catalog, _: Settings) -> object:
    """What a compaction's task reads, of files that it takes whole, and of such that it reads in parts."""
    table = TableHandle(catalog, NAME).load()
    layout = file_layout(table)
    old = [OldFile(f.file_path, size) for f in _files(table) for size in (f.file_size_in_bytes, 2**30)]
    return _numbers(batch for batch in rows_in(layout, old))


def in_duckdb(catalog: Catalog, settings: Settings) -> object:
    """Another engine's way."""
    with duckdb_on(settings) as duck:
        location = TableHandle(catalog, NAME).load().metadata_location
        return duck.sql(f"SELECT n FROM iceberg_scan('{location}') ORDER BY n").fetchall()


READERS = [metadata, manifests, rows, scanned, compacted, in_duckdb]


@pytest.mark.parametrize("read", READERS)
def test_a_file_that_is_cut_once_is_read_to_its_end(wire: Wire, settings: Settings, read: Read) -> None:
    whole = read(open_catalog(settings), settings)
    cut: set[str] = set()

    def once_a_file(asked: Asked) -> bool:
        is_new = asked.method == "GET" and asked.path not in cut
        cut.add(asked.path)
        return is_new

    wire.plan = lambda asked: "cut" if once_a_file(asked) else None

    assert read(open_catalog(settings), settings) == whole
    assert cut


def test_a_file_that_is_always_cut_is_an_error_that_names_the_storage(wire: Wire, settings: Settings) -> None:
    wire.always("cut", lambda asked: asked.method == "GET")

    with ThreadPoolExecutor(len(READERS)) as threads:  # each of them tries for seconds
        assert None not in threads.map(lambda read: refusal(read, settings), READERS)


OWN_CLIENTS = [rows, in_duckdb]
"""One for each client of S3."""


@pytest.mark.parametrize("read", OWN_CLIENTS)
def test_storage_that_wants_to_be_asked_more_slowly_is_asked_again(
    wire: Wire, settings: Settings, read: Read
) -> None:
    whole = read(open_catalog(settings), settings)
    asked_for = Counter[str]()

    def two_of_each_file(asked: Asked) -> bool:
        asked_for[asked.path] += 1
        return asked_for[asked.path] <= 2

    wire.always("throttled", two_of_each_file)

    assert read(open_catalog(settings), settings) == whole
    assert wire.met["s3", "throttled"]


def test_storage_that_wants_that_for_longer_than_anybody_asks_is_named(
    wire: Wire, settings: Settings
) -> None:
    before = rows(open_catalog(settings), settings)
    table = TableHandle(open_catalog(settings), NAME).load()

    def append(*_: Any) -> None:
        table.append(_rows(table, range(1)))

    wire.always("throttled", lambda _: True)

    with ThreadPoolExecutor(len(READERS) + 1) as threads:  # each of them tries for seconds
        refusals = threads.map(lambda work: refusal(work, settings), [*READERS, append])
        assert {*refusals} <= {PartDownError, duckdb.HTTPException}
    wire.calm()

    assert rows(open_catalog(settings), settings) == before


def test_storage_is_named_where_it_refuses_a_manifest_while_another_takes_its_place(
    wire: Wire, settings: Settings
) -> None:
    """What stays is read from the old one again, while the new one is open, and still empty."""
    catalog = open_catalog(settings)
    table = create_table(TableHandle(catalog, TableName("n", "twofold")), FIELDS, (), {})
    one, other, *_ = _files(TableHandle(catalog, NAME).load())
    with table.transaction() as tx, tx.update_snapshot().fast_append() as snapshot:
        snapshot.append_data_file(one)
        snapshot.append_data_file(other)
    head = HeadReader().read(table)
    assert head
    without_one = same_rows(head, {one.file_path}, ())
    wire.always("throttled", lambda asked: asked.method == "GET" and "/snap-" not in asked.path)

    with pytest.raises(PartDownError), catalog_errors(settings), table.transaction() as tx:
        stage_same_rows(tx, without_one, {})


def test_a_small_file_is_written_by_one_request(wire: Wire, settings: Settings) -> None:
    """An upload in parts takes three, and each is a commit of the store's own."""
    written: list[str] = []
    wire.plan = lambda asked: written.append(asked.path) if asked.method in ("PUT", "POST") else None

    table = create_table(TableHandle(open_catalog(settings), TableName("n", "small")), FIELDS, (), {})
    written.clear()
    table.append(_rows(table, range(10)))

    assert sum(".parquet" in path for path in written) == 1
    assert not [path for path in written if "upload" in path]


def test_a_file_that_was_read_at_once_is_not_asked_for_again(wire: Wire, settings: Settings) -> None:
    table = TableHandle(open_catalog(settings), NAME).load()
    layout, file = file_layout(table), _files(table)[0]
    asked: list[str] = []
    wire.plan = lambda request: asked.append(request.method) if ".parquet" in request.path else None

    read = fetched(layout, OldFile(file.file_path, file.file_size_in_bytes))
    keys, all_ = (_numbers(rows_in(layout, [read], columns)) for columns in (["n"], None))

    assert keys == all_
    assert len(keys) == ROWS
    assert asked.count("GET") == 1


def test_an_upload_that_storage_no_longer_knows_when_it_is_asked_again_is_named(settings: Settings) -> None:
    message = "AWS Error NO_SUCH_UPLOAD during CompleteMultipartUpload operation: The upload does not exist."

    with pytest.raises(PartDownError), catalog_errors(settings):  # as SeaweedFS answers; moto does not
        raise OSError(message)


def refusal(work: Read, settings: Settings) -> type[Exception] | None:
    """What it ends with, as people are told of it; DuckDB tells it itself."""
    try:
        with catalog_errors(settings):
            work(open_catalog(settings), settings)
    except (PartDownError, duckdb.Error) as e:
        return type(e)
    return None


def _make_bucket(url: str) -> None:
    from botocore.session import Session

    credentials = {"aws_access_key_id": "key", "aws_secret_access_key": "secret", "region_name": "us-east-1"}
    Session().create_client("s3", endpoint_url=url, **credentials).create_bucket(Bucket="lake")


def _rows(table: Table, numbers: range) -> pa.Table:
    columns = {"n": list(numbers), "text": [f"text {n * 7919 % 10_007}" for n in numbers]}
    return pa.table(columns, schema=table.schema().as_arrow())


def _files(table: Table) -> list[Any]:
    return [task.file for task in table.scan().plan_files()]


def _numbers(batches: Any) -> list[int]:
    return sorted(n for batch in batches for n in batch["n"].to_pylist())
