"""A landing in a process of its own, killed with SIGKILL right after a given step.

Run as a script: FRAZIL_* in the environment, then topic and step as arguments.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from frazil.connections import Connections
from frazil.landing.land import land
from frazil.settings import Settings
from frazil.spec import TableSpec

NAMESPACE = "landing_tests"


def landing_process(
    topic: str, catalog: str, step: str = "never", **environment: str
) -> subprocess.Popen[str]:
    """Starts a landing that is killed after a step, or goes through."""
    return subprocess.Popen(
        [sys.executable, __file__, topic, step],
        env={**os.environ, "FRAZIL_CATALOG": catalog, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def main(topic: str, step: str) -> None:
    def stop(done: str) -> None:
        if done == step:
            os.kill(os.getpid(), signal.SIGKILL)

    spec = TableSpec(topic=topic, namespace=NAMESPACE, on_bad_record="dead_letter")
    print(land(spec, Connections(Settings.load()), on_step=stop).records)


if __name__ == "__main__":
    main(*sys.argv[1:])
