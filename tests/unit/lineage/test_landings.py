"""A landing as OpenLineage's events: valid by the published schemas, with all that is known of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import IntegerType, ListType, LongType, NestedField, StringType, StructType

from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec
from frazil_lineage.parent import Parent
from frazil_lineage.reporter import LineageReporter
from kit.lineage.collecting import Collecting, collecting, facets_of, mistakes_of
from kit.lineage.tables_here import CatalogAlone, landing_of

SPEC = TableSpec(topic="trades", owners=("team:market",), tags={"tier": "gold"}, description="All trades.")
SCHEMA = Schema(
    NestedField(1, "id", LongType(), doc="of the trade"),
    NestedField(2, "legs", ListType(3, StructType(NestedField(4, "price", IntegerType())))),
)


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collecting]:
    with collecting() as server:
        monkeypatch.setenv("OPENLINEAGE__TRANSPORT__TYPE", "http")
        monkeypatch.setenv("OPENLINEAGE__TRANSPORT__URL", server.url)
        yield server


@pytest.fixture
def here(tmp_path: Path) -> CatalogAlone:
    return CatalogAlone(tmp_path, Settings().with_changes(lineage={"send": True, "seconds": 60}))


@pytest.fixture
def trades(here: CatalogAlone) -> Table:
    return here.make("trades", SCHEMA, 3, 4)


def reporter(here: CatalogAlone, parent: Parent | None = None) -> LineageReporter:
    return LineageReporter(here.settings, here, parent)  # type: ignore[arg-type]


def sizes(table: Table) -> list[int]:
    """Bytes of the data files that each snapshot added, by the files themselves."""
    tasks = {task.file.file_path: task.file.file_size_in_bytes for task in table.scan().plan_files()}
    return list(tasks.values())


def test_a_landing_begins_and_ends_with_what_it_read_and_wrote(
    here: CatalogAlone, trades: Table, collector: Collecting
) -> None:
    run = Parent("6f1d9a44-6f0c-4f0c-8f6d-0a1b2c3d4e5f", "land_trading")
    here.make("trades__dead_letters", Schema(NestedField(1, "reason", StringType())), 2)

    reporter(here, run).tell(SPEC, landing_of(trades, 7, landings=2, dead_letters=2))

    assert collector.refused == []
    began, ended = collector.events
    assert [e["eventType"] for e in (began, ended)] == ["START", "COMPLETE"]
    assert began["run"] == ended["run"]
    times = [datetime.fromisoformat(e["eventTime"]) for e in (began, ended)]
    assert (times[1] - times[0]).total_seconds() == 2.5
    assert (ended["job"]["namespace"], ended["job"]["name"]) == ("local", "land.local.trades")
    assert ended["run"]["facets"]["parent"]["run"] == {"runId": run.run_id, "facets": {}}
    (topic,), (table, letters) = ended["inputs"], ended["outputs"]
    assert (topic["namespace"], topic["name"]) == ("kafka://127.0.0.1:9092", "trades")
    assert topic["inputFacets"]["frazil_kafkaOffsets"]["spans"] == [
        {"partition": 0, "first": 0, "end": 7}, {"partition": 1, "first": 5, "end": 12},
    ]  # fmt: skip
    assert counts(topic["inputFacets"]["inputStatistics"]) == {"rowCount": 9, "size": 4711}
    assert f"{table['namespace']}{table['name']}" == f"file{trades.location().removeprefix('file://')}"
    assert counts(table["outputFacets"]["outputStatistics"]) == {
        "rowCount": 7, "size": sum(sizes(trades)), "fileCount": 2,
    }  # fmt: skip
    assert counts(letters["outputFacets"]["outputStatistics"]) == {"rowCount": 2}


def counts(facet: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in facet.items() if not name.startswith("_")}


def test_a_table_has_its_columns_version_catalog_and_what_the_spec_says_of_it(
    here: CatalogAlone, trades: Table, collector: Collecting
) -> None:
    landing = landing_of(trades, 4)

    reporter(here).tell(SPEC, landing)

    (ended,) = collector.ended()
    facets = {key: counts(facet) for key, facet in ended["outputs"][0]["facets"].items()}
    element = {
        "name": "_element",
        "type": "struct",
        "fields": [{"name": "price", "type": "int", "fields": []}],
    }
    assert facets["schema"]["fields"] == [
        {"name": "id", "type": "long", "description": "of the trade", "fields": []},
        {"name": "legs", "type": "array", "fields": [element]},
    ]
    assert facets["version"] == {"datasetVersion": str(landing.snapshot_id)}
    assert facets["symlinks"]["identifiers"] == [
        {"namespace": "http://127.0.0.1:8181", "name": "local.trades", "type": "TABLE"}
    ]
    assert facets["catalog"]["type"] == "rest"
    assert facets["ownership"] == {"owners": [{"name": "team:market"}]}
    assert facets["tags"] == {"tags": [{"key": "tier", "value": "gold", "source": "FRAZIL"}]}
    assert facets["documentation"]["description"] == "All trades."
    producers = {facet["_producer"] for event in collector.events for _, facet in facets_of(event)}
    assert producers == {ended["producer"]}


def test_the_collector_refuses_what_the_schemas_refuse(
    here: CatalogAlone, trades: Table, collector: Collecting
) -> None:
    reporter(here).tell(SPEC, landing_of(trades, 4))
    (event,) = collector.ended()

    def broken(change: str, by: str) -> list[str]:
        return list(mistakes_of(json.loads(json.dumps(event).replace(change, by))))

    assert broken('"runId": "', '"runId": "no-') != []
    assert broken('"spans"', '"span"') != []
    assert broken('"rowCount": 4', '"rowCount": "4"') != []
    assert broken("SchemaDatasetFacet.json", "AnotherFacet.json") != []
    assert broken("trades", "orders") == []


def test_nothing_is_sent_where_the_profile_does_not_say_so(
    here: CatalogAlone, trades: Table, collector: Collecting
) -> None:
    here.settings = here.settings.with_changes(lineage={"send": False})

    reporter(here).tell(SPEC, landing_of(trades, 4))

    assert not reporter(here).listens
    assert collector.asked == 0
