"""protoc in a process that stays: each schema that it compiles by itself takes 200 ms."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from frazil.formats.protobuf import descriptors
from kit.drawn.protoc import ready_protoc


@pytest.fixture(scope="session", autouse=True)
def protoc() -> Iterator[None]:
    """For all but the tests that start it as users do."""
    ready = SimpleNamespace(TimeoutExpired=subprocess.TimeoutExpired)
    with ready_protoc() as ready.run, pytest.MonkeyPatch.context() as patch:
        patch.setattr(descriptors, "subprocess", ready)
        yield
