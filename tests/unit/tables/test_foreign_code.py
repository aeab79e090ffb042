"""What a table or a catalog names as code is not run: who may alter a table need not be let into Frazil."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog import Catalog

from frazil.errors import RepairError
from frazil.settings.profile import Settings
from frazil.tables.catalogs.catalog import open_catalog
from frazil.tables.catalogs.file_io import LateFileIO, opened_files
from frazil.tables.catalogs.handle import TableHandle
from kit.tables.commits import NAME
from kit.wires.answering import Answer, at_hand

PLANTED = "planted_code"
ACCESS = {"access_key": "key", "secret_key": "secret"}

Opened = Callable[[dict[str, str]], Catalog]


def answer(body: dict[str, Any]) -> Answer:
    return 200, {}, json.dumps(body).encode()


@pytest.fixture(autouse=True)
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code that anybody could name; it is seen among the modules where it was imported."""
    (tmp_path / f"{PLANTED}.py").write_text("class Planted:\n    def __init__(self, *_, **__): pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, PLANTED, raising=False)


@pytest.fixture(params=["rest", "glue", "rest's answer", "rest's config"])
def opened(request: pytest.FixtureRequest, two_landings: tuple[Path, str]) -> Any:
    """Opens a catalog that has a table with further properties, or gives them with its answer."""
    metadata = two_landings[1]
    kind, _, names_given = request.param.partition("'s ")

    def open_with(properties: dict[str, str]) -> Catalog:
        by = {"table": {}, "answer": {}, "config": {}} | {names_given or "table": properties}
        file = Path(metadata.removeprefix("file://"))
        stored = json.loads(file.read_text())
        kept = {name: value for name, value in stored["properties"].items() if PLANTED not in value}
        stored["properties"] = kept | by["table"]
        file.write_text(json.dumps(stored))
        loaded = {"metadata-location": metadata, "metadata": stored, "config": by["answer"]}
        parameters = {"table_type": "ICEBERG", "metadata_location": metadata}
        entry = {"Name": NAME.table, "DatabaseName": NAME.namespace, "Parameters": parameters}
        server.answers = {
            "/v1/config": answer({"defaults": {}, "overrides": by["config"]}),
            "/tables/": answer(loaded),
            "GetTable": answer({"Table": entry}),
        }
        return open_catalog(settings)

    with at_hand() as server:
        settings = Settings.load(
            catalog=kind, rest={"uri": server.url}, glue={"endpoint": server.url}, aws=ACCESS
        )
        yield open_with


def test_no_class_that_is_to_open_files_is_imported(opened: Opened) -> None:
    table = TableHandle(opened({"py-io-impl": f"{PLANTED}.Planted"}), NAME).load()

    assert isinstance(table.io, LateFileIO)
    assert PLANTED not in sys.modules


def test_no_class_that_is_to_repeat_requests_is_imported(opened: Opened) -> None:
    table = TableHandle(opened({"s3.retry-strategy-impl": f"{PLANTED}.Planted"}), NAME).load()

    opened_files(table.io, "s3://lake/t").fs_by_scheme("s3", "lake")

    assert PLANTED not in sys.modules


@pytest.mark.parametrize("opened", ["rest", "glue"], indirect=True)
def test_a_table_that_names_a_class_for_the_places_of_its_files_is_refused(opened: Opened) -> None:
    catalog = opened({"write.py-location-provider.impl": f"{PLANTED}.Planted"})

    with pytest.raises(RepairError, match=rf"write\.py-location-provider\.impl.*{PLANTED}") as refused:
        TableHandle(catalog, NAME).load()

    assert PLANTED not in sys.modules
    assert "UNSET TBLPROPERTIES ('write.py-location-provider.impl')" in refused.value.todo
    assert TableHandle(opened({}), NAME).load().name() == NAME.identifier
