"""What was done to a table as pieces of work: each with what it read and what it wrote."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import dropwhile, islice
from typing import TYPE_CHECKING

from openlineage.client.event_v2 import InputDataset, OutputDataset
from openlineage.client.facet_v2 import (
    DatasetFacet,
    JobFacet,
    input_statistics_input_dataset,
    output_statistics_output_dataset,
    sql_job,
)

from frazil.checks.own import results_of
from frazil.checks.result import CheckResult
from frazil.connections import Connections
from frazil.derive.output import types_of
from frazil.derive.queries.columns import lineage
from frazil.derive.queries.query import Query, read_query
from frazil.derive.report import DeriveReport
from frazil.landing.report import LandingReport
from frazil.publishing.target import Shown
from frazil.reporting import Done, Failure
from frazil.settings.secret import conceal
from frazil.spec.derived import DerivedSpec
from frazil.spec.names import TableName, things
from frazil.spec.table import AnyTable
from frazil.spec.topic import TableSpec
from frazil.tables.metadata.snapshots import UPKEEP, ancestors, summary_of
from frazil.upkeep.work import WorkReport
from frazil_lineage.datasets import Dataset, Facets, Tables
from frazil_lineage.facets import (
    OFFSETS,
    assertions_facet,
    lineage_facet,
    offsets_facet,
    schema_facet,
    version_facet,
    written_facets,
)
from frazil_lineage.names import stored_name, target_name, topic_name

if TYPE_CHECKING:
    from pyiceberg.table.metadata import TableMetadata

_ADDED = "added-files-size"

Inputs = Mapping[str, tuple[TableName, int]]
"""By the name that a query gives it, each input and its snapshot that the table now holds."""


@dataclass(frozen=True, slots=True)
class Work:
    """One run of one job.

    Args:
        kind: `land`, `derive`, `publish` or `check`.
        job: The job's name.
        error: Why it failed; empty if it did not.
    """

    kind: str
    job: str
    inputs: list[InputDataset]
    outputs: list[OutputDataset] = field(default_factory=list)
    seconds: float = 0.0
    facets: dict[str, JobFacet] = field(default_factory=dict)
    error: str = ""


class Works:
    """Makes pieces of work of reports about the tables of one connection."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._settings = connections.settings
        self._tables = Tables(connections)

    def of(self, spec: AnyTable, done: Done) -> Iterator[Work]:
        """What was done to one table; nothing of upkeep, which changes no rows.

        Raises:
            FrazilError: The catalog does not tell of a table.
        """
        match done:
            case LandingReport():
                yield self._landing(spec, done)
                yield from self.checks(spec, list(results_of(spec, self._settings, done.checks)))
            case DeriveReport():
                if isinstance(spec, DerivedSpec):
                    yield self._derivation(spec, done)
                    yield from self.checks(spec, list(results_of(spec, self._settings, done.checks)))
            case CheckResult():
                yield from self.checks(spec, [done])
            case Failure():
                yield self._failure(spec, done)
            case WorkReport():
                return
            case _:
                yield from (self._publication(spec, shown) for shown in done if shown.changed)

    def _failure(self, spec: AnyTable, done: Failure) -> Work:
        """What failed, with the datasets that can be named without what it would have read."""
        name, error = self._name(spec), done.error
        message = conceal(f"{type(error).__name__}: {error.what} {error.where}".rstrip(), self._settings)
        table = self._known(name)
        if done.kind == "publish":
            inputs = [table.read()] if table else []
            return Work("publish", f"publish.{done.target[0]}.{name}", inputs, error=message)
        topic = (
            [Dataset(topic_name(spec.topic, self._settings)).read()] if isinstance(spec, TableSpec) else []
        )
        outputs = [table.written()] if table else []
        return Work(done.kind, f"{done.kind}.{name}", topic, outputs, error=message)

    def checks(self, spec: AnyTable, results: Sequence[CheckResult]) -> Iterator[Work]:
        """What checks found of one table, in one piece; nothing of those that could not compare."""
        compared = [result for result in results if result.status != "skipped"]
        if compared:
            name = self._name(spec)
            facets = {"dataQualityAssertions": assertions_facet(compared)}
            yield Work("check", f"check.{name}", [self._tables.dataset(name).read(facets)])

    def _landing(self, spec: AnyTable, done: LandingReport) -> Work:
        name = self._name(spec)
        read = done.records + done.dead_letters + done.skipped
        topic = Dataset(topic_name(done.topic, self._settings)).read(
            {
                "inputStatistics": input_statistics_input_dataset.InputStatisticsInputDatasetFacet(
                    rowCount=read, size=done.bytes
                ),
                OFFSETS: offsets_facet(done.spans or {}),
            }
        )
        size = _bytes_added(self._tables.load(name).metadata, done.snapshot_id, done.landings)
        outputs = [self._written(spec, done.snapshot_id, {}, done.records, done.files, size)]
        outputs += self._letters(name, done.dead_letters)
        return Work("land", f"land.{name}", [topic], outputs, done.seconds)

    def _letters(self, name: TableName, count: int) -> Iterator[OutputDataset]:
        if count:
            yield self._tables.dataset(name.dead_letters).written({"outputStatistics": _statistics(count)})

    def _derivation(self, spec: DerivedSpec, done: DeriveReport) -> Work:
        query = read_query(spec) if spec.sql else None
        inputs = self._inputs(spec, query, done)
        read = [self._tables.dataset(table, snapshot).read() for table, snapshot in inputs.values()]
        columns: Facets = {"columnLineage": self._lineage(query, inputs)} if query else {}
        size = _bytes_added(self._tables.load(self._name(spec)).metadata, done.snapshot_id, 1)
        outputs = [self._written(spec, done.snapshot_id, columns, done.rows, done.files, size)]
        facets: dict[str, JobFacet] = {"sql": sql_job.SQLJobFacet(query.text, "spark")} if query else {}
        return Work("derive", f"derive.{self._name(spec)}", read, outputs, done.seconds, facets)

    def _inputs(self, spec: DerivedSpec, query: Query | None, done: DeriveReport) -> Inputs:
        namespace = self._name(spec).namespace
        written = {
            name: TableName.parse(name, namespace) for name in (query.inputs if query else spec.inputs)
        }
        read = {TableName.parse(name, namespace): at for name, at in (done.inputs or {}).items()}
        return {name: (table, read[table]) for name, table in written.items() if table in read}

    def _lineage(self, query: Query, inputs: Inputs) -> DatasetFacet:
        tables = {name: self._tables.load(table) for name, (table, _) in inputs.items()}
        columns = {name: [*types_of(table).items()] for name, table in tables.items()}
        names = {name: stored_name(table.location()) for name, table in tables.items()}
        return lineage_facet(lineage(query, columns), names)

    def _publication(self, spec: AnyTable, shown: Shown) -> Work:
        """A target that shows a table: its columns are the table's."""
        name = self._name(spec)
        schema = schema_facet(self._tables.load(name).schema())
        facets: Facets = {
            "schema": schema, "version": version_facet(shown.metadata_location), **dict(written_facets(spec)),
        }  # fmt: skip
        target = Dataset(target_name(shown, self._settings), facets)
        counted = {} if shown.rows is None else {"outputStatistics": _statistics(shown.rows)}
        table = self._tables.dataset(name).read()
        return Work("publish", f"publish.{shown.path[0]}.{name}", [table], [target.written(counted)])

    def _written(
        self, spec: AnyTable, snapshot: int | None, facets: Facets, rows: int, files: int, size: int | None
    ) -> OutputDataset:
        table = self._tables.dataset(self._name(spec), snapshot)
        all_of_it = table.with_facets({**dict(written_facets(spec)), **facets})
        return all_of_it.written({"outputStatistics": _statistics(rows, files, size)})

    def _known(self, name: TableName) -> Dataset | None:
        """The table, where the catalog tells of it."""
        try:
            return self._tables.dataset(name)
        except Exception:  # noqa: BLE001 - why the work failed is told all the same
            return None

    def _name(self, spec: AnyTable) -> TableName:
        return things(spec, self._settings).table


def _statistics(
    rows: int, files: int | None = None, size: int | None = None
) -> output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet:
    return output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(rows, size, files)


def _bytes_added(metadata: TableMetadata, snapshot_id: int | None, commits: int) -> int | None:
    """Bytes of the files that so many commits added, up to this snapshot; None where that is not known."""
    behind = dropwhile(lambda snapshot: snapshot.snapshot_id != snapshot_id, ancestors(metadata))
    landings = (summary for summary in map(summary_of, behind) if UPKEEP not in summary)
    sizes = [summary.get(_ADDED, "0") for summary in islice(landings, commits)]
    return sum(map(int, sizes)) if len(sizes) == commits and all(map(str.isdecimal, sizes)) else None
