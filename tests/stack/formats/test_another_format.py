"""A format that was registered is decoded by Spark, as those are that Frazil brings."""

from __future__ import annotations

import pytest
from pyspark.cloudpickle import register_pickle_by_value

from frazil.connections import Connections
from frazil.formats.kinds import SCHEMA_FORMATS
from frazil.formats.protocol import KEY, VALUE
from frazil.formats.record import BAD, OK, decoder_for
from frazil.formats.registry.client import registry_client
from frazil.landing.decoding import with_decoded
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec
from kit.tables import comma_separated
from kit.tables.comma_separated import KIND, CommaSeparated, registry_with


def test_records_of_a_new_format_become_rows_or_are_bad(
    connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SCHEMA_FORMATS, KIND, CommaSeparated())
    register_pickle_by_value(comma_separated)  # Spark's workers have the engine, and no modules of tests
    values = [b"\0\0\0\0\7box,3", b"\0\0\0\0\7box", b"\0\0\0\0\1box,3"]
    records = connections.spark.createDataFrame(
        [(bytearray(b"k"), bytearray(value)) for value in values], f"{KEY.raw} binary, {VALUE.raw} binary"
    )
    with registry_with("parcels-value", "name,weight") as address:
        decoder = decoder_for(
            TableSpec(topic="parcels"), registry_client(Settings.load(registry={"url": address})), {}
        )

    rows = with_decoded(records, decoder).select(OK, BAD, f"{KEY.data}.key", f"{VALUE.data}.*").collect()

    assert [tuple(row)[:2] for row in rows] == [(True, False), (False, True), (False, True)]
    assert (rows[0].key, rows[0].name, rows[0].weight) == (bytearray(b"k"), "box", "3")
