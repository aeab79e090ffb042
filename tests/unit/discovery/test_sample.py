"""Which records of a topic are looked at."""

from __future__ import annotations

import pytest

from frazil.discovery.sample import Sample, _ends


@pytest.mark.parametrize(
    ("busy", "spans"),
    [
        ([(0, 5, 1000)], [{0: (5, 155)}, {0: (850, 1000)}]),
        ([(0, 0, 200)], [{0: (0, 150)}, {0: (150, 200)}]),
        ([(0, 0, 100)], [{0: (0, 100)}, {}]),
        ([(0, 0, 100), (3, 7, 8)], [{0: (0, 75), 3: (7, 8)}, {0: (75, 100)}]),
    ],
)
def test_both_ends_are_looked_at_and_no_offset_twice(
    busy: list[tuple[int, int, int]], spans: list[dict[int, tuple[int, int]]]
) -> None:
    assert list(_ends(busy)) == spans


def test_a_record_is_named_by_its_place() -> None:
    assert Sample(places=((1, 17),)).place(0) == "1:17"
