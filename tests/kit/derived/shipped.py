"""The checkout's own pipelines: their specs, their queries upon rows of a test, their topics filled."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from graphlib import TopologicalSorter
from itertools import islice
from typing import TYPE_CHECKING, Any

from frazil.connections import Connections
from frazil.derive.computation import computation_of
from frazil.derive.derive import DeriveReport, derive
from frazil.derive.kinds import kind_of
from frazil.kafka.provisioning import ensure_topic
from frazil.landing.many import land_many
from frazil.pipelines.folder import load_pipelines, pipeline_folders
from frazil.settings.profile import Settings
from frazil.spec.derived import DerivedSpec
from frazil.spec.topic import TableSpec
from frazil_local.generators import GENERATORS
from frazil_local.generators.chance import Chance, next_origin
from frazil_local.generators.producer import Record, produce
from kit.formats.formats import plain
from kit.readers.duck import duckdb_on

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Pipeline", "Row", "derived_spec", "transformed"]

Row = dict[str, Any]


def derived_spec(table: str) -> DerivedSpec:
    """What the checkout says of a derived table."""
    settings = Settings()
    pipelines = load_pipelines(pipeline_folders(settings), settings).all()
    return next(spec for pipeline in pipelines for spec in pipeline.derived if spec.table == table)


def transformed(spec: DerivedSpec, connections: Connections, now: datetime, **inputs: DataFrame) -> list[Row]:
    """The rows that a first run makes of the inputs, those that are called bad among them."""
    with computation_of(spec).rows_over(connections.spark, inputs, now.timestamp()) as rows:
        shaped = kind_of(spec.kind).shape(spec, rows)
        return [row.asDict() for row in shaped.collect()]


class Pipeline:
    """One of the checkout's pipelines with topics and a namespace of its own.

    Args:
        name: The pipeline's.
        connections: The stack.
        namespace: Nobody else's; topics begin with it, too.
        chance: Where values come from.
    """

    def __init__(self, name: str, connections: Connections, namespace: str, chance: Chance) -> None:
        settings = Settings()
        pipelines = load_pipelines(pipeline_folders(settings), settings).all()
        pipeline = next(p for p in pipelines if p.name == name)
        self.connections, self.namespace, self.chance = connections, namespace, chance
        self.landed = {s.topic: self._landed(s) for s in pipeline.tables}
        self.derived = {s.table: s.model_copy(update={"namespace": namespace}) for s in pipeline.derived}
        self.reports: list[dict[str, DeriveReport]] = []

    def _landed(self, spec: TableSpec) -> TableSpec:
        names = {"topic": f"{self.namespace}_{spec.topic}", "table": spec.topic, "namespace": self.namespace}
        kept = {"topic_config": {"retention.ms": "-1"}}  # records of a test may be older than Kafka keeps any
        return spec.model_copy(update=names | kept)

    def fill(self, topic: str, count: int, begin: datetime, seconds: float) -> None:
        """Produces the seed's next records, with times that are spread at random over some seconds."""
        records = GENERATORS[topic].records(self.chance, *self._where(topic))
        self.send(topic, islice(records, count), begin, seconds)

    def send(self, topic: str, records: Iterable[Record], begin: datetime, seconds: float) -> None:
        """Produces any records, likewise."""
        dice = self.chance.of("times", topic, begin.isoformat())
        produce(self.connections.settings, self.landed[topic].topic, _timed(records, dice, begin, seconds))

    def schema_id(self, topic: str) -> int:
        """The id of the schema of the topic's values; makes the topic."""
        return ensure_topic(self.landed[topic], self.connections).schema_id or 0

    def _where(self, topic: str) -> tuple[Any, Any]:
        spec = self.landed[topic]
        return ensure_topic(spec, self.connections), next_origin(self.connections.settings, spec.topic)

    def run(self, now: float | None = None) -> None:
        """Lands what waits, and brings each table up to that; `reports` tells of it."""
        for spec, outcome in land_many(list(self.landed.values()), self.connections):
            assert not isinstance(outcome, Exception), f"{spec.topic}: {outcome}"
        reports: dict[str, DeriveReport] = {}
        for wave in self._waves():
            with ThreadPoolExecutor(len(wave)) as pool:
                made = pool.map(lambda name: derive(self.derived[name], self.connections, now=now), wave)
                reports |= zip(wave, made, strict=True)
        self.reports.append(reports)

    def _waves(self) -> Iterator[tuple[str, ...]]:
        """Tables that are made of none that comes with them, or after them."""
        named = {name: computation_of(spec).inputs for name, spec in self.derived.items()}
        order = TopologicalSorter({name: set(inputs) & set(named) for name, inputs in named.items()})
        order.prepare()
        while wave := order.get_ready():
            yield wave
            order.done(*wave)

    def rows(self, table: str) -> list[Row]:
        """A table's rows as PyIceberg reads them."""
        rows = self.connections.catalog.load_table((self.namespace, table)).scan().to_arrow()
        return plain(rows)

    def differing(self, table: str, expected: str) -> tuple[int, list[Any]]:
        """How DuckDB sees a table of the pipeline beside its own answer to a query.

        Args:
            table: Name of the table, which may be one of dead letters.
            expected: A query in DuckDB's SQL; the pipeline's topics are views.

        Returns:
            How many rows the table has, and the rows that only one of both has.
        """
        with duckdb_on(self.connections.settings) as duck:
            for view in (*self.landed, *self.derived, table):
                if at := self._metadata(view):
                    duck.execute(f"CREATE OR REPLACE VIEW {view} AS SELECT * FROM iceberg_scan('{at}')")
            duck.execute(f"CREATE TABLE expected AS {expected}")
            names = [name for name, *_ in duck.execute("DESCRIBE expected").fetchall()]
            assert sorted(names) == sorted(self.columns(table))
            columns = ", ".join(f'"{name}"' for name in names)
            duck.execute(f"CREATE TABLE found AS SELECT {columns} FROM {table}")
            both = [("found", "expected"), ("expected", "found")]
            odd = [
                (one, *row)
                for one, other in both
                for row in duck.execute(f"FROM {one} EXCEPT ALL FROM {other}").fetchall()
            ]
            return duck.execute("SELECT count(*) FROM found").fetchall()[0][0], odd

    def columns(self, table: str) -> dict[str, str]:
        """Name and type of each column, in Iceberg's words."""
        loaded = self.connections.catalog.load_table((self.namespace, table))
        return {field.name: str(field.field_type) for field in loaded.schema().fields}

    def _metadata(self, table: str) -> str:
        name = (self.namespace, table)
        if not self.connections.catalog.table_exists(name):
            return ""
        return self.connections.catalog.load_table(name).metadata_location


def _timed(
    records: Iterable[Record], dice: random.Random, begin: datetime, seconds: float
) -> Iterator[Record]:
    first = int(begin.astimezone(UTC).timestamp() * 1000)
    for key, value, headers, partition, _ in records:
        yield key, value, headers, partition, first + int(dice.random() * seconds * 1000)
