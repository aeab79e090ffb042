"""Deletion vectors: PyIceberg reads what Frazil writes, and a damaged one is refused."""

from __future__ import annotations

import numpy as np
import pytest
from pyiceberg.table.deletion_vector import deletion_vectors_from_puffin_file
from pyiceberg.table.puffin import PuffinFile

from frazil.tables.format_v3.vectors import OFFSET_IN_FILE, places_in, puffin_of, vector_of

PLACES = [
    pytest.param([0], id="one"),
    pytest.param([*range(100_000)], id="a run"),
    pytest.param([3, 70_000, 2**32 - 1], id="far apart"),
]


@pytest.mark.parametrize("places", PLACES)
def test_the_places_of_a_vector_are_those_that_were_written(places: list[int]) -> None:
    vector = vector_of(np.array(places, np.int64))

    assert places_in(vector).tolist() == places
    (blob,) = deletion_vectors_from_puffin_file(PuffinFile(puffin_of(vector, "s3://b/f", len(places))))
    assert blob.referenced_data_file == "s3://b/f"
    assert blob.to_vector().to_pylist() == places


def test_a_vector_stands_where_its_entry_says() -> None:
    vector = vector_of(np.array([1, 5], np.int64))

    file = puffin_of(vector, "f", 2)

    assert file[OFFSET_IN_FILE : OFFSET_IN_FILE + len(vector)] == vector


@pytest.mark.parametrize("at", [0, 4, 20, -1])
def test_a_vector_that_is_damaged_anywhere_is_refused(at: int) -> None:
    damaged = bytearray(vector_of(np.array([1, 5], np.int64)))
    damaged[at] ^= 1

    with pytest.raises(ValueError, match="deletion vector"):
        places_in(bytes(damaged))


def test_a_vector_that_is_cut_off_is_refused() -> None:
    with pytest.raises(ValueError, match="deletion vector"):
        places_in(vector_of(np.array([1, 5], np.int64))[:10])
