"""A file that is removed while somebody reads it is known for gone, whatever the storage's client says."""

from __future__ import annotations

import pytest

from frazil.landing.land import land
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.metadata.named import is_gone
from kit.records.topics import Topic

AS_A_MANIFEST = 4_096
"""Bytes. The client can't keep an answer that is longer than what it asked for, and a refusal is 300."""


@pytest.mark.parametrize("seekable", [True, False])
def test_a_file_that_goes_between_being_opened_and_being_read_is_gone(topic: Topic, seekable: bool) -> None:
    topic.trades(1)
    land(topic.spec, topic.connections)
    table = TableHandle(topic.connections.catalog, topic.things.table).load()
    path = f"{table.location()}/data/read-and-removed"  # a manifest would be kept since it was written
    with table.io.new_output(path).create(overwrite=True) as new:
        new.write(bytes(AS_A_MANIFEST))

    with table.io.new_input(path).open(seekable=seekable) as stream:
        table.io.delete(path)
        with pytest.raises(OSError, match=r"NO_SUCH_KEY|RESOURCE_NOT_FOUND") as refused:
            stream.read()

    assert is_gone(refused.value)
