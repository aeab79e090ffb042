"""A check that can compare nothing says so: it is neither passed nor failed."""

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
from frazil.settings.profile import Settings
from frazil.spec.derived import DerivedSpec
from kit.derived.made_tables import fresh_catalog
from resources.connections import FrazilConnections

SCHEMA = Schema(NestedField(1, "id", LongType(), required=False))
KEY = dg.AssetCheckKey(dg.AssetKey(["iceberg", "local", "flags"]), "schema")


class Lake(Clients):
    """An environment whose catalog is in this process."""

    @cached_property
    def catalog(self) -> InMemoryCatalog:
        catalog = fresh_catalog()
        catalog.create_namespace("local")
        for name in ("orders", "flags"):
            catalog.create_table(f"local.{name}", SCHEMA)
        return catalog


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lake:
    """A table that a Python function makes."""
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/flags.py").write_text("def derive(inputs, parameters):\n    return inputs['orders']\n")
    (tmp_path / "shop/defs.yaml").write_text(
        "type: assets.topic_tables.TopicTables\nattributes:\n  tables: [{topic: orders}]\n---\n"
        "type: assets.derived_tables.DerivedTables\nattributes:\n"
        "  tables: [{table: flags, python: flags.py, inputs: [orders]}]\n"
    )
    monkeypatch.setenv("FRAZIL_PIPELINES", str(tmp_path))
    lake = Lake(Settings.load())
    monkeypatch.setattr(FrazilConnections, "connections", lake)
    return lake


def test_nothing_can_be_said_of_columns_that_a_function_alone_knows(lake: Lake, tmp_path: Path) -> None:
    spec = DerivedSpec(table="flags", python=tmp_path / "shop/flags.py", inputs=("orders",))

    result = run_check("schema", spec, lake)

    assert (result.status, result.passed, result.failed) == ("skipped", False, False)
    assert result.text.startswith("Skipped, because ")
    assert result.text.endswith("flags.py alone knows which columns it makes.")


def test_dagster_skips_such_a_check_too_and_the_run_goes_on(lake: Lake, instance: dg.DagsterInstance) -> None:
    job = defs().resolve_implicit_global_asset_job_def()

    run = job.get_subset(asset_selection=set(), asset_check_selection={KEY}).execute_in_process(
        instance=instance
    )

    assert run.success
    assert list(run.get_asset_check_evaluations()) == []
    record = instance.event_log_storage.get_latest_asset_check_execution_by_key([KEY])[KEY]
    assert record.status.value == "PLANNED"  # shown as "Skipped" once its run is over


def test_rows_that_no_derivation_wrote_are_refused_and_an_empty_table_passes(lake: Lake) -> None:
    import pyarrow as pa

    spec = DerivedSpec(table="flags", python=Path("flags.py"), inputs=("orders",))
    empty = run_check("row_count", spec, lake)
    lake.catalog.load_table("local.flags").append(pa.table({"id": pa.array([1, 2], pa.int64())}))

    foreign = run_check("row_count", spec, lake)

    assert (empty.status, empty.text) == ("passed", "Nothing was derived yet: no row.")
    assert (foreign.status, foreign.text) == ("failed", "2 rows that no derivation wrote.")
