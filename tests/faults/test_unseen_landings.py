"""Landings that Glue does not hear of, a thousand with `make faults`: Athena reads good rows at every moment.

No server but Glue's: the landings are commits of one row each, upon files on disk.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from frazil.checks.run import run_check
from frazil.spec.topic import TableSpec
from frazil.spec.upkeep import Upkeep
from kit.readers.mirrored import NAME, Mirror
from kit.runs.toll import Toll
from kit.wires.lying import glue_in_process
from kit.wires.wire import wired

LANDINGS = min(1000, 5 * int(os.environ.get("FRAZIL_TEST_FAULTS", "8")))
FEW = Upkeep(min_snapshots=2, max_snapshots=5)


@pytest.mark.timeout(0)
@pytest.mark.parametrize(
    ("down", "landings"), [(False, LANDINGS), (True, LANDINGS // 4)], ids=["kept back", "down"]
)
def test_what_glue_shows_is_good_all_the_while_and_in_step_within_a_tick(
    tmp_path: Path, down: bool, landings: int, toll: Toll
) -> None:
    toll.attack = "landings that Glue does not hear of"
    spec = TableSpec(topic="orders", namespace=NAME.namespace, publish=["glue"], upkeep=FEW)
    (tmp_path / "lake").mkdir()
    with glue_in_process(tmp_path) as url, wired({"glue": url}) as (wire, urls):
        mirror = Mirror(tmp_path / "lake", urls["glue"], spec)
        mirror.land(3)
        mirror.sync()
        if down:
            wire.always("refused", lambda _: True)

        toll.rounds = landings
        mirror.land_unseen(landings)
        wire.calm()
        mirror.sync()
        mirror.keep_up()

        with toll.all():
            assert mirror.athena(mirror.shown) == list(range(landings + 3))
        young = 2  # what was shown and what came next stay as any snapshot that was once on main does
        assert len(mirror.table.snapshots()) <= FEW.max_snapshots + young
        assert run_check("glue_pointer", spec, mirror.connections).passed
