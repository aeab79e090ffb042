"""Docs that speak of code say what the code says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from frazil.keeping import Upkeep, Write
from frazil.landing.position import Ledger
from frazil.spec import LandWhen, TableSpec

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("model", [TableSpec, LandWhen, Write, Upkeep])
def test_every_field_of_a_spec_stands_in_the_docs_with_its_own_words(model: type[BaseModel]) -> None:
    text = (ROOT / "docs/spec.md").read_text()

    rows = {name: f"| `{name}` | {field.description} |" for name, field in model.model_fields.items()}

    assert [name for name, row in rows.items() if row not in text] == []


def test_every_summary_property_stands_in_the_docs() -> None:
    text = (ROOT / "docs/landing.md").read_text()
    ledger = Ledger("t", "id", {}, {})

    assert [name for name in ledger.properties() if f"`{name}`" not in text] == []


def test_every_page_that_a_page_links_to_is_there() -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    links = [(page, link) for page in pages for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text())]

    assert [(page.name, link) for page, link in links if not (page.parent / link).exists()] == []
