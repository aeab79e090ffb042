"""A topic of one's own for each test."""

from __future__ import annotations

import pytest

from frazil.connections import Connections
from frazil.landing.land import land
from kit.readers.compared import rows_are_their_records
from kit.records.topics import MakeTopic, Topic, topic_maker
from kit.wires.judged import judge_here

__all__ = ["rows_are_their_records"]


@pytest.fixture(scope="module", autouse=True)
def compared(rows_are_their_records: None) -> None:
    """All modules have their rows compared, but those that have a fixture of this name."""


@pytest.fixture(autouse=True)
def judged(by_day: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """By day the verifier is asked in this process; at night, and where a test says so, as users do."""
    if by_day:
        judge_here(monkeypatch)


@pytest.fixture
def make_topic(lake: Connections, fresh_name: str) -> MakeTopic:
    """Makes topics: `make_topic(partitions=2, on_bad_record="skip")`."""
    return topic_maker(lake, fresh_name, "landing_tests")


@pytest.fixture
def topic(make_topic: MakeTopic) -> Topic:
    """A topic of one partition, all defaults."""
    return make_topic()


@pytest.fixture
def landed(topic: Topic) -> Topic:
    """A topic whose ten records are landed."""
    topic.trades(10)
    land(topic.spec, topic.connections)
    return topic
