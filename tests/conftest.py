"""What all tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.shared_stack import bring_down, is_to_stay, shared_home

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests that need servers, by their folder."""
    for item in items:
        if item.path.is_relative_to(_HERE / "stack"):
            item.add_marker(pytest.mark.stack)


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Iterator[None]:
    """Brings down the stack that workers shared, when the last of them is done."""
    shared = session.config.getoption("numprocesses", None) and not hasattr(session.config, "workerinput")
    home = shared_home()
    stays = not shared or is_to_stay(home)
    try:
        return (yield)
    finally:
        if not stays and home.ports.exists():
            bring_down(home)
