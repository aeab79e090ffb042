"""Docs that speak of code say what the code says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from frazil.derive.positions.ledger import DerivedLedger
from frazil.landing.position.ledger import Ledger
from frazil.settings.profile import Settings, fields, variable
from frazil.spec.checks import OwnCheck
from frazil.spec.derived import DerivedSpec, Feed, Window
from frazil.spec.freshness import Budget, LandWhen
from frazil.spec.guard import ColumnMask, DeadLetterKeeping
from frazil.spec.table import Write
from frazil.spec.topic import TableSpec
from frazil.spec.upkeep import Upkeep
from frazil_cloud.spec.aws import AwsPart
from frazil_cloud.spec.confluent import CloudTopic, ConfluentPart, Connector, Statement
from frazil_cloud.spec.deployment import DeploymentSpec, RotationPart
from frazil_cloud.spec.snowflake import RestCatalogPart, SnowflakePart

ROOT = Path(__file__).parents[2]


OF_TABLES = [
    TableSpec, ColumnMask, DeadLetterKeeping, OwnCheck, LandWhen, Budget, Write, Upkeep, DerivedSpec, Window,
    Feed,
]  # fmt: skip
OF_DEPLOYMENTS = [
    DeploymentSpec, ConfluentPart, CloudTopic, Connector, Statement, AwsPart, SnowflakePart,
    RestCatalogPart, RotationPart,
]  # fmt: skip


@pytest.mark.parametrize("model", [*OF_TABLES, *OF_DEPLOYMENTS])
def test_every_field_of_a_spec_stands_in_the_docs_with_its_own_words(model: type[BaseModel]) -> None:
    text = "".join((ROOT / "docs" / page).read_text() for page in ("spec.md", "derive.md", "cloud.md"))

    fields = {field.alias or name: field for name, field in model.model_fields.items()}
    assert [name for name, f in fields.items() if f"| `{name}` | {f.description} |" not in text] == []


def test_every_setting_stands_in_the_docs_with_its_own_words() -> None:
    text = "".join(
        (ROOT / "docs" / page).read_text() for page in ("settings.md", "monitoring.md", "lineage.md")
    )
    rows = [f"| `{variable(path)}` | {field.description} |" for path, field in fields()]

    assert [row for row in rows if row not in text] == []


BLOCKS = re.findall(r"```sh\n(.*?)```", (ROOT / "docs" / "connect.md").read_text(), re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_every_block_of_settings_in_the_docs_is_understood(
    block: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    variables = dict(line.split("=", 1) for line in block.splitlines())
    assert "env:FRAZIL_" not in block, "a variable of that name would be refused as a misspelt setting"
    for name, value in variables.items():
        is_reference = re.match(r"(env|file|aws-secret|aws-ssm):", value)
        monkeypatch.setenv(name, "user:secret" if is_reference else value)

    Settings.load()  # refuses a name that is no setting


@pytest.mark.parametrize(
    ("page", "ledger"),
    [("landing.md", Ledger("t", "id", {}, {})), ("derive.md", DerivedLedger({}, "query", "derivation"))],
)
def test_every_summary_property_stands_in_the_docs(page: str, ledger: Ledger | DerivedLedger) -> None:
    text = (ROOT / "docs" / page).read_text()

    assert [name for name in ledger.properties() if f"`{name}`" not in text] == []


def test_each_defect_of_the_sources_has_a_test_that_is_there() -> None:
    page = (ROOT / "docs" / "design" / "clouds.md").read_text()
    rows = re.findall(r"^\| D(\d+) \|.*\|$", page, re.MULTILINE)
    lines = [line for line in page.splitlines() if line.startswith("| D")]
    named = [re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", line) for line in lines]

    assert [int(number) for number in rows] == [*range(1, 24)]
    assert all(named)
    gone = [f"{file}::{name}" for tests in named for file, name in tests if not _is_test(ROOT / file, name)]
    assert gone == []


def _is_test(file: Path, name: str) -> bool:
    return file.is_file() and f"\ndef {name}(" in file.read_text()


def test_every_page_that_a_page_links_to_is_there() -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    links = [(page, link) for page in pages for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text())]

    assert [(page.name, link) for page, link in links if not (page.parent / link).exists()] == []


def test_every_module_that_the_docs_name_is_there() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    named = {name for page in pages for name in re.findall(r"`([\w/]+\.py)`", page.read_text())}
    folders = ("platform", "assets", "resources", "sensors", "tests")
    there = [f"/{file.relative_to(ROOT)}" for folder in folders for file in (ROOT / folder).rglob("*.py")]

    gone = {name for name in named if not any(file.endswith(f"/{name}") for file in there)}

    assert gone == {"platform.py"}, "the trap of that name is what the docs warn of"
