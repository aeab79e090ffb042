"""The asset graph, without any server: its shape, what every asset must say, what runs by itself."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import dagster as dg
import pytest
from click.testing import CliRunner, Result
from dagster._cli import cli
from pydantic import BaseModel

import frazil
from assets.derived_tables import DerivedTables
from assets.described import TopicTable
from assets.topic_tables import TopicTables
from frazil.definitions import defs
from frazil.errors import SpecError
from frazil.pipelines import file as pipelines
from frazil.settings import Settings
from frazil.spec.derived import DerivedSpec
from frazil.spec.topic import TableSpec
from frazil.spec.upkeep import Upkeep
from frazil.upkeep.kinds import KINDS
from kit.waiting import PATIENCE

GROUPS = {
    "stock_trades": "trading", "users": "trading", "skyone": "airline", "sunset": "airline",
    "skyone_avro": "airline", "sunset_avro": "airline", "shipments": "shipping",
}  # fmt: skip
TOPICS = tuple(GROUPS)
DERIVED = {
    "stock_trades_with_totals": ["stock_trades"],
    "stock_trade_totals": ["stock_trades"],
    "flagged_stock_trades": ["stock_trades"],
    "anomalous_stock_trades": ["flagged_stock_trades"],
    "users_latest": ["users"],
    "flight": ["skyone", "sunset"],
    "flight_avro": ["skyone_avro", "sunset_avro"],
    "flyer_stats": ["flight"],
}
"""The tables of the checkout that are made of others, and what each is made of."""

PIPELINE = """\
type: assets.topic_tables.TopicTables
attributes:
  tables:
    - topic: orders.v1
      publish: [glue]
      freshness: 10s
    - topic: customers
      owners: [team:crm, someone@example.com]
      tags: {domain: crm}
      publish: []
"""


@pytest.fixture
def own_pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder, far from the checkout."""
    folder = tmp_path / "mine" / "crm"
    folder.mkdir(parents=True)
    (folder / "defs.yaml").write_text(PIPELINE)
    monkeypatch.setenv("FRAZIL_PIPELINES", str(folder.parent))
    return folder.parent


def of(topic: str) -> tuple[str, ...]:
    """The assets of one topic of the checkout, each made from the one before."""
    return (
        f"kafka/{topic}",
        f"iceberg/local/{topic}",
        f"glue/local/{topic}",
        f"snowflake/frazil/local/{topic}",
    )


EVERYTHING = sorted(
    [
        *(key for topic in TOPICS for key in of(topic)),
        *(key for table in DERIVED for key in of(table)[1:]),
        *(f"iceberg/local/{table}__dead_letters" for table in ("flight", "flight_avro")),
    ]
)


def edges(graph: dg.Definitions) -> dict[str, list[str]]:
    return {
        spec.key.to_user_string(): sorted(d.asset_key.to_user_string() for d in spec.deps)
        for spec in graph.resolve_all_asset_specs()
    }


def checks(graph: dg.Definitions) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for key in graph.resolve_asset_graph().asset_check_keys:
        found.setdefault(key.asset_key.to_user_string(), []).append(key.name)
    return {key: sorted(names) for key, names in found.items()}


@pytest.mark.parametrize("topic", TOPICS)
def test_a_topic_becomes_four_assets_in_a_row(graph: dg.Definitions, topic: str) -> None:
    kafka, iceberg, glue, snowflake = of(topic)

    found = {key: deps for key, deps in edges(graph).items() if key in of(topic)}

    assert found == {kafka: [], iceberg: [kafka], glue: [iceberg], snowflake: [glue]}


@pytest.mark.parametrize("topic", TOPICS)
def test_each_layer_is_guarded_by_its_checks(graph: dg.Definitions, topic: str) -> None:
    _, iceberg, glue, snowflake = of(topic)

    found = {key: names for key, names in checks(graph).items() if key in of(topic)}

    assert found == {
        iceberg: ["file_health", "freshness", "row_count", "row_count_deep", "schema"],
        glue: ["glue_pointer"],
        snowflake: ["snowflake_current"],
    }


@pytest.mark.parametrize(("table", "inputs"), DERIVED.items())
def test_a_table_made_of_others_hangs_on_them(graph: dg.Definitions, table: str, inputs: list[str]) -> None:
    found = edges(graph)
    _, iceberg, glue, snowflake = of(table)

    assert found[iceberg] == [of(name)[1] for name in inputs]
    assert (found[glue], found[snowflake]) == ([iceberg], [glue])


def test_the_graph_holds_nothing_else(graph: dg.Definitions) -> None:
    assert sorted(edges(graph)) == EVERYTHING


def test_dagster_accepts_the_definitions(graph: dg.Definitions) -> None:
    dg.Definitions.validate_loadable(graph)


LAYERS = ("kafka", "iceberg", "glue", "snowflake")


@pytest.mark.parametrize(("topic", "group"), GROUPS.items())
def test_every_asset_says_what_people_ask_for(graph: dg.Definitions, topic: str, group: str) -> None:
    specs = [s for s in graph.resolve_all_asset_specs() if s.key.to_user_string() in of(topic)]

    assert {s.group_name for s in specs} == {group}
    assert {tuple(s.owners) for s in specs} == {(f"team:{group}",)}
    assert {s.tags["domain"] for s in specs} == {group}
    assert all(f"`frazil generate {topic}`" in (s.description or "") for s in specs)
    assert all(s.key.path[0] in s.kinds for s in specs)


@pytest.mark.parametrize("layer", LAYERS)
def test_every_asset_leads_to_the_lines_that_made_it(graph: dg.Definitions, layer: str) -> None:
    for spec in (s for s in graph.resolve_all_asset_specs() if s.key.path[0] == layer):
        references = spec.metadata["dagster/code_references"].code_references

        assert Path(references[0].file_path).name == "defs.yaml"
        assert all(Path(r.file_path).is_file() and r.line_number for r in references)


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
    spec = next(s for s in graph.resolve_all_asset_specs() if s.key.to_user_string() == of(topic)[1])
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


def test_pipelines_outside_the_checkout_take_its_place(own_pipeline: Path) -> None:
    assert edges(defs()) == {
        "kafka/orders.v1": [],
        "iceberg/local/orders_v1": ["kafka/orders.v1"],
        "glue/local/orders_v1": ["iceberg/local/orders_v1"],
        "kafka/customers": [],
        "iceberg/local/customers": ["kafka/customers"],
    }


def test_owners_and_tags_of_a_table_reach_its_assets(own_pipeline: Path) -> None:
    specs = {s.key.to_user_string(): s for s in defs().resolve_all_asset_specs()}

    assert specs["kafka/customers"].owners == ["team:crm", "someone@example.com"]
    assert specs["kafka/customers"].tags["domain"] == "crm"
    assert specs["kafka/orders.v1"].owners == ["team:crm"]


def test_the_environment_fills_in_what_a_pipeline_leaves_open(
    own_pipeline: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled = PIPELINE.replace("orders.v1", "\"orders.{{ env('STAGE', 'dev') }}\"")
    (own_pipeline / "crm" / "defs.yaml").write_text(filled.replace("10s", '"{{ env.LIMIT }}"'))
    monkeypatch.setenv("LIMIT", "2h")

    spec = next(s for s in defs().resolve_all_asset_specs() if s.freshness_policy)

    assert spec.key.to_user_string() == "iceberg/local/orders_dev"
    assert spec.freshness_policy == dg.FreshnessPolicy.time_window(fail_window=timedelta(hours=2))


def test_each_file_of_a_pipeline_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    parse = pipelines.read_documents
    monkeypatch.setattr(
        pipelines, "read_documents", lambda file: parsed.append(file.parent.name) or parse(file)
    )

    defs()

    assert sorted(parsed) == sorted(set(GROUPS.values()))


@pytest.mark.parametrize(("component", "spec"), [(TopicTables, TableSpec), (DerivedTables, DerivedSpec)])
def test_editors_are_told_every_field_of_a_table(
    component: type[dg.Resolvable], spec: type[BaseModel]
) -> None:
    schema = component.model().model_json_schema()
    table = schema["properties"]["tables"]["anyOf"][0]["items"]["properties"]
    upkeep = schema["$defs"]["Upkeep"]["properties"]

    assert table.keys() == {field.alias or name for name, field in spec.model_fields.items()}
    assert upkeep["compact_after"]["description"] == Upkeep.model_fields["compact_after"].description
    assert {"type": "string"} in upkeep["manifests"]["anyOf"], "{{ env('MANIFESTS') }} is refused"


def test_a_users_python_assets_stand_beside_the_pipelines(own_pipeline: Path) -> None:
    code = "import dagster as dg\n\n@dg.asset\ndef report() -> None: ...\n"
    (own_pipeline / "report.py").write_text(code)

    assert "report" in edges(defs())


def test_nothing_is_asked_of_any_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """A closed port would fail at once, a black hole would hang."""
    for name in ("BOOTSTRAP_SERVERS", "REST_URI", "SCHEMA_REGISTRY_URL", "GLUE_ENDPOINT"):
        monkeypatch.setenv(f"FRAZIL_{name}", "http://192.0.2.1:1")

    assert defs().resolve_all_asset_specs()


def test_the_sensors_are_on_from_the_start(graph: dg.Definitions) -> None:
    sensors = {s.name: s.default_status for s in graph.sensors or ()}

    assert sensors == {
        "arrivals": dg.DefaultSensorStatus.RUNNING,
        "publishing": dg.DefaultSensorStatus.RUNNING,
        "upkeep": dg.DefaultSensorStatus.RUNNING,
    }


def test_each_kind_of_upkeep_is_a_job_that_starts_without_any_config(graph: dg.Definitions) -> None:
    for kind in KINDS:
        dg.validate_run_config(graph.resolve_job_def(kind))


def test_a_failed_table_keeps_its_own_words_in_the_run(
    graph: dg.Definitions, monkeypatch: pytest.MonkeyPatch, instance: dg.DagsterInstance
) -> None:
    monkeypatch.setenv("FRAZIL_BOOTSTRAP_SERVERS", "127.0.0.1:1")
    job = graph.resolve_implicit_global_asset_job_def()

    result = job.execute_in_process(
        instance=instance,
        asset_selection=[dg.AssetKey(["iceberg", "local", "stock_trades"])],
        raise_on_error=False,
    )

    (failure,) = (e.step_failure_data for e in result.all_events if e.is_step_failure)
    assert failure.user_failure_data is not None
    assert "1 of 1 tables could not be landed" in (failure.user_failure_data.description or "")
    assert "Kafka does not answer" in (failure.user_failure_data.description or "")


def dagster(*arguments: str) -> Result:
    """What Dagster's own program does in this process: in one of its own it takes four seconds."""
    return CliRunner().invoke(cli, arguments)


def test_assets_are_listed_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    listed = dagster("asset", "list", "-m", "frazil.definitions")

    assert listed.exit_code == 0, listed.output
    assert listed.output.split() == EVERYTHING


def test_a_code_server_of_its_own_loads_the_workspace_from_any_folder(tmp_path: Path) -> None:
    (tmp_path / "dagster.yaml").touch()
    program = str(Path(sys.executable).with_name("dagster"))
    workspace = str(Path(frazil.__file__).parents[2] / "workspace.yaml")
    environment = {**os.environ, "DAGSTER_HOME": str(tmp_path), "DAGSTER_DISABLE_TELEMETRY": "1"}

    validated = subprocess.run(
        [program, "definitions", "validate", "--load-with-grpc", "-w", workspace],
        env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip

    assert validated.returncode == 0, validated.stderr


def test_a_mistake_in_a_pipeline_reaches_dagsters_readers_with_its_line(own_pipeline: Path) -> None:
    (own_pipeline / "crm" / "defs.yaml").write_text(PIPELINE.replace("freshness", "freshnes"))

    listed = dagster("asset", "list", "-m", "frazil.definitions")

    assert listed.exit_code != 0
    assert "defs.yaml:6: tables[0].freshnes: unknown name; did you mean 'freshness'?" in str(listed.exception)
