"""Pipelines that users write, as Dagster's components: what they fill in, and what editors are told."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest
from click.testing import CliRunner
from dagster._cli import cli
from jsonschema import Draft202012Validator
from pydantic import BaseModel

from assets.derived_tables import DerivedTables
from assets.topic_tables import TopicTables
from frazil.definitions import defs
from frazil.pipelines import file as pipelines
from frazil.spec.derived import DerivedSpec
from frazil.spec.topic import TableSpec
from frazil.spec.upkeep import Upkeep
from kit.graph.checkout import GROUPS, edges

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
    (own_pipeline / "crm" / "defs.yaml").write_text(filled.replace("team:crm", '"team:{{ env.TEAM }}"'))
    monkeypatch.setenv("TEAM", "sales")

    specs = {spec.key.to_user_string(): spec for spec in defs().resolve_all_asset_specs()}

    assert "iceberg/local/orders_dev" in specs
    assert specs["iceberg/local/customers"].owners == ["team:sales", "someone@example.com"]


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
    table = schema["properties"]["tables"]["items"]["properties"]
    upkeep = schema["$defs"]["Upkeep"]["properties"]

    assert table.keys() == {field.alias or name for name, field in spec.model_fields.items()}
    assert upkeep["compact_after"]["description"] == Upkeep.model_fields["compact_after"].description
    assert {"type": "string"} in upkeep["manifests"]["anyOf"], "{{ env('MANIFESTS') }} is refused"


def test_dagsters_own_check_tells_which_name_is_a_mistake() -> None:
    schema = TopicTables.model().model_json_schema()
    written = {"tables": [{"topic": "orders"}, {"topic": "users", "partitons": 3}]}

    (error,) = Draft202012Validator(schema).iter_errors(written)

    assert ([*error.path], "'partitons' was unexpected" in error.message) == (["tables", 1], True)


def test_a_users_python_assets_stand_beside_the_pipelines(own_pipeline: Path) -> None:
    code = "import dagster as dg\n\n@dg.asset\ndef report() -> None: ...\n"
    (own_pipeline / "report.py").write_text(code)

    assert "report" in edges(defs())


def test_a_mistake_in_a_pipeline_reaches_dagsters_readers_with_its_line(
    own_pipeline: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FRAZIL_STRICT", "true")
    (own_pipeline / "crm" / "defs.yaml").write_text(PIPELINE.replace("freshness", "freshnes"))

    listed = CliRunner().invoke(cli, ["asset", "list", "-m", "frazil.definitions"])

    assert listed.exit_code != 0
    assert "defs.yaml:6: tables[0].freshnes: unknown name; did you mean 'freshness'?" in str(listed.exception)
