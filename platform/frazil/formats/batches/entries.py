"""Maps of their entries, as Arrow has them: of equal keys the last one counts, as in Spark's `LAST_WIN`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from frazil.exact import values_of

if TYPE_CHECKING:
    from numpy.typing import NDArray


def as_map(keys: pa.ListArray, values: pa.ListArray) -> pa.MapArray:
    """Lists of keys, and lists of their values, as maps; null where a list is empty."""
    offsets = keys.offsets.to_numpy()
    kind = pa.map_(keys.type.value_type, values.type.value_type)
    empty = pa.array(np.diff(offsets) == 0)
    return map_of(keys.flatten(), values.flatten(), offsets - offsets[0], kind, empty)


def map_of(
    keys: pa.Array,
    values: pa.Array,
    offsets: NDArray[np.int32],
    kind: pa.MapType,
    missing: pa.BooleanArray | None,
    without: NDArray[np.bool_] | None = None,
) -> pa.MapArray:
    """Maps of a type, of all keys and values in a row.

    Args:
        offsets: Where each map begins, and the last one ends.
        missing: Which of them are null.
        without: Entries that are left out.
    """
    kept = _last_of_each(keys, offsets)
    if without is not None:
        kept &= ~without
    if not kept.all():
        picked = pa.array(np.flatnonzero(kept))
        keys, values = keys.take(picked), values.take(picked)
        offsets = np.concatenate([[0], np.cumsum(kept)])[offsets].astype(np.int32)
    return pa.MapArray.from_arrays(pa.array(offsets), keys, values, kind, mask=missing)


def _last_of_each(keys: pa.Array, offsets: NDArray[np.int32]) -> NDArray[np.bool_]:
    """The entries whose key does not come again later in the same map."""
    kept = np.ones(len(keys), bool)
    sizes = np.diff(offsets)
    if sizes.max(initial=0) < 2:
        return kept
    coded = _plain(keys).dictionary_encode()
    numbers = coded.indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    numbers += np.repeat(np.arange(len(sizes)), sizes) * max(len(coded.dictionary), 1)
    _, last = np.unique(numbers[::-1], return_index=True)
    if len(last) < len(keys):
        kept[:] = False
        kept[len(keys) - 1 - last] = True
    return kept


def _plain(keys: pa.Array) -> pa.Array:
    """Keys that are equal where the given ones are; Arrow does not compare structs and lists."""
    return pa.array([repr(key) for key in values_of(keys)]) if pa.types.is_nested(keys.type) else keys
