"""Deletion vectors: which rows of a data file are deleted, by their places, as Puffin files hold them.

https://iceberg.apache.org/puffin-spec/#deletion-vector-v1-blob-type. A task imports PyArrow and pyroaring.
"""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Places = NDArray[np.int64]

_MAGIC, _PUFFIN = bytes.fromhex("d1d33964"), b"PFA1"
_POSITION = 2147483645
"""Id of the column that a vector stands for: the place of a row in its file."""

OFFSET_IN_FILE = len(_PUFFIN)
"""Where the one vector of a file stands that Frazil wrote."""


def vector_of(places: Places) -> bytes:
    """The bytes of a vector. `places` are different, one at least, and below 2^32."""
    from pyroaring import BitMap

    bits = BitMap(places.astype(np.uint32))
    bits.run_optimize()
    body = _MAGIC + struct.pack("<qI", 1, 0) + bits.serialize()
    return struct.pack(">I", len(body)) + body + struct.pack(">I", crc32(body))


def places_in(vector: bytes) -> Places:
    """The places that a vector has, in order.

    Raises:
        ValueError: It is none, is damaged, or is of a file with more rows than a file can have.
    """
    from pyroaring import BitMap

    body, check = vector[4:-4], vector[-4:]
    if len(vector) < 28 or struct.unpack(">I", vector[:4])[0] != len(body) or body[:4] != _MAGIC:
        raise ValueError("a deletion vector has no deletion-vector-v1 at its place")
    if struct.unpack(">I", check)[0] != crc32(body):
        raise ValueError("a deletion vector is damaged: its checksum is wrong")
    count, high = struct.unpack("<qI", body[4:16])
    if (count, high) != (1, 0):
        raise ValueError("a deletion vector is of a file with more than 4,294,967,296 rows")
    return np.asarray(BitMap.deserialize(body[16:]).to_array(), np.int64)


def puffin_of(vector: bytes, path: str, rows: int) -> bytes:
    """A Puffin file with one vector, of the data file at a path.

    Of several Iceberg's own expiry takes the file away once one of them is replaced, and the others with it.
    """
    blob = {
        "type": "deletion-vector-v1",
        "fields": [_POSITION],
        "snapshot-id": -1,
        "sequence-number": -1,
        "offset": OFFSET_IN_FILE,
        "length": len(vector),
        "properties": {"referenced-data-file": path, "cardinality": str(rows)},
    }
    footer = json.dumps({"blobs": [blob], "properties": {"created-by": "Frazil"}}).encode()
    return _PUFFIN + vector + _PUFFIN + footer + struct.pack("<i", len(footer)) + bytes(4) + _PUFFIN
