"""What processes and folders hold over hours: memory, descriptors, threads, disk.

And what the growth of a process is within one life.
"""

from __future__ import annotations

import csv
import os
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from statistics import median
from typing import TypeVar

import psutil


@dataclass(frozen=True, slots=True)
class Watched:
    """A process.

    Args:
        alone: Without its children, for these are others each time, such as runs of Dagster.
    """

    pid: int
    alone: bool = False


Processes = Callable[[], Mapping[str, Watched]]
"""The processes that are there now, by what people call them."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What a process held at a moment; memory in bytes."""

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


@dataclass(frozen=True, slots=True)
class Stored:
    """How many bytes the files of a folder had at a moment."""

    seconds: float
    name: str
    size: int


@contextmanager
def watched(processes: Processes, every: float, file: Path) -> Iterator[list[Sample]]:
    """Samples each of the processes until the end, into a list and into a file of comma-separated values."""

    def read(seconds: float) -> Iterator[Sample]:
        for name, process in processes().items():
            yield from _sample(seconds, name, process)

    with _noted(read, Sample, every, file) as samples:
        yield samples


@contextmanager
def stored(folders: Mapping[str, Path], every: float, file: Path) -> Iterator[list[Stored]]:
    """Measures each of the folders until the end, as `watched` does processes."""

    def read(seconds: float) -> Iterator[Stored]:
        return (Stored(round(seconds, 1), name, _size(folder)) for name, folder in folders.items())

    with _noted(read, Stored, every, file) as samples:
        yield samples


Noted = TypeVar("Noted", Sample, Stored)


@contextmanager
def _noted(
    read: Callable[[float], Iterator[Noted]], kind: type[Noted], every: float, file: Path
) -> Iterator[list[Noted]]:
    samples: list[Noted] = []
    ended = threading.Event()

    def watch() -> None:
        begun = time.monotonic()
        with file.open("w", newline="") as out:
            rows = csv.writer(out)
            rows.writerow(field.name for field in fields(kind))
            while not ended.wait(every):
                for sample in read(time.monotonic() - begun):
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


def growth_of(samples: Sequence[Sample]) -> dict[str, Growth]:
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


def _sample(seconds: float, name: str, watched: Watched) -> Iterator[Sample]:
    """Nothing of a process that is gone."""
    try:
        process = psutil.Process(watched.pid)
        family = [process, *([] if watched.alone else process.children(recursive=True))]
        yield Sample(
            round(seconds, 1), name, watched.pid,
            sum(each.memory_info().rss for each in family),
            sum(each.num_fds() for each in family),
            sum(each.num_threads() for each in family),
        )  # fmt: skip
    except psutil.Error:
        return


def _size(folder: Path) -> int:
    """Bytes on disk, so that room that is only set aside does not count; nor do files that go meanwhile."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                total += (Path(place) / name).lstat().st_blocks * 512
    return total
