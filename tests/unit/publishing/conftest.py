"""A Glue in this process, and a wire before it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kit.lying import glue_in_process
from kit.wire import Wire, wired


@pytest.fixture(scope="module")
def wire_and_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Wire, str]]:
    """The wire, and the address of Glue behind it."""
    with glue_in_process(tmp_path_factory.mktemp("glue")) as url, wired({"glue": url}) as (wire, urls):
        yield wire, urls["glue"]


@pytest.fixture
def wire(wire_and_url: tuple[Wire, str]) -> Iterator[Wire]:
    """Calm again when the test ends."""
    yield wire_and_url[0]
    wire_and_url[0].calm()
