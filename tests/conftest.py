"""What all tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests that need servers, by their folder."""
    for item in items:
        if item.path.is_relative_to(_HERE / "stack"):
            item.add_marker(pytest.mark.stack)
