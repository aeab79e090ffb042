"""Tests without the developer's own stack, profile and identity."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

T = TypeVar("T")


@contextmanager
def alone(home: Path) -> Iterator[None]:
    """As long as it lasts, the environment names no stack but one that nobody made."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(("FRAZIL_", "DAGSTER_", "AWS_")) and not name.startswith("FRAZIL_TEST_"):
                patch.delenv(name)
        patch.setenv("FRAZIL_HOME", str(home))
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        yield


def started_alone(server: AbstractContextManager[T], home: Path) -> Iterator[T]:
    """A server for all tests, started where the environment names nothing of the developer's."""
    with ExitStack() as until_the_end:
        with alone(home):
            running = until_the_end.enter_context(server)
        yield running
