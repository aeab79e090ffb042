"""A topic of one's own for each test; the catalog is the default one where only the format matters."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from frazil.connections import Connections
from kit.formats.formats import Source, make_source
from kit.readers.compared import rows_are_their_records

__all__ = ["rows_are_their_records"]


@pytest.fixture(scope="module", autouse=True)
def compared(rows_are_their_records: None) -> None:
    """All modules have their rows compared."""


@pytest.fixture
def source(connections: Connections, fresh_name: str) -> Callable[..., Source]:
    """Makes topics: `source(key_format="none", on_bad_record="dead_letter")`."""
    numbers = count()

    def make(**spec: Any) -> Source:
        return make_source(connections, f"{fresh_name}_{next(numbers)}", **spec)

    return make
