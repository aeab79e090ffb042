"""Do the targets show each table as it is; if not, since when, and why. Repairs what publishing may."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from frazil.checks.targets.comparison import Comparison
from frazil.checks.targets.drift import REPAIRED, Drift
from frazil.connections import Connections, apart
from frazil.errors import FrazilError, explain
from frazil.publishing.reading import read_all, resting
from frazil.publishing.target import Shown
from frazil.publishing.targets import targets_of
from frazil.spec.table import AnyTable

_AT_ONCE = 8


def find_drift(
    specs: Iterable[AnyTable], connections: Connections, now: float | None = None, *, counts: bool = False
) -> list[Drift]:
    """Each table in each of its targets, in order. Changes nothing.

    Args:
        specs: The tables.
        connections: To where they are.
        now: The time, if it is another one.
        counts: Whether rows are counted; Snowflake then also says when it refreshed each table last.
    """
    at = time.time() if now is None else now
    parts = (_of_part(own, clients, at, counts=counts) for own, clients in apart(specs, connections))
    return [drift for part in parts for drift in part]


def _of_part(
    specs: Sequence[AnyTable], connections: Connections, now: float, *, counts: bool
) -> Iterator[Drift]:
    targets = [target for spec in specs for target in targets_of(spec, connections.settings)]
    seen = read_all(targets, connections, counts=counts, tags=True)

    known = {} if counts else dict(resting(specs, seen, connections))

    def drifts(spec: AnyTable) -> list[Drift]:
        return list(Comparison(spec, connections, seen, known, now, counts).drifts())

    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="drift") as pool:
        for of_table in pool.map(drifts, specs):
            yield from of_table


def repair_drift(
    spec: AnyTable, drifts: Sequence[Drift], connections: Connections
) -> tuple[list[Drift], list[Shown]]:
    """Publishes a table where that brings a target in step.

    Returns:
        How it stands then, and what was published.
    """
    targets = targets_of(spec, connections.settings)
    kept = {target.word for target in targets if target.maker}
    wanted = {d.target for d in drifts if _is_repairable(spec, d) and not (d.target in kept and _is_late(d))}
    shown: list[Shown] = []
    failed: dict[str, FrazilError] = {}
    for target in targets:
        if target.word in wanted and target.upstream[0] not in failed:
            try:
                shown.append(target.sync(connections))
            except Exception as e:  # noqa: BLE001 - it is why this target is not repaired
                failed[target.word] = explain(e)
    if not wanted:
        return list(drifts), []
    counts = any(drift.rows is not None for drift in drifts)
    after = find_drift([spec], connections, counts=counts)
    return [_repaired(drift, wanted, failed.get(drift.target)) for drift in after], shown


def _is_repairable(spec: AnyTable, drift: Drift) -> bool:
    return drift.state in REPAIRED or (drift.state == "foreign" and spec.foreign_commits != "alarm")


def _is_late(drift: Drift) -> bool:
    return drift.state in ("missing", "behind")


def _repaired(drift: Drift, wanted: Iterable[str], error: FrazilError | None) -> Drift:
    if error is not None:
        return replace(drift, why=error.what, todo=error.todo, error=error)
    return replace(drift, repaired=drift.target in wanted and not drift.differs)
