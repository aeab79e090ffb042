"""A new target is a module of its own, and a line each in `TARGETS` and in `THROUGH`; all else follows."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import dagster as dg
import pytest
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from frazil.checks.run import run_check
from frazil.clients import Clients
from frazil.definitions import defs
from frazil.errors import SpecError
from frazil.pipelines.folder import load_pipelines
from frazil.publishing.targets import TARGETS
from frazil.settings.profile import Settings
from frazil.spec.table import THROUGH
from frazil.spec.topic import TableSpec
from kit.derived.made_tables import fresh_catalog
from kit.tables.pointer_file import PointerFile
from resources.connections import FrazilConnections

SCHEMA = Schema(NestedField(1, "id", LongType(), required=False))
ASSET = dg.AssetKey(["pointer", "local", "orders"])


class Lake(Clients):
    """An environment whose catalog is in this process."""

    @cached_property
    def catalog(self) -> InMemoryCatalog:
        catalog = fresh_catalog()
        catalog.create_namespace("local")
        return catalog


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lake:
    """A pipeline that publishes to the new target only, and its table, which is there."""
    monkeypatch.setitem(THROUGH, "pointer", "")
    monkeypatch.setitem(TARGETS, "pointer", PointerFile)
    monkeypatch.setattr(PointerFile, "folder", tmp_path, raising=False)
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/defs.yaml").write_text(
        "type: assets.topic_tables.TopicTables\nattributes:\n"
        "  tables:\n    - topic: orders\n      publish: [pointer]\n"
    )
    monkeypatch.setenv("FRAZIL_PIPELINES", str(tmp_path))
    lake = Lake(Settings.load())
    lake.catalog.create_table("local.orders", SCHEMA)
    monkeypatch.setattr(FrazilConnections, "connections", lake)
    return lake


def spec_of(lake: Lake) -> TableSpec:
    ((spec,),) = (pipeline.tables for pipeline in load_pipelines(settings=lake.settings).all())
    return spec


def test_it_goes_from_the_spec_to_an_asset_that_shows_the_table_and_is_checked(
    lake: Lake, instance: dg.DagsterInstance
) -> None:
    before = run_check("pointer_current", spec_of(lake), lake)

    job = defs().resolve_implicit_global_asset_job_def()
    run = job.execute_in_process(instance=instance, asset_selection=[ASSET])

    (event,) = run.get_asset_materialization_events()
    (checked,) = run.get_asset_check_evaluations()
    location = lake.catalog.load_table("local.orders").metadata_location
    assert (before.status, before.text) == (
        "failed", "Pointer has no local.orders.json: `frazil sync local.orders` makes it."
    )  # fmt: skip
    assert event.materialization.metadata["metadata_location"].value == location
    assert (checked.check_name, checked.passed) == ("pointer_current", True)


def test_its_check_notices_that_the_table_moved_on(lake: Lake) -> None:
    spec, table = spec_of(lake), lake.catalog.load_table("local.orders")
    PointerFile(spec, lake.settings).sync(lake)
    with table.transaction() as tx:
        tx.set_properties({"moved": "on"})

    result = run_check("pointer_current", spec, lake)

    assert result.failed
    assert "`frazil sync local.orders` fixes it" in result.text


def test_its_check_says_why_older_metadata_will_do(lake: Lake) -> None:
    spec, table = spec_of(lake), lake.catalog.load_table("local.orders")
    PointerFile(spec, lake.settings).sync(lake)
    with table.transaction() as tx:
        tx.set_properties({"frazil.note": "of Frazil's own"})

    result = run_check("pointer_current", spec, lake)

    assert result.passed
    assert "which differs in Frazil's own notes only: readers see the same." in result.text


def test_a_misspelt_target_is_told_with_its_line_and_the_nearest_name(lake: Lake, tmp_path: Path) -> None:
    file = tmp_path / "shop/defs.yaml"
    file.write_text(file.read_text().replace("[pointer]", "[pionter]"))

    with pytest.raises(SpecError, match=r"defs.yaml:5: .*no target 'pionter'; did you mean 'pointer'\?"):
        load_pipelines(settings=lake.settings).all()
