"""`frazil demo` on a stack of its own: what it cost is what the storage counted, within 2 percent."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from frazil_local.cli.demo import DERIVED, OTHERS, TABLE
from frazil_local.home import Home
from frazil_local.servers.stand_ins import TABLE_BUCKET
from kit.stack.own_stack import Own
from kit.stack.shared_stack import free_offset
from kit.storage.counters import by_clients, counters

pytestmark = pytest.mark.nightly

NEAR = 0.02


@pytest.fixture
def own(stack_home: Home, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Own]:
    """A stack whose bucket has the demo's tables alone."""
    own = Own(Home(tmp_path_factory.mktemp("demo")))
    try:
        own.up("--port-offset", str(free_offset()))
        yield own
    finally:
        own.frazil("down", "--wipe")


def test_what_the_demo_cost_adds_up_to_what_the_storage_counted(own: Own) -> None:
    before = counters(own.home, TABLE_BUCKET)
    done = own.frazil("demo", "--records", "1000", "--json")
    assert done.returncode == 0, done.stdout + done.stderr

    costs = own.frazil("cost", TABLE, *DERIVED, *OTHERS, "--json")
    storage, total = counters(own.home, TABLE_BUCKET), json.loads(costs.stdout)["total"]
    sent, puts = by_clients(total)
    assert sent == pytest.approx(storage.received - before.received, rel=NEAR)
    assert puts == pytest.approx(storage.puts - before.puts, rel=NEAR)
