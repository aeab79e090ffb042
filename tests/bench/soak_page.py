"""What a soak counted and saw, as a page of Markdown with plots."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from figures import Line

from kit.soak.watch import Sample, Stored

STRETCHES = 60
_MB = 2**20

_PAGE = """# A soak

`make soak HOURS=6` lives through hours in which each part is restarted in turn, and the runner killed,
beside upkeep, readers and new fields, and writes such a page. This one is of {day}, on {cores} cores:
{settings}. [Guarantees](../guarantees.md) says what is promised.

## What was counted

{numbers}

## What processes and folders held

Each plot has the largest value of each of {stretches} stretches of time. Where a process was restarted, its
memory begins again. Those of Dagster are without the runs that they start.

{plots}
"""


def page(lines: Iterable[Line], samples: Sequence[Sample], sizes: Sequence[Stored], settings: str) -> str:
    """The whole page.

    Args:
        lines: What was counted.
        samples: What processes held.
        sizes: What folders held.
        settings: How long it lasted, and what happened how often.
    """
    return _PAGE.format(
        day=datetime.now(UTC).date(), settings=settings, cores=os.cpu_count(), stretches=STRETCHES,
        numbers="\n".join(_table(lines)), plots="\n\n".join(_plots(samples, sizes)),
    )  # fmt: skip


def _table(lines: Iterable[Line]) -> Iterator[str]:
    yield "| | | aim |"
    yield "|---|---|---|"
    for line in lines:
        value = f"{line.value:,.1f}" if line.value % 1 else f"{line.value:,.0f}"
        yield f"| {line.figure} | {value} {line.unit} | {line.target} |"


def _plots(samples: Sequence[Sample], sizes: Sequence[Stored]) -> Iterator[str]:
    for name, points in _by_name((s.name, s.seconds, s.memory / _MB) for s in samples).items():
        yield plot(f"{name}: memory", "MB", points)
    for name, points in _by_name((s.name, s.seconds, s.descriptors) for s in samples).items():
        yield plot(f"{name}: open descriptors", "descriptors", points)
    for name, points in _by_name((s.name, s.seconds, s.size / _MB) for s in sizes).items():
        yield plot(name, "MB", points)


def _by_name(points: Iterable[tuple[str, float, float]]) -> Mapping[str, list[tuple[float, float]]]:
    series = defaultdict(list)
    for name, seconds, value in points:
        series[name].append((seconds, value))
    return series


def plot(title: str, unit: str, points: Sequence[tuple[float, float]]) -> str:
    """A line over the minutes, for Mermaid.

    Args:
        points: Seconds since the beginning, and a value.
    """
    minutes = points[-1][0] / 60
    stretches = [
        points[at * len(points) // STRETCHES : (at + 1) * len(points) // STRETCHES] for at in range(STRETCHES)
    ]
    values = [max(value for _, value in stretch) for stretch in stretches if stretch]
    return "\n".join(
        (
            "```mermaid",
            "xychart-beta",
            f'    title "{title}"',
            f'    x-axis "minutes" 0 --> {minutes:.0f}',
            f'    y-axis "{unit}" 0 --> {max(*values, 1) * 1.1:.0f}',
            f"    line [{', '.join(f'{value:.0f}' for value in values)}]",
            "```",
        )
    )
