"""Finding where leader epochs change, on logs with gaps, by few looks."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest

from frazil.kafka.epochs import epoch_steps
from frazil.kafka.probe import Found


class Log:
    """Partitions as lists of (offset, epoch), with gaps where markers or compacted records were."""

    def __init__(self, partitions: Mapping[int, list[Found]]) -> None:
        self.partitions = partitions
        self.looks = 0

    def look(self, starts: Mapping[int, int]) -> dict[int, Found]:
        self.looks += 1
        records = {p: next((r for r in self.partitions[p] if r[0] >= at), None) for p, at in starts.items()}
        return {p: record for p, record in records.items() if record}


def per_record(steps: list[tuple[int, int]], log: list[Found], start: int, to: int) -> list[Found]:
    """The epochs that the steps give to the records of a span."""
    return [
        (offset, next(epoch for first, epoch in reversed(steps) if offset >= first))
        for offset, _ in log
        if start <= offset < to
    ]


def test_one_look_is_enough_where_every_partition_has_its_current_epoch() -> None:
    log = Log({p: [(n, 4) for n in range(100)] for p in range(6)})
    steps = epoch_steps(log.look, dict.fromkeys(range(6), (10, 90)), dict.fromkeys(range(6), 4))
    assert steps == {p: [(10, 4)] for p in range(6)}
    assert log.looks == 1


def test_a_look_at_the_ends_is_added_where_the_current_epoch_is_not_known() -> None:
    log = Log({0: [(n, 4) for n in range(100)]})
    assert epoch_steps(log.look, {0: (0, 100)}, {}) == {0: [(0, 4)]}
    assert log.looks == 2


def test_a_span_without_records_has_no_steps() -> None:
    log = Log({0: [(0, 1), (50, 2)]})
    assert epoch_steps(log.look, {0: (10, 40)}, {0: 2}) == {0: []}


def test_a_change_in_a_million_records_takes_few_looks() -> None:
    log = Log({0: [(n, 3 if n < 700_001 else 8) for n in range(0, 1_000_000, 7)]})
    assert epoch_steps(log.look, {0: (0, 1_000_000)}, {0: 8}) == {0: [(0, 3), (700_007, 8)]}
    assert log.looks < 50


@pytest.mark.parametrize("seed", range(200))
def test_steps_tell_the_epoch_of_every_record(seed: int) -> None:
    chance = random.Random(seed)
    offset, epoch, records = 0, 0, []
    for _ in range(chance.randint(1, 60)):
        offset += chance.choice((1, 1, 1, 2, 9))
        epoch += chance.choice((0, 0, 0, 0, 1, 3))
        records.append((offset, epoch))
    log = Log({0: records})
    start = chance.randint(0, offset)
    to = chance.randint(start + 1, offset + 3)
    known = {0: epoch + chance.choice((0, 1))} if chance.random() < 0.5 else {}
    steps = epoch_steps(log.look, {0: (start, to)}, known)[0]
    assert per_record(steps, records, start, to) == [r for r in records if start <= r[0] < to]
