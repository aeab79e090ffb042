"""The asset graph of the checkout: its shape, and what every asset must say."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from assets.description import TopicTable
from frazil.errors import SpecError
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec
from kit.graph.checkout import DERIVED, EVERYTHING, GROUPS, TOPICS, edges, layers_of

LAYERS = ("kafka", "iceberg", "glue", "snowflake")
METADATA = [
    "$$topic",
    "$$partition",
    "$$headers",
    "$$leader-epoch",
    "$$offset",
    "$$timestamp",
    "$$timestamp-type",
]
TICKET = [
    "email_address", "departure_time", "departure_airport_code", "arrival_time", "arrival_airport_code",
    "flight_duration", "flight_number", "confirmation_code", "ticket_price", "aircraft",
    "booking_agency_email",
]  # fmt: skip
TRADE = ["key", "side", "quantity", "symbol", "price", "account", "userid"]
SHIPMENT = [
    "key", "shipment_id", "status", "updated_at", "destination", "parcels", "note", "labels", "carrier",
]  # fmt: skip


def checks(graph: dg.Definitions) -> dict[str, list[str]]:
    by_asset: dict[str, list[str]] = {}
    for key in graph.resolve_asset_graph().asset_check_keys:
        if not key.name.endswith("_access"):
            by_asset.setdefault(key.asset_key.to_user_string(), []).append(key.name)
    return {key: sorted(names) for key, names in by_asset.items()}


@pytest.mark.parametrize("topic", TOPICS)
def test_a_topic_becomes_four_assets_in_a_row(graph: dg.Definitions, topic: str) -> None:
    kafka, iceberg, glue, snowflake = layers_of(topic)

    layers = {key: deps for key, deps in edges(graph).items() if key in layers_of(topic)}

    assert layers == {kafka: [], iceberg: [kafka], glue: [iceberg], snowflake: [glue]}


@pytest.mark.parametrize("topic", TOPICS)
def test_each_layer_is_guarded_by_its_checks(graph: dg.Definitions, topic: str) -> None:
    _, iceberg, glue, snowflake = layers_of(topic)

    by_asset = {key: names for key, names in checks(graph).items() if key in layers_of(topic)}

    assert by_asset == {
        iceberg: ["file_health", "freshness", "row_count", "row_count_deep", "schema", "verified"],
        glue: ["glue_pointer"],
        snowflake: ["snowflake_current"],
    }


@pytest.mark.parametrize(("table", "inputs"), DERIVED.items())
def test_a_table_made_of_others_hangs_on_them(graph: dg.Definitions, table: str, inputs: list[str]) -> None:
    graph_edges = edges(graph)
    _, iceberg, glue, snowflake = layers_of(table)

    assert graph_edges[iceberg] == [layers_of(name)[1] for name in inputs]
    assert (graph_edges[glue], graph_edges[snowflake]) == ([iceberg], [glue])


def test_the_graph_holds_nothing_else(graph: dg.Definitions) -> None:
    assert sorted(edges(graph)) == EVERYTHING


@pytest.mark.parametrize(("topic", "group"), GROUPS.items())
def test_every_asset_says_what_people_ask_for(graph: dg.Definitions, topic: str, group: str) -> None:
    specs = [s for s in graph.resolve_all_asset_specs() if s.key.to_user_string() in layers_of(topic)]

    assert {tuple(s.owners) for s in specs} == {(f"team:{group}",)}
    assert {s.tags["domain"] for s in specs} == {group}
    assert all(f"`frazil generate {topic}`" in (s.description or "") for s in specs)
    assert all(s.key.path[0] in s.kinds for s in specs)
    assert all("aws" in s.kinds for s in specs if s.key.path[0] == "glue"), "Dagster has an icon for it"
    assert {s.metadata["late_and_broken"] for s in specs} == {
        dg.MetadataValue.asset(dg.AssetKey("late_and_broken"))
    }


@pytest.mark.parametrize(("topic", "group"), GROUPS.items())
def test_a_pipeline_is_one_group_whose_boxes_show_their_layers_by_kinds_and_tags(
    graph: dg.Definitions, topic: str, group: str
) -> None:
    specs = [s for s in graph.resolve_all_asset_specs() if s.key.to_user_string() in layers_of(topic)]

    assert {s.key.path[-1] for s in specs} == {topic}
    assert {s.group_name for s in specs} == {group}
    assert {s.tags["frazil/layer"] for s in specs} == set(LAYERS)
    assert len({frozenset(s.kinds) for s in specs}) == len(LAYERS), "a box shows its kinds"


@pytest.mark.parametrize("layer", LAYERS)
def test_every_asset_leads_to_the_lines_that_made_it(graph: dg.Definitions, layer: str) -> None:
    for spec in (s for s in graph.resolve_all_asset_specs() if s.key.path[0] == layer):
        references = spec.metadata["dagster/code_references"].code_references

        assert Path(references[0].file_path).name == "defs.yaml"
        assert all(Path(r.file_path).is_file() and r.line_number for r in references)


@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        ("stock_trades", [*TRADE, *METADATA, "$$raw-key", "$$raw-value"]),
        ("skyone", [*TICKET, *METADATA]),
        ("skyone_avro", [*TICKET, *METADATA]),
        ("shipments", [*SHIPMENT, *METADATA]),
    ],
)
def test_the_columns_are_known_before_the_first_landing(
    graph: dg.Definitions, topic: str, expected: list[str]
) -> None:
    spec = next(s for s in graph.resolve_all_asset_specs() if s.key.to_user_string() == layers_of(topic)[1])
    columns = {c.name: c.type for c in spec.metadata["dagster/column_schema"].columns}

    assert list(columns) == expected
    assert columns["$$headers"] == "map<string, binary>"


def test_a_schema_file_that_no_table_can_hold_is_named(tmp_path: Path) -> None:
    file = tmp_path / "tree.avsc"
    fields = '[{"name": "next", "type": ["null", "Tree"]}]'
    file.write_text(f'{{"type": "record", "name": "Tree", "fields": {fields}}}')

    table = TopicTable(TableSpec(topic="trees", value_schema=file), Settings.load())

    with pytest.raises(SpecError, match=r"tree\.avsc.*\n.*next"):
        _ = table.columns


@pytest.mark.parametrize("mode", ["append", "upsert", "cdc", "tableflow"])
def test_whatever_its_mode_a_table_that_frazil_lands_is_among_those_that_arrivals_watches(mode: str) -> None:
    table = TopicTable(TableSpec.model_validate({"topic": "t", "mode": mode}), Settings.load())

    assert (table.tags.get("frazil/made-of") == "topic") == (mode != "tableflow")
