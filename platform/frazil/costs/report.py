"""What tables took in a time: their own snapshots, those of their dead letters, and publications."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from frazil.connections import Connections, apart
from frazil.costs.measured import ICEBERG, STORAGE, gaps_of, lines_of
from frazil.costs.units import Line, Period, Units
from frazil.errors import FrazilError, explain
from frazil.publishing.target import Spent
from frazil.publishing.targets import targets_of
from frazil.spec.names import AssetPath, things
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.catalogs.handle import handle_of

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata

_AT_ONCE = 8

NEVER_MEASURED = (
    "requests that read of Spark's SQL, of derivations, of tasks that shuffle, and of processes that commit "
    "nothing",
    "requests of retries, parts of large files and lists",
    "CPU of Spark's JVM, of its Python workers beside their tasks, of tasks that shuffle, of the process "
    "that commits, and of Dagster",
    "what expiry and the removal of orphans ask for, until the next commit of the same process",
    "files that no snapshot names, and the size of metadata files",
    "seconds of Snowflake's warehouses beside those of Frazil's statements for one table, their minute at "
    "least, refreshes of its own, and its cloud services",
    "data that leaves the region",
)
"""What nothing counts; it is in no figure."""


@dataclass(frozen=True, slots=True)
class Costs:
    """What one table took.

    Args:
        gaps: What is not known of this table, beside what is known of none.
    """

    table: str
    lines: tuple[Line, ...]
    gaps: tuple[str, ...] = ()


def lines_in(measured: Iterable[Costs]) -> list[Line]:
    """What all of some tables took."""
    return [line for costs in measured for line in costs.lines]


@dataclass(frozen=True, slots=True)
class CostReader:
    """Reads what tables took.

    Args:
        published: How often each target was brought in step; None: nobody kept it.
        spent: What that took of targets that bill by the second.
    """

    connections: Connections
    period: Period
    published: Mapping[AssetPath, int] | None
    spent: Mapping[AssetPath, Spent] = field(default_factory=dict)

    def of(self, specs: Sequence[AnyTable]) -> Iterator[tuple[AnyTable, Costs | FrazilError]]:
        """Each table, in order of its connection; an error where it can't be read."""
        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="costs") as pool:
            for own, connections in apart(specs, self.connections):
                costs = pool.map(lambda spec, on=connections: self._table(spec, on), own)
                yield from zip(own, costs, strict=True)

    def _table(self, spec: AnyTable, connections: Connections) -> Costs | FrazilError:
        name = str(things(spec, connections.settings).table)
        try:
            with catalog_errors(connections.settings):
                return self._costs(name, spec, connections)
        except Exception as e:  # noqa: BLE001 - it is the result of this table
            return explain(e)

    def _costs(self, name: str, spec: AnyTable, connections: Connections) -> Costs:
        handle, in_glue = handle_of(spec, connections), connections.settings.catalog == "glue"
        metadata, letters = handle.load().metadata, handle.dead_letters.load_or_none()
        lines = lines_of(name, metadata, self.period, in_glue=in_glue)
        if letters:
            lines += _of_letters(name, letters.metadata, self.period, in_glue=in_glue)
        if isinstance(spec, TableSpec):
            lines.append(Line(name, ICEBERG, "landing", {"topic_seconds": self.period.seconds}))
        gaps = [*gaps_of(name, metadata, self.period)]
        if self.published is None and spec.publish:
            gaps.append(f"publications of {name}: no Dagster instance keeps them")
        tags = tuple(f"{key}={value}" for key, value in sorted(spec.tags.items()))
        lines += self._publications(name, spec, connections)
        return Costs(name, tuple(replace(line, tags=tags) for line in lines), tuple(gaps))

    def _publications(self, name: str, spec: AnyTable, connections: Connections) -> Iterator[Line]:
        published = self.published or {}
        for target in targets_of(spec, connections.settings):
            count, computing = published.get(target.path, 0), _computing(self.spent.get(target.path))
            calls: Units = {"glue_calls": count} if target.word == "glue" else {}
            if count or computing:  # one that found nothing new to show computes as well
                yield Line(name, target.word, "publication", {"publications": count, **calls, **computing})


def _computing(spent: Spent | None) -> Units:
    if spent is None or not spent.statements:
        return {}
    return {
        "statements": spent.statements,
        "refreshes": spent.refreshes,
        "warehouse_seconds": spent.warehouse_seconds,
    }


def _of_letters(name: str, metadata: TableMetadata, period: Period, *, in_glue: bool) -> list[Line]:
    """The lines of a table's dead letters; records are counted where they were landed."""
    lines = lines_of(name, metadata, period, in_glue=in_glue)
    counted = ("records", "bytes_in")
    return [
        replace(
            line,
            work=line.work if line.work == STORAGE else "dead letters",
            units={unit: count for unit, count in line.units.items() if unit not in counted},
        )
        for line in lines
    ]
