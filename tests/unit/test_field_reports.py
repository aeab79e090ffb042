"""Field reports: each module of the suite names a public report that taught something."""

from __future__ import annotations

from pathlib import Path

import pytest

REPORTS = sorted((Path(__file__).parents[1] / "stack" / "field_reports").glob("test_*.py"))


@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.stem)
def test_a_module_of_field_reports_links_a_report(path: Path) -> None:
    assert "https://" in path.read_text()
