"""Delete files that name data files by their paths are written once more, beside the old ones."""

from __future__ import annotations

import io
import json
import struct
from typing import TYPE_CHECKING

from frazil.errors import RepairError
from frazil.exact import value_of, values_of
from frazil.upkeep.recovery.moves import Moves

if TYPE_CHECKING:
    import pyarrow as pa

_PUFFIN = b"PFA1"
_TAIL = 12  # length of the footer, flags, and the magic again


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


def moved_positions(content: bytes, moves: Moves) -> tuple[bytes, str, str]:
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
