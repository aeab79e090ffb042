"""The embedded stack that these tests share: a home and ports of its own, nothing of the developer's.

Kept between runs: `FRAZIL_TEST_KEEP=1`, and `FRAZIL_TEST_HOME` to say where. A stack that ran before
is left running.
"""

from __future__ import annotations

import getpass
import os
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from frazil.connections import Connections
from frazil.local.home import Home
from frazil.local.parts import known_stack, prepared_stack
from frazil.local.ports import free_offset
from frazil.local.profile import read_profile
from frazil.settings import Settings

_LEFT = ("FRAZIL_CACHE", "FRAZIL_TEST_KEEP", "FRAZIL_TEST_HOME")


@pytest.fixture(scope="session")
def stack_home() -> Iterator[Home]:
    """The folder of the tests' stack, in force for this process and all that it starts."""
    default = Path(tempfile.gettempdir()) / f"frazil-tests-{getpass.getuser()}"
    home = Home(Path(os.environ.get("FRAZIL_TEST_HOME") or default).absolute())
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(("FRAZIL_", "DAGSTER_", "AWS_")) and name not in _LEFT:
                patch.delenv(name)
        patch.setenv("FRAZIL_HOME", str(home.root))
        yield home


@pytest.fixture(scope="session")
def stack(stack_home: Home) -> Iterator[Settings]:
    """The settings of a stack that is up."""
    keep = bool(os.environ.get("FRAZIL_TEST_KEEP")) or known_stack(stack_home).is_running()
    offset = None if stack_home.ports.exists() else free_offset()
    stack = prepared_stack(stack_home, {}, offset)
    stack.up(lambda *_: None)
    yield read_profile(stack_home)
    if not keep:
        stack.down(lambda *_: None)
        stack.wipe()


@pytest.fixture(scope="session")
def connections(stack: Settings) -> Connections:
    """Clients of the stack."""
    return Connections(stack)


@pytest.fixture(scope="session", params=["rest", "glue"])
def lake(stack: Settings, request: pytest.FixtureRequest) -> Connections:
    """The stack with each catalog as the owner of the tables."""
    return Connections(stack.model_copy(update={"catalog": request.param}))


@pytest.fixture
def fresh_name() -> str:
    """A name that no other test has, legal for topics, namespaces and tables."""
    return f"t{uuid.uuid4().hex[:12]}"
