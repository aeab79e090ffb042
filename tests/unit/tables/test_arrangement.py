"""A changed write profile becomes table properties; what it leaves open stays as it was."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.memory import InMemoryCatalog

from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec
from frazil.tables.layout import arrange

NAME = TableName("n", "t")
CODEC, LEVEL = "write.parquet.compression-codec", "write.parquet.compression-level"


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[InMemoryCatalog]:
    made = InMemoryCatalog("unit", warehouse=tmp_path.as_uri())
    made.create_namespace("n")
    yield made
    made.close()


def arranged(catalog: InMemoryCatalog, **write: Any) -> tuple[str | None, str | None]:
    """Codec and level of the table once its spec says so."""
    table = catalog.load_table(NAME.identifier)
    after = arrange(TableSpec(topic="t", write=write), table).properties
    return after.get(CODEC), after.get(LEVEL)


@pytest.mark.parametrize("by_hand", [{}, {LEVEL: "5"}], ids=["by the spec", "by hand"])
def test_a_level_goes_with_the_codec_that_takes_it(catalog: InMemoryCatalog, by_hand: dict[str, str]) -> None:
    catalog.create_table(NAME.identifier, pa.schema([("a", pa.string())]), properties=by_hand)
    written = {} if by_hand else {"compression_level": 1}

    assert arranged(catalog, compression="zstd", **written) == ("zstd", by_hand.get(LEVEL, "1"))
    assert arranged(catalog, compression="gzip") == ("gzip", None)
    assert arranged(catalog, compression="zstd") == ("zstd", None)


def test_a_level_that_nobody_takes_out_stays(catalog: InMemoryCatalog) -> None:
    catalog.create_table(NAME.identifier, pa.schema([("a", pa.string())]), properties={LEVEL: "5"})

    assert arranged(catalog, page_size="64KiB") == (None, "5")
