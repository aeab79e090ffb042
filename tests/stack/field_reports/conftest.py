"""Stories that happened to people, each as a small test: what they sent, and what is right.

One test a story, in a module of its kind. Its docstring names the public report by its link, and says in a
sentence what happened there. The input is made anew, as small as it can be. What is right follows from a
specification, or from what such users need, never from what Frazil does. All run on the default pair: the
REST catalog and the Arrow lane.

    def test_a_date_of_the_year_10000_lands(source: MakeSource) -> None:
        '''https://github.com/OWNER/REPOSITORY/issues/1: infinity is sent as the year 10000.'''
        topic = source(key_format="none")
        schema_id = topic.register(SCHEMA)
        topic.produce((None, avro(SCHEMA, schema_id, {"d": 2_932_897})))

        assert topic.land().records == 1
        assert topic.raw("d") == [2_932_897]
"""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from frazil.connections import Connections
from kit.formats.formats import MakeSource, Source, make_source
from kit.readers.compared import rows_are_their_records
from kit.records.topics import MakeTopic, topic_maker

__all__ = ["rows_are_their_records"]


@pytest.fixture(scope="module", autouse=True)
def compared(rows_are_their_records: None) -> None:
    """All modules have their rows compared."""


@pytest.fixture
def source(connections: Connections, fresh_name: str) -> MakeSource:
    """Makes topics: `source(key_format="none", on_bad_record="dead_letter")`; the rest goes into the spec."""
    numbers = count()

    def make(**spec: Any) -> Source:
        return make_source(connections, f"{fresh_name}_{next(numbers)}", **spec)

    return make


@pytest.fixture
def make_topic(connections: Connections, fresh_name: str) -> MakeTopic:
    """Makes topics of trades: `make_topic(partitions=2, mode="upsert")`."""
    return topic_maker(connections, fresh_name, "field_reports")
