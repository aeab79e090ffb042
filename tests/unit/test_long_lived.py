"""What goes on forever looks for garbage as Python does, and may open as many files as the machine allows.

Garbage keeps descriptors: a `frazil run` that looked for it as rarely as a short command had 2,000 open, and
landed nothing any more.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

SOFT, HARD = 256, 1024

STATE = f"""
import gc, json, resource, sys

python = gc.get_threshold()
resource.setrlimit(resource.RLIMIT_NOFILE, ({SOFT}, {HARD}))

def tell(*_, **__):
    print(json.dumps([gc.get_threshold() == python, *resource.getrlimit(resource.RLIMIT_NOFILE)]))
    sys.exit()

"""

CODE_SERVER = """
from frazil.definitions import defs
defs()
tell()
"""

COMMAND = """
import frazil.cli.{module} as command
command.{step} = tell
from frazil.cli.main import run
sys.argv = ["frazil", {arguments}]
run()
"""


@pytest.mark.parametrize(
    "code",
    [
        CODE_SERVER,
        COMMAND.format(module="work.run", step="_runner", arguments='"run"'),
        pytest.param(
            COMMAND.format(
                module="work.backfill", step="provide_subjects", arguments='"backfill", "stock_trades"'
            ),
            marks=pytest.mark.nightly,  # it begins as `run` does
        ),
    ],
    ids=["code server", "run", "backfill"],
)
def test_it_keeps_pythons_thresholds_and_raises_the_soft_limit(code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", STATE + code], capture_output=True, text=True, timeout=600, check=False
    )

    assert done.stdout, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [True, HARD, HARD]


def test_a_short_command_looks_rarely() -> None:
    code = COMMAND.format(module="views.tables", step="states_of", arguments='"tables"')
    done = subprocess.run(
        [sys.executable, "-c", STATE + code], capture_output=True, text=True, timeout=600, check=False
    )

    assert json.loads(done.stdout.splitlines()[-1]) == [False, SOFT, HARD]
