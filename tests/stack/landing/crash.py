"""A landing in a process of its own, killed with SIGKILL right after a given step.

Run as a script: FRAZIL_* in the environment, then topic and step as arguments.
"""

from __future__ import annotations

import os
import signal
import sys

from frazil.connections import Connections
from frazil.landing.land import land
from frazil.settings import Settings
from frazil.spec import TableSpec


def main(topic: str, step: str) -> None:
    def stop(done: str) -> None:
        if done == step:
            os.kill(os.getpid(), signal.SIGKILL)

    spec = TableSpec(topic=topic, namespace="landing_tests", on_bad_record="dead_letter")
    print(land(spec, Connections(Settings.load()), on_step=stop).records)


if __name__ == "__main__":
    main(*sys.argv[1:])
