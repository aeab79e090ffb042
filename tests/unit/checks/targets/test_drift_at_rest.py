"""Tables at rest cost `frazil drift` little: what a catalog tells of a table's head, and a page of Glue."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from pyiceberg.catalog.memory import InMemoryCatalog

from frazil.checks.targets.drift import Drift
from frazil.checks.targets.finding import find_drift
from frazil.clients import Clients
from frazil.publishing.columns import columns_in, digest_of
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.glue_limits import fitting
from frazil.tables.catalogs.pyiceberg import glue_table
from kit.tables.commits import lake_on
from kit.wires.answering import Answer, Answering, at_hand

SPECS = [TableSpec(topic=f"t{n}", namespace="n", publish=["glue"]) for n in range(20)]


class Shop:
    """A REST catalog and Glue of twenty tables that are alike.

    Args:
        server: What answers in their place.
        folder: Where the one table lies that all are copies of.
    """

    def __init__(self, server: Answering, folder: Path) -> None:
        self.asked: list[str] = []
        self._answers, server.answer = server.answer, self._answer  # type: ignore[method-assign]
        self.server, self.table = server, lake_on(InMemoryCatalog("n", warehouse=folder.as_uri())).table
        aws = {"access_key": "key", "secret_key": "secret"}
        settings = Settings.load(rest={"uri": server.url}, glue={"endpoint": server.url}, aws=aws)
        self.connections = Clients(settings)
        self.metadata = json.loads(self.table.metadata.model_dump_json(exclude_none=True))
        server.answers = {"/v1/config": _json({}), "GetTables": _json({"TableList": self.entries()})}

    def entries(self, *, noted: bool = False, **column: str) -> list[dict[str, Any]]:
        """Those of all tables, where their columns are noted or not; the first one's first may be another."""
        location = self.table.metadata_location
        entry = fitting(glue_table(self.table, "t", None, {"frazil.metadata_location": location}))
        if noted:
            entry["Parameters"]["frazil.columns"] = digest_of(columns_in(entry))
        entries = [json.loads(json.dumps({**entry, "Name": s.topic, "VersionId": "1"})) for s in SPECS]
        entries[0]["StorageDescriptor"]["Columns"][0].update(column)
        return entries

    def loads(self, key: str, answer: Answer | None = None) -> None:
        """What the catalog says of each table that is asked for in this way."""
        loaded = {"metadata-location": self.table.metadata_location, "metadata": self.metadata}
        self.server.answers[key] = answer or _json(loaded)

    def drifts(self) -> list[Drift]:
        return find_drift(SPECS, self.connections)

    def _answer(self, path: str, headers: Any) -> Answer:
        self.asked.append(urlsplit(path).query or str(headers.get("X-Amz-Target", path)))
        return self._answers(path, headers)


def _json(document: Any) -> Answer:
    return 200, {}, json.dumps(document).encode()


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    with at_hand() as server:
        yield Shop(server, tmp_path)


def test_a_table_at_rest_is_asked_for_once_without_its_older_snapshots(shop: Shop) -> None:
    shop.loads("snapshots=refs")

    assert {drift.state for drift in shop.drifts()} == {"in step"}
    assert shop.asked.count("snapshots=refs") == len(SPECS)
    assert len(shop.asked) == len(SPECS) + 2  # its configuration, and a page of Glue


def test_metadata_of_a_table_is_not_looked_into_where_its_entry_is_as_it_was_put(shop: Shop) -> None:
    shop.server.answers["GetTables"] = _json({"TableList": shop.entries(noted=True)})
    where = f'{{"metadata-location": "{shop.table.metadata_location}", "metadata": what is no JSON'
    shop.loads("snapshots=refs", (200, {}, where.encode()))

    drifts = shop.drifts()

    assert {drift.state for drift in drifts} == {"in step"}
    assert {drift.iceberg_metadata for drift in drifts} == {shop.table.metadata_location}


@pytest.mark.parametrize("noted", [True, False])
def test_columns_that_others_changed_are_found_in_a_table_at_rest(shop: Shop, noted: bool) -> None:
    shop.loads("snapshots=refs")
    shop.server.answers["GetTables"] = _json({"TableList": shop.entries(noted=noted, Comment="by hand")})

    differing = [drift for drift in shop.drifts() if drift.differs]

    assert [(drift.table, drift.state) for drift in differing] == [("n.t0", "columns")]


def test_a_table_whose_code_may_not_run_is_refused_and_the_others_are_compared(shop: Shop) -> None:
    shop.loads("snapshots=refs")
    odd = {**shop.metadata, "properties": {"write.py-location-provider.impl": "os.system"}}
    loaded = {"metadata-location": shop.table.metadata_location, "metadata": odd}
    shop.server.answers = {"/t7?": _json(loaded), **shop.server.answers}

    differing = [drift for drift in shop.drifts() if drift.differs]

    assert [(drift.table, drift.state) for drift in differing] == [("n.t7", "refused")]


def test_a_catalog_that_does_not_answer_is_not_asked_for_each_table(shop: Shop) -> None:
    shop.loads("/tables/", (503, {}, b"{}"))

    assert {drift.state for drift in shop.drifts()} == {"down"}
    assert sum("snapshots" in query for query in shop.asked) < 2 * len(SPECS)
