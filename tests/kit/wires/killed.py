"""Work in a process of its own, killed with SIGKILL right after a step, or stopped there for hours.

Run as a script: FRAZIL_* in the environment, then land, land-together, redrive, replay, compact or derive,
what, and step as arguments; what is the topic, several with commas, or the spec of a table as JSON.
Each work imports what it alone needs: a third of the CPU of a short one was imports of the others'.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from frazil.clients import Clients
from frazil.landing.land import land
from frazil.settings.profile import Settings
from frazil.spec.derived import DerivedSpec
from frazil.spec.topic import TableSpec

if TYPE_CHECKING:
    import pytest

NAMESPACE = "landing_tests"
REPLAYED = {0: (2, 6)}
"""What a killed replay reads once more."""
HOURS = 7
_SLEEPS = "+sleep"


def landing_process(
    topic: str, settings: Settings, step: str = "never", **environment: str
) -> subprocess.Popen[str]:
    """Starts a landing that is killed after a step, or goes through."""
    return _process("land", topic, settings, step, environment)


def sleeping_process(topic: str, settings: Settings, step: str) -> subprocess.Popen[str]:
    """Starts a landing that stops itself after a step; once it goes on, its clock is `HOURS` ahead."""
    return _process("land", topic, settings, f"{step}{_SLEEPS}", {})


def joint_process(topics: Sequence[str], settings: Settings, step: str) -> subprocess.Popen[str]:
    """Starts landings that share Spark's jobs; killed when the first of them has done a step."""
    return _process("land-together", ",".join(topics), settings, step, {})


def upsert_process(spec: TableSpec, settings: Settings, step: str = "never") -> subprocess.Popen[str]:
    """Starts a landing by a spec that is told as a whole."""
    spec_text = json.dumps(spec.model_dump(exclude_defaults=True), default=_json_value)
    return _process("land", spec_text, settings, step, {})


def redrive_process(topic: str, settings: Settings, step: str = "never") -> subprocess.Popen[str]:
    """Starts a redrive of records that lack their last byte, killed after a step."""
    return _process("redrive", topic, settings, step, {})


def replay_process(topic: str, settings: Settings, step: str = "never") -> subprocess.Popen[str]:
    """Starts a replay of some of partition 0, killed after a step."""
    return _process("replay", topic, settings, step, {})


def compaction_process(
    topic: str, settings: Settings, step: str = "never", **environment: str
) -> subprocess.Popen[str]:
    """Starts a compaction that is killed after a step, or goes through."""
    return _process("compact", topic, settings, step, environment)


def derive_process(spec: DerivedSpec, settings: Settings, step: str = "never") -> subprocess.Popen[str]:
    """Starts a derivation that is killed after a step, or goes through."""
    spec_text = json.dumps(spec.model_dump(exclude_defaults=True), default=_json_value)
    return _process("derive", spec_text, settings, step, {})


def _json_value(value: object) -> object:
    """What a spec holds and JSON has no word for: a duration, as a number of seconds, and paths."""
    return value.total_seconds() if isinstance(value, timedelta) else str(value)


def _process(
    work: str, what: str, settings: Settings, step: str, environment: dict[str, str]
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, __file__, work, what, step],
        env={
            **os.environ,
            "FRAZIL_CATALOG": settings.catalog,
            **environment,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def hours_later(patch: pytest.MonkeyPatch) -> None:
    """All clocks of this process go on, `HOURS` later."""
    real = time.time
    patch.setattr("time.time", lambda: real() + HOURS * 3600)


def main(work: str, what: str, step: str) -> None:
    def stop(done: str) -> None:
        if done == step:
            os.kill(os.getpid(), signal.SIGKILL)
        if done + _SLEEPS == step:
            import pytest

            os.kill(os.getpid(), signal.SIGSTOP)
            hours_later(pytest.MonkeyPatch())

    connections = Clients(Settings.load())
    if work == "derive":
        from frazil.derive.derive import derive

        print(derive(DerivedSpec.model_validate_json(what), connections, on_step=stop).rows)
        return
    if work == "land-together":
        from frazil.landing.many import land_together

        specs = [
            TableSpec(topic=each, namespace=NAMESPACE, on_bad_record="dead_letter")
            for each in what.split(",")
        ]
        list(land_together(specs, lambda s, run: land(s, connections, on_step=stop, run_part=run)))
        return
    spec = (
        TableSpec(topic=what, namespace=NAMESPACE, on_bad_record="dead_letter")
        if what[0] != "{"
        else (TableSpec.model_validate_json(what))
    )
    if work == "land":
        print(land(spec, connections, on_step=stop).records)
    elif work == "replay":
        from frazil.landing.replay.run import replay

        print(replay(spec, connections, REPLAYED, on_step=stop).replayed)
    elif work == "compact":
        from frazil.upkeep.compaction.run import compact

        print(compact(spec, connections, time.time(), on_step=stop).text)
    else:
        from frazil.landing.repairs.redrive import redrive

        print(redrive(spec, connections, repair=lambda r: (r.raw_value or b"") + b"Z", on_step=stop).redriven)


if __name__ == "__main__":
    main(*sys.argv[1:])
