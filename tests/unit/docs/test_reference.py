"""The parts of the docs that the code knows are as the code says."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    """As `make reference` runs it: what lies beside it can be imported."""
    spec = importlib.util.spec_from_file_location("docs_generate", ROOT / "docs" / "generate.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "docs")
        spec.loader.exec_module(module)
    return module


def test_no_page_says_otherwise_than_the_code(generate: ModuleType) -> None:
    stale = [page.name for page, text in generate.written().items() if page.read_text() != text]

    assert stale == [], "the code has changed: run `make reference` and commit what it writes"


def test_what_a_page_says_by_hand_outside_of_its_regions_stays(generate: ModuleType) -> None:
    page = "Before.\n<!-- generated: s3 -->\nold\n<!-- end -->\nAfter.\n"

    new = generate.with_regions(page)

    assert "old" not in new
    assert "| `FRAZIL_S3__ENDPOINT` |" in new
    assert new.startswith("Before.\n<!-- generated: s3 -->\n")
    assert new.endswith("<!-- end -->\nAfter.\n")


def test_each_exit_code_of_an_error_is_explained(generate: ModuleType) -> None:
    page = (ROOT / "docs" / "reference" / "errors.md").read_text()

    assert [each.exit_code for each in generate.classes() if f"\n| {each.exit_code} | " not in page] == []
