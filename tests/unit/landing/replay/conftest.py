"""What tests of replays share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kit.model.works.replayed import two_landings
from kit.model.world import World


@pytest.fixture
def world() -> Iterator[World]:
    """See `two_landings`."""
    with two_landings() as world_made:
        yield world_made
