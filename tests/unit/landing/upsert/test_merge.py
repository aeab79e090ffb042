"""Merges of changes, beside others that change the table."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest
from pyiceberg.catalog.memory import InMemoryCatalog

from frazil.errors import CommitConflictError
from frazil.formats.logical import Field, Primitive
from frazil.landing.upsert.changes import Changes
from frazil.landing.upsert.merge import _Merge
from frazil.landing.write import Written
from frazil.settings.profile import Settings
from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.creation import create_table

NAME = TableName("n", "t")
SPEC = TableSpec(topic="t", namespace="n", table="t", mode="upsert")


def test_a_head_that_expires_while_a_merge_reads_it_is_a_conflict(tmp_path: Path) -> None:
    catalog = InMemoryCatalog("unit", warehouse=tmp_path.as_uri())
    table = create_table(TableHandle(catalog, NAME), [Field("id", Primitive("int"))], (), {})
    table.append(pa.table({"id": pa.array([1], pa.int32())}, schema=table.schema().as_arrow()))
    head = table.current_snapshot()
    assert head
    table.io.delete(head.manifest_list)
    nobody = cast("Any", None)
    changes = Changes(nobody, table, SPEC, {}, {}, (), put=0, ends=())
    written = Written("landing", 0, 0, 0, 0, (), None)

    with pytest.raises(CommitConflictError, match="went while it was read"):
        _Merge(Settings(), changes, written, nobody).once()
