"""Runners that share tables by Kafka's group protocol: each table is one runner's, and moves when it goes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import chain

import pytest

from frazil.connections import Connections
from frazil.continuous.progress import Progress
from frazil.continuous.sharing import Sharing
from frazil.spec.topic import TableSpec
from kit.records.topics import create_topic
from kit.runs.waiting import wait_for

_TABLES = 60
"""So many that each of four runners has some."""


@pytest.fixture
def specs(connections: Connections, fresh_name: str) -> list[TableSpec]:
    """Tables of one topic that is there, and of topics that are not."""
    create_topic(connections.admin, f"{fresh_name}_0", 1, {})
    return [TableSpec(topic=f"{fresh_name}_{n}") for n in range(_TABLES)]


@pytest.fixture
def runners(connections: Connections, specs: list[TableSpec]) -> Iterator[list[Sharing]]:
    lines: list[Progress] = []
    with ExitStack() as stack:
        made = [Sharing(specs, connections.settings, lines.append) for _ in range(4)]
        for each in made:
            stack.callback(each.close)
        yield made


def topics(runner: Sharing, specs: list[TableSpec]) -> list[str]:
    return [spec.topic for spec in runner.own(specs)]


def are_shared_by(runners: list[Sharing], specs: list[TableSpec]) -> bool:
    """Whether each table is one runner's, and each runner has some."""
    shares = [topics(each, specs) for each in runners]
    return all(shares) and sorted(chain(*shares)) == sorted(spec.topic for spec in specs)


def test_each_table_is_one_runners_and_those_of_one_that_leaves_are_taken_over(
    runners: list[Sharing], specs: list[TableSpec]
) -> None:
    wait_for(lambda: are_shared_by(runners, specs))
    before = [topics(each, specs) for each in runners]

    runners[0].close()
    wait_for(lambda: are_shared_by(runners[1:], specs))

    for own, each in zip(before[1:], runners[1:], strict=True):
        assert {*own} <= {*topics(each, specs)}


def test_runners_of_other_tables_are_in_another_group_and_alone(
    connections: Connections, specs: list[TableSpec]
) -> None:
    lines: list[Progress] = []
    one = Sharing(specs, connections.settings, lines.append)
    other = Sharing(specs[:1], connections.settings, lines.append)
    try:
        wait_for(lambda: (topics(one, specs), topics(other, specs[:1])) == (
            [spec.topic for spec in specs], [specs[0].topic]
        ))  # fmt: skip
    finally:
        one.close()
        other.close()

    assert one.group != other.group
    assert [line.facts["runners"] for line in lines] == [1, 1]
