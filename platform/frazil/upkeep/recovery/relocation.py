"""A table whose files lie elsewhere now gets metadata that names them there, beside the old, which stays.

Data files name no path. What does: the metadata file, lists of manifests, manifests, and files of deletes by
position. As Iceberg's procedure `rewrite_table_path`, and without Spark.
"""

from __future__ import annotations

import io
import json
import struct
import uuid
from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Any

from frazil.errors import MALFORMED, RepairError
from frazil.exact import value_of, values_of
from frazil.tables.catalogs.catalog import is_gone
from frazil.tables.catalogs.pyiceberg import read_metadata, storage_of
from frazil.tables.format_v3.fields import PATH_OF_DELETES
from frazil.tables.metadata.stored import METADATA, number_of
from frazil.upkeep.recovery.avro_files import AvroFile
from frazil.upkeep.recovery.moves import Moves
from frazil.upkeep.recovery.states import Metadata, State

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.catalog import Catalog

_REMOVED = 2  # status of a manifest's entry
_BY_POSITION = 1  # content of a delete file
_BOUNDS = ("lower_bounds", "upper_bounds")

_WITH_PATHS = ("location", "metadata-log", "statistics", "partition-statistics", "properties")
"""Of a metadata file, beside its snapshots."""

UNMADE = "The catalog has no such table now. No file was changed."
"""What it means that a table did not come back."""

_PUFFIN = b"PFA1"
_TAIL = 12  # length of the footer, flags, and the magic again


def relocated(catalog: Catalog, state: State, moves: Moves) -> State:
    """The same state of a table by the paths that its files have now; itself, if they are where it says.

    Raises:
        RepairError: A file of it can't be rewritten.
    """
    location = moves.to(state.metadata.location)
    if location == state.metadata.location:
        return state
    path = _Relocation(catalog, location.rstrip("/"), moves).written(state)
    after = Metadata(catalog).read(path)
    assert isinstance(after, State), after
    return after


class _Relocation:
    """One table's files, each written once."""

    def __init__(self, catalog: Catalog, location: str, moves: Moves) -> None:
        self._catalog, self._moves, self._folder = catalog, moves, f"{location}/metadata"
        self._io = storage_of(catalog, location)
        self._done: dict[str, tuple[str, int]] = {}  # where each old file is now, and its bytes
        self._ends: dict[str, tuple[str, str]] = {}  # the first and the last path that deletes name

    def written(self, state: State) -> str:
        """Writes all that names paths, what is named first; the path of the new metadata file."""
        document = json.loads(read_metadata(self._catalog, state.path))
        for snapshot in document.get("snapshots") or ():
            if "manifest-list" not in snapshot:
                raise _refusal(state.path, "its snapshots name manifests, and no lists of them")
            snapshot["manifest-list"] = self._list(snapshot["manifest-list"])
        document |= {name: self._moves.within(document[name]) for name in _WITH_PATHS if name in document}
        before = {"timestamp-ms": document["last-updated-ms"], "metadata-file": state.path}
        document["metadata-log"] = [*(document.get("metadata-log") or ()), before]
        path = self._next(state.path)
        self._put(path, json.dumps(document).encode())
        return path

    def _next(self, before: str) -> str:
        """Path of the metadata file behind another one, named as this is: SeaweedFS takes `v7` alone."""
        numbers = count(number_of(before) + 1)
        if not before.rpartition("/")[2].startswith("v"):
            return f"{self._folder}/{next(numbers):05d}-{uuid.uuid4()}{METADATA}"
        paths = (f"{self._folder}/v{number}{METADATA}" for number in numbers)
        return next(path for path in paths if not self._io.new_input(path).exists())

    def _list(self, path: str) -> str:
        def within(content: bytes) -> bytes:
            manifests = AvroFile.read(content)
            for each in manifests.records:
                each["manifest_path"], length = self._manifest(each["manifest_path"])
                each["manifest_length"] = length or each["manifest_length"]
            return manifests.written()

        return self._again(path, within, ".avro")[0]

    def _manifest(self, path: str) -> tuple[str, int]:
        def within(content: bytes) -> bytes:
            manifest = AvroFile.read(content)
            for each in manifest.records:
                self._move(each["data_file"], is_there=each["status"] != _REMOVED)
            return manifest.written()

        return self._again(path, within, "-m0.avro")

    def _move(self, file: dict[str, Any], *, is_there: bool) -> None:
        """Names a data or delete file where it is; one that names paths itself is written anew."""
        of = file.get("referenced_data_file")
        if of:
            file["referenced_data_file"] = self._moves.to(of)
        if file.get("content") != _BY_POSITION or not is_there:
            file["file_path"] = self._moves.to(file["file_path"])
            return
        path = file["file_path"]
        file["file_path"], length = self._deletes(path, file["file_format"].upper())
        file["file_size_in_bytes"] = length or file["file_size_in_bytes"]
        ends = self._ends.get(path, (file.get("referenced_data_file") or "",) * 2)
        for bounds, end in zip(_BOUNDS, ends, strict=True):
            others = [each for each in file.get(bounds) or () if each["key"] != PATH_OF_DELETES]
            file[bounds] = [*others, *([{"key": PATH_OF_DELETES, "value": end.encode()}] if end else ())]

    def _deletes(self, path: str, kind: str) -> tuple[str, int]:
        def positions(content: bytes) -> bytes:
            moved, *ends = _moved_positions(content, self._moves)
            self._ends[path] = (ends[0], ends[1])
            return moved

        match kind:
            case "PUFFIN":
                return self._again(path, lambda content: moved_vectors(content, self._moves), "-deletes")
            case "PARQUET":
                return self._again(path, positions, "-deletes.parquet")
        raise _refusal(path, f"it has deletes by position, in {kind}")

    def _again(self, path: str, within: Callable[[bytes], bytes], suffix: str) -> tuple[str, int]:
        """Writes a file once more; where it is now, and its bytes, 0 where it is gone and was so before."""
        if path not in self._done:
            here = self._moves.to(path)
            try:
                with self._io.new_input(here).open() as file:
                    content = file.read()
            except OSError as e:
                if not is_gone(e):
                    raise
                return here, 0
            self._done[path] = self._written_anew(here, suffix, within, content)
        return self._done[path]

    def _written_anew(
        self, here: str, suffix: str, within: Callable[[bytes], bytes], content: bytes
    ) -> tuple[str, int]:
        try:
            moved = within(content)
        except MALFORMED as e:
            raise _refusal(here, f"{type(e).__name__}: {e!s:.200}") from e
        path = f"{here.rpartition('/')[0]}/{uuid.uuid4()}{suffix}"
        self._put(path, moved)
        return path, len(moved)

    def _put(self, path: str, content: bytes) -> None:
        with self._io.new_output(path).create() as file:
            file.write(content)


def _refusal(path: str, why: str) -> RepairError:
    return RepairError(
        "A file of the table can't be rewritten for its new place.",
        where=f"{path}: {why}",
        meaning=UNMADE,
        todo="Bring the bucket to its own place, or let Spark's own procedure rewrite the paths.",
    )


def moved_vectors(content: bytes, moves: Moves) -> bytes:
    """A Puffin file whose vectors are of data files that lie elsewhere now; each vector stays at its place.

    https://iceberg.apache.org/puffin-spec/

    Raises:
        RepairError: Its footer is compressed.
        ValueError: It is no Puffin file.
    """
    length, flags = struct.unpack("<i4s", content[-_TAIL:-4])
    begin = len(content) - _TAIL - length
    if content[-4:] != _PUFFIN or content[begin - 4 : begin] != _PUFFIN:
        raise ValueError("a file of deletion vectors is no Puffin file")
    if flags != bytes(4):
        raise RepairError(
            "A file of deletion vectors has a compressed footer.",
            meaning="Its paths can't be rewritten. No file was changed, and nothing was registered.",
            todo="Let Spark's own procedure rewrite the paths of its table.",
        )
    footer = json.dumps(moves.within(json.loads(content[begin:-_TAIL]))).encode()
    return content[:begin] + footer + struct.pack("<i4s", len(footer), flags) + _PUFFIN


def _moved_positions(content: bytes, moves: Moves) -> tuple[bytes, str, str]:
    """A Parquet file of deletes by position, the same; and the first and the last path that it names."""
    import pyarrow.parquet as pq

    rows = pq.read_table(io.BytesIO(content))
    paths = _moved(rows["file_path"], moves)
    rows = rows.set_column(rows.schema.get_field_index("file_path"), rows.schema.field("file_path"), paths)
    rows = rows.sort_by([("file_path", "ascending"), ("pos", "ascending")])
    out = io.BytesIO()
    pq.write_table(rows, out, compression="zstd")
    first, last = (str(value_of(rows["file_path"][at])) for at in (0, -1))
    return out.getvalue(), first, last


def _moved(paths: pa.ChunkedArray, moves: Moves) -> pa.Array:
    import pyarrow as pa

    coded = paths.combine_chunks().dictionary_encode()
    names = pa.array([moves.to(path) for path in values_of(coded.dictionary)], paths.type)
    return names.take(coded.indices)
