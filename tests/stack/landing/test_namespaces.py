"""The first tables of a namespace, all made at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from frazil.connections import Connections
from frazil.formats.logical import Field, Primitive
from frazil.spec.names import TableName
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.creation import create_table

pytestmark = pytest.mark.also("glue", why="a namespace is a database there")

AT_ONCE = 6


def test_first_landings_of_a_namespace_do_not_get_in_each_others_way(
    lake: Connections, fresh_name: str
) -> None:
    names = [TableName(fresh_name, f"table_{n}") for n in range(AT_ONCE)]
    fields = [Field("symbol", Primitive("string"))]

    with ThreadPoolExecutor(AT_ONCE) as pool:
        made = list(
            pool.map(lambda name: create_table(TableHandle(lake.catalog, name), fields, (), {}), names)
        )

    assert [table.current_snapshot() is not None for table in made] == [True] * AT_ONCE
