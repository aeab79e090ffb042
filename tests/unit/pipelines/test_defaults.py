"""Tables have the `defaults` of their pipeline and the `table_defaults` of the profile."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from frazil.definitions import defs
from frazil.errors import SpecError
from frazil.pipelines.folder import load_pipelines
from frazil.settings.profile import Settings
from frazil.spec.table import AnyTable

HEAD = "type: assets.topic_tables.TopicTables\nattributes:\n"
DEFAULTS = """\
  defaults:
    format_version: 3
    publish: [glue]
    upkeep: {compact_after: 2h, keep_snapshots_for: 3d}
    tags: {tier: gold}
"""
TABLES = """\
  tables:
    - topic: orders
    - topic: clicks
      format_version: 2
      publish: []
      upkeep: {compact_after: 5m}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "pipelines"


def tables(folder: Path, text: str, **profile: Any) -> list[AnyTable]:
    """The specs of one pipeline's text."""
    (folder / "shop").mkdir(parents=True, exist_ok=True)
    (folder / "shop" / "defs.yaml").write_text(text)
    (pipeline,) = load_pipelines([folder], Settings(**profile)).all()
    return [spec for spec, _ in pipeline.every_table]


def refusal(folder: Path, text: str, **profile: Any) -> str:
    with pytest.raises(SpecError) as refused:
        tables(folder, text, **profile)
    return str(refused.value)


def test_a_table_that_writes_nothing_has_its_pipelines_defaults(folder: Path) -> None:
    orders, _ = tables(folder, HEAD + DEFAULTS + TABLES)

    assert (orders.format_version, orders.publish, orders.tags) == (3, ("glue",), {"tier": "gold"})
    assert orders.upkeep.compact_after == timedelta(hours=2)


def test_what_a_table_writes_counts_and_groups_are_merged_field_by_field(folder: Path) -> None:
    _, clicks = tables(folder, HEAD + DEFAULTS + TABLES)

    assert (clicks.format_version, clicks.publish) == (2, ())
    assert clicks.upkeep.compact_after == timedelta(minutes=5)
    assert clicks.upkeep.keep_snapshots_for == timedelta(days=3)


def test_the_profiles_defaults_are_below_those_of_a_pipeline(folder: Path) -> None:
    of_profile = {"format_version": 3, "publish": ["glue", "snowflake"], "upkeep": {"expire_every": "2h"}}

    (orders,) = tables(
        folder,
        HEAD + "  defaults: {publish: []}\n  tables:\n    - topic: orders\n",
        table_defaults=of_profile,
    )

    assert (orders.format_version, orders.publish) == (3, ())
    assert orders.upkeep.expire_every == timedelta(hours=2)


def test_defaults_for_topics_only_do_not_reach_derived_tables(folder: Path) -> None:
    (folder / "shop").mkdir(parents=True)
    (folder / "shop" / "all.sql").write_text("SELECT * FROM local.orders")
    head = HEAD.replace("topic_tables.Topic", "derived_tables.Derived")
    text = head + "  tables:\n    - {table: all, sql: all.sql}\n"

    (derived,) = tables(folder, text, table_defaults={"mode": "upsert", "publish": ["glue"]})

    assert derived.publish == ("glue",)


def test_dagster_sees_the_same_tables(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables(folder, HEAD + "  defaults: {tags: {tier: gold}}\n  tables:\n    - topic: orders\n")
    monkeypatch.setenv("FRAZIL_PIPELINES", str(folder))
    monkeypatch.setenv("FRAZIL_TABLE_DEFAULTS", '{"description": "of the shop"}')

    assets = defs().resolve_asset_graph()

    (table,) = (each for each in assets.asset_nodes if each.key.path[0] == "iceberg")
    assert table.tags["tier"] == "gold"
    assert "of the shop" in str(table.description)


def test_a_mistake_in_defaults_is_named_once_with_its_own_line(folder: Path) -> None:
    text = HEAD + "  defaults:\n    publsh: [glue]\n    upkeep: {compact_after: soon}\n" + TABLES

    first, second = refusal(folder, text).splitlines()[:2]

    assert first.endswith("defs.yaml:4: defaults.publsh: unknown name; did you mean 'publish'?")
    assert "defs.yaml:5: defaults.upkeep.compact_after" in second
    assert refusal(folder, text).count("publsh") == 1


@pytest.mark.parametrize("own", ["topic", "table"])
def test_no_default_names_a_table(folder: Path, own: str) -> None:
    assert f"defaults: each table names its own {own}" in refusal(
        folder, HEAD + f"  defaults: {{{own}: orders}}\n" + TABLES
    )


def test_defaults_that_are_no_mapping_are_refused(folder: Path) -> None:
    assert "defaults: names and values are expected" in refusal(folder, HEAD + "  defaults: [3]\n" + TABLES)


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        (
            {"format_versoin": 3},
            "table_defaults.format_versoin: unknown name; did you mean 'format_version'?",
        ),
        ({"format_version": 7}, "table_defaults.format_version: Input should be 2 or 3"),
        ({"topic": "orders"}, "table_defaults.topic: each table names its own"),
    ],
)
def test_a_mistake_in_the_profiles_defaults_is_named(
    folder: Path, written: dict[str, Any], reason: str
) -> None:
    assert f"The profile's {reason}" in refusal(folder, HEAD + TABLES, table_defaults=written)


def test_pipelines_can_be_read_once_the_variable_is_fixed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FRAZIL_TABLE_DEFAULTS", '{"publsh": []}')
    assert "Fix it in the profile, or FRAZIL_TABLE_DEFAULTS" in refusal(folder, HEAD + TABLES)

    monkeypatch.setenv("FRAZIL_TABLE_DEFAULTS", '{"publish": []}')

    assert [table.publish for table in tables(folder, HEAD + TABLES)] == [(), ()]
