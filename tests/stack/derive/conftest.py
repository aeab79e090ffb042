"""Inputs of one's own for each test, and tables made of them."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import pytest

from frazil.connections import Connections
from frazil.formats.logical import Field
from kit.derived.made import TRADES, Made, MakeSource, MakeTable, Source, make_made, make_source


@pytest.fixture
def make_input(connections: Connections, fresh_name: str) -> MakeSource:
    """Makes inputs: `make_input()`, `make_input(fields)`."""
    numbers = count()

    def make(fields: tuple[Field, ...] = TRADES) -> Source:
        return make_source(connections.catalog, f"{fresh_name}_in{next(numbers)}", fields)

    return make


@pytest.fixture
def source(make_input: MakeSource) -> Source:
    """An input of trades, without any."""
    return make_input()


@pytest.fixture
def make_table(connections: Connections, fresh_name: str, tmp_path: Path) -> MakeTable:
    """Makes tables of others: `make_table("SELECT ...", kind="full")`."""
    numbers = count()

    def make(sql: str, **spec: Any) -> Made:
        return make_made(connections, tmp_path, f"{fresh_name}_out{next(numbers)}", sql, **spec)

    return make
