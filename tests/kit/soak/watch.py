"""What processes hold over hours: memory, descriptors, threads; and what their growth within one life is."""

from __future__ import annotations

import csv
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from statistics import median

import psutil

Pids = Callable[[], Mapping[str, int]]
"""The processes that are there now, by what people call them."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What a process and its children held at a moment; memory in bytes."""

    seconds: float
    name: str
    pid: int
    memory: int
    descriptors: int
    threads: int


@dataclass(frozen=True, slots=True)
class Growth:
    """By how much the last quarter of a process' life lies above its second one."""

    memory: float
    descriptors: float
    threads: float


@contextmanager
def watched(pids: Pids, every: float, file: Path) -> Iterator[list[Sample]]:
    """Samples each of the processes until the end, into a list and into a file of comma-separated values."""
    samples: list[Sample] = []
    ended = threading.Event()

    def watch() -> None:
        begun = time.monotonic()
        with file.open("w", newline="") as out:
            rows = csv.writer(out)
            rows.writerow(field.name for field in fields(Sample))
            while not ended.wait(every):
                for name, pid in pids().items():
                    for sample in _sample(time.monotonic() - begun, name, pid):
                        samples.append(sample)
                        rows.writerow(astuple(sample))
                out.flush()

    thread = threading.Thread(target=watch, name="watching")
    thread.start()
    try:
        yield samples
    finally:
        ended.set()
        thread.join()


def growth_of(samples: list[Sample]) -> dict[str, Growth]:
    """Of each name the largest growth within the life of one process; of short lives none."""
    lives: dict[tuple[str, int], list[Sample]] = defaultdict(list)
    for each in samples:
        lives[each.name, each.pid].append(each)
    grown: dict[str, Growth] = {}
    for (name, _), life in lives.items():
        if quarter := len(life) // 4:
            grew = _growth(life, quarter)
            grown[name] = max(grown.get(name, grew), grew, key=lambda each: each.memory)
    return grown


def _growth(life: list[Sample], quarter: int) -> Growth:
    second, last = life[quarter : 2 * quarter], life[-quarter:]

    def grew(of: Callable[[Sample], int]) -> float:
        return median(map(of, last)) - median(map(of, second))

    return Growth(grew(lambda s: s.memory), grew(lambda s: s.descriptors), grew(lambda s: s.threads))


def _sample(seconds: float, name: str, pid: int) -> Iterator[Sample]:
    """Nothing of a process that is gone."""
    try:
        process = psutil.Process(pid)
        family = [process, *process.children(recursive=True)]
        yield Sample(
            round(seconds, 1), name, pid,
            sum(each.memory_info().rss for each in family),
            sum(each.num_fds() for each in family),
            sum(each.num_threads() for each in family),
        )  # fmt: skip
    except psutil.Error:
        return
