"""The proof that values are gone: every object below a table's location is read, named or not.

Of Parquet all rows and texts, of manifests the bounds and partitions too, of anything else its bytes. What
a bucket keeps of files that were deleted is counted, not read: none may be left.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any

from frazil.exact import value_of
from frazil.settings.profile import Settings
from frazil.tables.catalogs.handle import TableHandle
from frazil.upkeep.forgetting.condition import Condition
from frazil.upkeep.storage import key_of, list_files, named_keys, read_present
from frazil.upkeep.versions.bucket import Versions, place_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.io import FileIO
    from pyiceberg.table import Table


_AT_ONCE = 4
_BATCH = 8192  # rows that are held at once
_BOUND = 16  # signs to which writers cut a bound of a text (`write.metadata.metrics.default`)


@dataclass(frozen=True, slots=True)
class Found:
    """An object that still holds what was to be forgotten."""

    path: str
    what: str


@dataclass(frozen=True, slots=True)
class Proof:
    """What reading everything of one table came to."""

    table: str
    objects: int
    bytes: int
    found: tuple[Found, ...]


def prove(handle: TableHandle, condition: Condition, settings: Settings) -> Proof:
    """Reads every object below a table's location; the table need not name it.

    Raises:
        NotAllowedError: Nobody tells whether the bucket keeps older versions of files.
    """
    table = handle.load()
    files = sorted(list_files(table, ("",)), key=lambda file: file.path)
    search = _Search(table, condition)
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="proving") as pool:
        looks = pool.map(partial(_look, search, table.io), (file.path for file in files))
        every = (*(each for some in looks for each in some), *older_versions(table, settings))
    return Proof(str(handle.name), len(files), sum(file.bytes for file in files), every)


def older_versions(table: Table, settings: Settings) -> Iterator[Found]:
    """The folder of a table, if its bucket keeps versions of files that were deleted there."""
    place = place_of(table.location())
    kept = 0 if place is None else Versions(settings, place, table.io.properties).older()
    if kept:
        yield Found(table.location(), f"the bucket keeps {kept:,} older versions of files that went")


def unnamed_with(handle: TableHandle, condition: Condition) -> Iterator[str]:
    """Data files of a table, and of its dead letters, that no snapshot names and that hold such rows.

    A merge or a compaction that died left them, or one is at work.
    """
    for each in (handle, handle.dead_letters):
        if table := each.load_or_none():
            listed = [file.path for file in list_files(table, ("data",))]
            named = read_present(each, named_keys, "Nothing more was changed.")
            search = _Search(table, condition)
            left = (path for path in listed if key_of(path) not in named)
            yield from (path for path in left if _look(search, table.io, path))


def _look(search: _Search, io: FileIO, path: str) -> list[Found]:
    try:
        with io.new_input(path).open() as file:
            content = file.read()
    except FileNotFoundError:  # expiry was quicker
        return []
    if path.endswith(".parquet"):
        lines = search.rows(content)
    elif path.endswith(".avro"):
        lines = search.manifest(content)
    else:
        lines = search.plain(gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content)
    return [Found(path, what) for what in dict.fromkeys(lines)]


class _Search:
    """Looks for the values of one condition, as one table has them."""

    def __init__(self, table: Table, condition: Condition) -> None:
        from pyiceberg.conversions import to_bytes

        fields: dict[str, Any] = {f.name: f for f in table.schema().fields if f.name in condition.types}
        self._condition = condition
        self._columns = {field.field_id: name for name, field in fields.items()}
        self._texts = tuple(text.encode() for text in condition.texts)
        values = [(column, value) for match in condition.matches for column, vs in match for value in vs]
        self._values = {(column, str(value)) for column, value in values}
        self._bounds = {
            (fields[column].field_id, to_bytes(fields[column].field_type, value)[:_BOUND])
            for column, value in values
            if column in fields
        }

    def plain(self, content: bytes) -> Iterator[str]:
        """Texts in any bytes."""
        if any(text in content for text in self._texts):
            yield "its bytes hold a text"

    def rows(self, content: bytes) -> Iterator[str]:
        """Rows that match, texts in any column, and what the footer says."""
        import pyarrow.parquet as pq

        file = pq.ParquetFile(BytesIO(content))
        names = {field.name: self._columns.get(_id_of(field)) for field in file.schema_arrow}
        for batch in file.iter_batches(_BATCH):
            columns = {own: batch.column(name) for name, own in names.items() if own}
            if any(self._matches(columns, batch.num_rows)):
                yield "a row matches"
            if any(_holds(column, self._texts) for column in batch.columns):
                yield "a column holds a text"
        yield from self.plain(content)  # bounds in the footer

    def manifest(self, content: bytes) -> Iterator[str]:
        """Bounds and partitions of files, of those that are gone too, and texts anywhere."""
        import fastavro

        for entry in fastavro.reader(BytesIO(content)):
            file: Any = entry.get("data_file") or {}  # type: ignore[union-attr]
            for place in ("lower_bounds", "upper_bounds"):
                bounds = {(each["key"], each["value"][:_BOUND]) for each in file.get(place) or ()}
                if bounds & self._bounds:
                    yield "a bound of a column is the value"
            if {(k, str(v)) for k, v in (file.get("partition") or {}).items()} & self._values:
                yield "a partition is the value"
            if any(text in part for part in _texts_in(entry) for text in self._texts):
                yield "a text of a manifest"

    def _matches(self, columns: dict[str, pa.Array], rows: int) -> Iterator[bool]:
        import pyarrow as pa
        import pyarrow.compute as pc

        for match in self._condition.matches:
            if any(column not in columns for column, _ in match):
                continue
            mask = pa.array([True] * rows)
            for column, values in match:
                plain = _plain(columns[column])
                mask = pc.and_(mask, pc.is_in(plain, value_set=_values(values, plain.type)))
            yield bool(value_of(pc.any(mask)))


def _id_of(field: pa.Field) -> int:
    return int((field.metadata or {}).get(b"PARQUET:field_id", -1))


def _plain(column: pa.Array) -> pa.Array:
    import pyarrow as pa

    column = column.storage if isinstance(column, pa.ExtensionArray) else column
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _values(values: Iterable[Any], kind: pa.DataType) -> pa.Array:
    """Values as Iceberg holds them, in a column's type: moments are numbers of microseconds."""
    import pyarrow as pa

    every = list(values)
    if pa.types.is_timestamp(kind):
        return pa.array(every, pa.int64()).cast(pa.timestamp("us", kind.tz)).cast(kind)
    if pa.types.is_date(kind):
        return pa.array(every, pa.int32()).cast(kind)
    return pa.array(every).cast(kind)


def _holds(column: pa.Array, texts: Iterable[bytes]) -> bool:
    """Whether a column, or a part of it, holds one of some texts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column, kind = _plain(column), column.type
    if pa.types.is_struct(kind):
        return any(_holds(part, texts) for part in column.flatten())
    if pa.types.is_map(kind):
        return _holds(column.keys, texts) or _holds(column.items, texts)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _holds(column.values, texts)
    of_text = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    if not any(is_text(kind) for is_text in of_text):
        return False
    return any(value_of(pc.any(pc.match_substring(column, text))) for text in texts)


def _texts_in(value: Any) -> Iterator[bytes]:
    match value:
        case bytes():
            yield value
        case str():
            yield value.encode()
        case dict():
            yield from (text for each in value.values() for text in _texts_in(each))
        case list():
            yield from (text for each in value for text in _texts_in(each))
